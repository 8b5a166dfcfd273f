#include "tessera/machine/survey/machine_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"
#include "tessera/machine/survey/contention.h"
#include "tessera/machine/survey/derive_network.h"
#include "tessera/machine/survey/read_text.h"
#include "tessera/machine/test_support.h"

namespace tessera::machine {
namespace {

using tessera::test::expect_says, tessera::test::message_of;

MachineFile surveyed() {
  const auto truth = test::tree_of_racks({2, 3}, {5e-5, 1e8}, {1e-4, 1e7});
  MachineFile file;
  file.measurements = test::measure(truth, {1, 16384});
  file.measurements->times[1].at(0, 4) = std::nan("");  // the other direction is known
  file.measurements->hosts[1].ranks = {2, 3};
  file.measurements->hosts[1].node.cores = 12;
  for (auto& host : file.measurements->hosts) host.kernel = 0;
  for (int round = 0; round < 2; ++round)
    for (auto experiment : contention_experiments(*file.measurements, derive_network(*file.measurements))) {
      test::run(truth, experiment);
      if (experiment.piece > 0)  // about processors, which are the limit
        for (double& seconds : experiment.together) seconds *= 3;
      file.measurements->experiments.push_back(experiment);
    }
  file.machine.name = "cluster";
  file.machine.nodes = 5;
  file.machine.network = derive_network(*file.measurements);
  file.trials = {{"Open MPI v4.1.4", "all_reduce", 10, 8000, "native", 1e-3, 1.25e-3, 0, ""},
                 {"Open MPI v4.1.4", "all_reduce", 10, 8000, "ring:segment=0", 9e-4, 1e-3, 1.125, "0123456789abcdef"}};
  return file;
}

bool are_same(const TimeMatrix& x, const TimeMatrix& y) {
  if (x.n_hosts() != y.n_hosts()) return false;
  for (int a = 0; a < x.n_hosts(); ++a)
    for (int b = 0; b < x.n_hosts(); ++b)
      if (a != b && x.at(a, b) != y.at(a, b) && !(std::isnan(x.at(a, b)) && std::isnan(y.at(a, b)))) return false;
  return true;
}

std::string refusal_of_text(const std::string& text) {
  return message_of<InputError>([&] { machine_file_from_text(text, "map.json"); });
}

TEST(MachineFile, KeepsFileSystems) {
  MachineFile file = surveyed();
  file.file_systems = {
      {"/scratch", "lustre", 1e9, 1e-3, 64, {{"pdaw", "text", "sorted", 8, 2, 4, 1, 50'000, 1 << 20, 7'000, 0.5}}}};
  const auto text = machine_file_text(file);
  EXPECT_EQ(machine_file_from_text(text, "map").file_systems, file.file_systems);

  auto json = nlohmann::json::parse(text);
  json.erase("file_systems");
  EXPECT_TRUE(machine_file_from_text(json.dump(), "map").file_systems.empty());
  json = nlohmann::json::parse(text);
  json["file_systems"][0]["trials"][0]["seconds"] = 0;
  EXPECT_EQ(refusal_of_text(json.dump()),
            "map.json: file_systems[0].trials[0].seconds is 0, expected a number from 1e-15 to 1e18");
}

TEST(MachineFile, KeepsEverything) {
  const auto file = surveyed();
  const auto text = machine_file_text(file);
  const auto read = machine_file_from_text(text, "map.json");
  EXPECT_EQ(read.machine, file.machine);
  EXPECT_EQ(read.machine.network->processors.size(), 1U);
  ASSERT_TRUE(read.measurements.has_value());
  EXPECT_EQ(read.measurements->hosts, file.measurements->hosts);
  EXPECT_EQ(read.measurements->sizes, file.measurements->sizes);
  EXPECT_EQ(read.measurements->experiments, file.measurements->experiments);
  EXPECT_EQ(read.measurements->inside, file.measurements->inside);
  for (std::size_t k = 0; k < 2; ++k) EXPECT_TRUE(are_same(read.measurements->times[k], file.measurements->times[k]));
  EXPECT_EQ(read.trials, file.trials);
  EXPECT_EQ(machine_file_text(read), text);
  EXPECT_EQ(derive_network(*read.measurements), *file.machine.network);
  expect_says(text, "\n      {\"from\":\"n0\",\"seconds\":[");
}

/// Reads the machine files of published networks that come with the sources.
TEST(MachineFile, ReadsThePublishedMachines) {
  const auto folder = std::filesystem::path(__FILE__).parent_path() / "../../../../machines";
  int n_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++n_files;
    const auto file = read_machine_file(entry.path());
    ASSERT_TRUE(file.machine.network.has_value()) << entry.path();
    EXPECT_EQ(file.machine.name, entry.path().stem());
    EXPECT_EQ(file.machine.nodes, static_cast<int>(file.machine.network->hosts.size()));
    EXPECT_EQ(machine_file_text(file), read_text(entry.path())) << entry.path() << " is not as it would be written";
  }
  EXPECT_GE(n_files, 3);
}

TEST(MachineFile, KeepsTheOverlapOfMessages) {
  MachineFile file;
  file.machine.name = "cluster";
  file.overlaps = {{2, 1, 0.625}, {16, 4, 0}};
  const auto text = machine_file_text(file);
  EXPECT_EQ(machine_file_from_text(text, "map.json").overlaps, file.overlaps);
  auto json = nlohmann::json::parse(text);
  json["overlaps"][1]["share"] = 1.5;
  EXPECT_EQ(refusal_of_text(json.dump()), "map.json: overlaps[1].share is 1.5, expected a number from 0 to 1");
}

TEST(MachineFile, AnyPartMayLack) {
  MachineFile plain;
  plain.machine.name = "laptop";
  const auto read = machine_file_from_text(machine_file_text(plain), "map.json");
  EXPECT_EQ(read.machine, plain.machine);
  EXPECT_FALSE(read.measurements.has_value());
}

std::string refusal(const char* path, const nlohmann::json& value) {
  auto json = nlohmann::json::parse(machine_file_text(surveyed()));
  json[nlohmann::json::json_pointer(path)] = value;
  return refusal_of_text(json.dump());
}

TEST(MachineFile, EveryCutIsNoticed) {
  const auto text = machine_file_text(surveyed());
  for (std::size_t length = 1; length + 2 < text.size(); length += 7) {
    const auto message = refusal_of_text(text.substr(0, length));
    expect_says(message, "map.json: is cut off after line ");
  }
  EXPECT_EQ(refusal_of_text(" \n"), "map.json: is empty, expected a machine file; measure the machine again");
}

TEST(MachineFile, SaysWhatIsWrong) {
  EXPECT_EQ(refusal_of_text("{\n  \"format\": machine\n}"),
            "map.json: is not JSON at line 2, column 13; expected a machine file as tessera machine measure writes it");
  EXPECT_EQ(refusal_of_text("{\"a\": 1e999}"), "map.json: holds a number that is not finite");
  EXPECT_EQ(refusal("/version", 7),
            "map.json: is a machine file of version 7, this tessera reads version 3: use a newer tessera");
  EXPECT_EQ(
      refusal("/version", 2),
      "map.json: is a machine file of version 2, this tessera reads version 3: measure again with `tessera machine "
      "measure -o MAP`");
  EXPECT_EQ(refusal("/format", "map"), "map.json: is not a machine file; expected \"format\": \"tessera-machine\"");
  EXPECT_EQ(refusal("/measurements/pairs/0/from", "w9"),
            "map.json: measurements.pairs[0].from names w9, which is not one of measurements.hosts");
  EXPECT_EQ(refusal("/measurements/pairs/3/seconds", {1e-3}),
            "map.json: measurements.pairs[3].seconds has 1 times, expected 2: one of each size");
  EXPECT_EQ(refusal("/measurements/pairs/0/seconds/1", -2),
            "map.json: measurements: 16384 bytes from n0 to n1 took -2 s, expected a time from 1e-15 to 1e15, or null");
  EXPECT_EQ(refusal("/measurements/pairs/0/seconds/1", "slow"),
            "map.json: measurements.pairs[0].seconds is \"slow\", expected a number");
  EXPECT_EQ(refusal("/measurements/hosts/2/inside", 1),
            "map.json: measurements.hosts[2].inside has no list of times, expected 2: one of each size");
  EXPECT_EQ(refusal("/measurements/experiments/0/flows/0/1", "w9"),
            "map.json: measurements.experiments[0].flows names w9, which is not one of measurements.hosts");
  EXPECT_EQ(refusal("/measurements/experiments/0/alone/0", -1),
            "map.json: measurements: experiment 0 took -1 s, expected a time from 1e-15 to 1e15");
  EXPECT_EQ(refusal("/measurements/sizes", nullptr), "map.json: measurements.sizes is not a list");
  EXPECT_EQ(refusal("/measurements", 3), "map.json: measurements is 3, expected an object");
  EXPECT_THROW(read_machine_file("there/is/no/such/file.json"), InputError);
}

}  // namespace
}  // namespace tessera::machine
