// What a run file may ask of each format of trajectories.
#include "tessera/app/trajectory/settings.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"

namespace tessera::app {
namespace {

model::System water(const char* name_of_oxygen) {
  model::System system;
  model::Template molecule;
  molecule.atom_name = {name_of_oxygen, "H1", "H2"};
  molecule.type = {0, 1, 1};
  system.templates = {molecule};
  system.set_instances({{0, 5}});
  return system;
}

std::string problem_with(const OutputConfig& output, const char* name_of_oxygen = "O", std::int64_t every = 10) {
  RunConfig config;
  config.output = output;
  config.output.trajectory_every = every;
  try {
    check_trajectories(config, water(name_of_oxygen));
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

OutputConfig output(const std::string& format, const std::string& method, std::int64_t writers = 0,
                    std::int64_t batch = 0) {
  OutputConfig found;
  found.trajectory = format;
  found.method = method;
  found.writers = writers;
  found.batch = batch;
  return found;
}

TEST(TrajectorySettings, EachNameIsThatOfItsEntry) {
  ASSERT_EQ(trajectory_formats().size() + 1, trajectory_names.size());
  for (std::size_t i = 0; i < trajectory_formats().size(); ++i)
    EXPECT_EQ(trajectory_formats()[i].name, trajectory_names[i]);
}

TEST(TrajectorySettings, EachFormatTakesItsMethods) {
  for (const auto& [format, method] : {std::pair("segments", "segments"),
                                       {"dcd", "pdaw"},
                                       {"h5md", "pdaw"},
                                       {"xtc", "sdaw"},
                                       {"history", "sdaw"},
                                       {"history", "pdaw"},
                                       {"history", "mpiw-independent"},
                                       {"history", "mpiw-collective"}})
    EXPECT_EQ(problem_with(output(format, method)), "none") << method;
  for (const auto& [format, method] : {std::pair("segments", "pdaw"),
                                       {"dcd", "sdaw"},
                                       {"h5md", "mpiw-collective"},
                                       {"xtc", "pdaw"},
                                       {"history", "segments"},
                                       {"history", "file-per-rank"},
                                       {"history", "sdaw-printf"},
                                       {"history", "pdwa"}})
    EXPECT_NE(problem_with(output(format, method)).find("is written by"), std::string::npos) << method;
  EXPECT_EQ(problem_with(output("history", "auto", 3, 100)), "none");
  EXPECT_NE(problem_with(output("history", "sdaw", 3)).find("output.writers = 3"), std::string::npos);
  EXPECT_NE(problem_with(output("dcd", "auto", 0, 100)).find("output.batch = 100"), std::string::npos);
  EXPECT_NE(problem_with(output("none", "pdaw")).find("output.trajectory = \"none\""), std::string::npos);
  EXPECT_NE(problem_with(output("none", "auto", 0, 5)).find("output.trajectory = \"none\""), std::string::npos);
  EXPECT_EQ(problem_with(output("none", "auto", 3)), "none");  // of selections
  for (const auto every : {0, 10})
    EXPECT_NE(problem_with(output("history", "pdwa"), "O", every).find("is written by"), std::string::npos) << every;
}

TEST(TrajectorySettings, OnlyAHistoryWithoutWholeMoleculesIsWrittenAsOwned) {
  auto asked = output("history", "auto");
  asked.order = AtomOrder::owned;
  EXPECT_NE(problem_with(asked).find("set output.wrap = false"), std::string::npos);
  asked.wrap = false;
  EXPECT_EQ(problem_with(asked), "none");
  for (const auto format : {"segments", "dcd", "h5md", "xtc", "none"}) {
    asked.trajectory = format;
    EXPECT_NE(problem_with(asked), "none");
  }
}

TEST(TrajectorySettings, AHistoryHoldsWhatItHasRoomFor) {
  auto asked = output("history", "auto");
  asked.forces = true;
  EXPECT_NE(problem_with(asked).find("set output.velocities"), std::string::npos);
  asked.velocities = true;
  EXPECT_EQ(problem_with(asked), "none");
  for (const char* name : {"", "O O", "nine.long", "\xc3\xb6", "\x1b"})
    EXPECT_NE(problem_with(output("history", "auto"), name).find("one to eight letters"), std::string::npos);
}

}  // namespace
}  // namespace tessera::app
