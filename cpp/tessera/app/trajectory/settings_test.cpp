// What a run file may ask of each format of trajectories.
#include "tessera/app/trajectory/settings.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"

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
  return test::message_of<InputError>([&] { check_trajectories(config, water(name_of_oxygen)); });
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
    EXPECT_EQ(problem_with(output(format, method)), "") << method;
  for (const auto& [format, method] : {std::pair("segments", "pdaw"),
                                       {"dcd", "sdaw"},
                                       {"h5md", "mpiw-collective"},
                                       {"xtc", "pdaw"},
                                       {"history", "segments"},
                                       {"history", "file-per-rank"},
                                       {"history", "sdaw-printf"},
                                       {"history", "pdwa"}})
    test::expect_says(problem_with(output(format, method)), "is written by");
  EXPECT_EQ(problem_with(output("history", "auto", 3, 100)), "");
  test::expect_says(problem_with(output("history", "sdaw", 3)), "output.writers = 3");
  test::expect_says(problem_with(output("dcd", "auto", 0, 100)), "output.batch = 100");
  test::expect_says(problem_with(output("none", "pdaw")), "output.trajectory = \"none\"");
  test::expect_says(problem_with(output("none", "auto", 0, 5)), "output.trajectory = \"none\"");
  EXPECT_EQ(problem_with(output("none", "auto", 3)), "");  // of selections
  for (const auto every : {0, 10})
    test::expect_says(problem_with(output("history", "pdwa"), "O", every), "is written by");
}

TEST(TrajectorySettings, OnlyAHistoryWithoutWholeMoleculesIsWrittenAsOwned) {
  auto asked = output("history", "auto");
  asked.order = AtomOrder::owned;
  test::expect_says(problem_with(asked), "set output.wrap = false");
  asked.wrap = false;
  EXPECT_EQ(problem_with(asked), "");
  for (const auto format : {"segments", "dcd", "h5md", "xtc", "none"}) {
    asked.trajectory = format;
    EXPECT_NE(problem_with(asked), "");
  }
}

TEST(TrajectorySettings, AHistoryHoldsWhatItHasRoomFor) {
  auto asked = output("history", "auto");
  asked.forces = true;
  test::expect_says(problem_with(asked), "set output.velocities");
  asked.velocities = true;
  EXPECT_EQ(problem_with(asked), "");
  for (const char* name : {"", "O O", "nine.long", "\xc3\xb6", "\x1b"})
    test::expect_says(problem_with(output("history", "auto"), name), "one to eight letters");
}

}  // namespace
}  // namespace tessera::app
