// Checks what rank 0 chooses for all ranks, on hosts with any names.
#include "tessera/fft/choice/agree.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"
#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/fft/schemes.h"
#include "tessera/machine/survey/machine_file.h"

namespace tessera::fft {
namespace {

/// Returns hosts n0 … in two racks; the ranks of a host are scattered over the job.
std::vector<std::string> scattered(int hosts, int ranks) {
  std::vector<std::string> names;
  for (int rank = 0; rank < ranks; ++rank) names.push_back("n" + std::to_string(rank * hosts / ranks));
  std::mt19937 random(13);
  std::shuffle(names.begin(), names.end(), random);
  return names;
}

class FftAgree : public testing::Test {
 protected:
  FftAgree() {
    machine::MachineFile file;
    auto& network = file.machine.network.emplace();
    network.subnets.push_back({-1, {1, 2}, {}, {1e-5, 1e9}, machine::Medium::fabric, {}});
    for (int rack = 0; rack < 2; ++rack) {
      network.subnets.push_back({0, {}, {}, {2e-6, 1e10}, machine::Medium::fabric, 2e9});
      for (int i = 0; i < 2; ++i) {
        network.subnets.back().hosts.push_back(static_cast<int>(network.hosts.size()));
        network.hosts.push_back({"n" + std::to_string(network.hosts.size()), 4, machine::Link{1e-6, 1e10}});
      }
    }
    std::ofstream(map_) << machine::machine_file_text(file);
  }
  ~FftAgree() override { std::filesystem::remove(map_); }

  const std::string map_ =
      (std::filesystem::path(testing::TempDir()) / ("agree_test_map" + std::to_string(getpid()) + ".json")).string();
  const TransformProblem problem_{{32, 32, 32}, TransformKind::complex, {0, 1, 2}, 16};
};

TEST_F(FftAgree, AllRanksHaveThePlanOfRankZero) {
  for (const auto* scheme : {"auto", "pencil", "1d_alltoall"}) {
    std::vector<Agreed> found(16);
    comm::run_ranks(scattered(4, 16), [&](const comm::Communicator& comm) {
      found[static_cast<std::size_t>(comm.rank())] = agree_on_plan(comm, problem_, {scheme, map_, 8});
    });
    for (const auto& other : found) {
      EXPECT_EQ(other.reason, found[0].reason);
      EXPECT_EQ(other.plan.scheme, found[0].plan.scheme);
      EXPECT_EQ(other.plan.problem.places, found[0].plan.problem.places);
      EXPECT_EQ(other.plan.problem.input, found[0].plan.problem.input);
      EXPECT_EQ(other.plan.spectrum(), found[0].plan.spectrum());
    }
    test::expect_says(found[0].reason, map_);
    if (found[0].plan.scheme != "slab") {
      EXPECT_FALSE(found[0].plan.problem.places.empty()) << scheme;
    }
  }
}

TEST_F(FftAgree, WithoutAMapHostsAreKnownByName) {
  std::string one, four;
  comm::run_ranks(4, [&](const comm::Communicator& comm) {
    const auto agreed = agree_on_plan(comm, {{8, 8, 8}, TransformKind::real, {0, 1, 2}, 4}, {});
    if (comm.is_root()) one = agreed.reason;
  });
  comm::run_ranks({"a", "b", "c", "d"}, [&](const comm::Communicator& comm) {
    const auto agreed = agree_on_plan(comm, {{8, 8, 8}, TransformKind::real, {0, 1, 2}, 4}, {});
    if (comm.is_root()) four = agreed.reason;
  });
  test::expect_says(one, "least time on one host");
  test::expect_says(four, "4 hosts of a network that was not measured");
}

TEST_F(FftAgree, WhatIsWrongIsSaidByAllRanks) {
  const auto said = [&](const std::vector<std::string>& hosts, const TransformRequest& request) {
    std::vector<std::string> texts(hosts.size());
    comm::run_ranks(hosts, [&](const comm::Communicator& comm) {
      texts[static_cast<std::size_t>(comm.rank())] = test::message_of<InputError>([&] {
        (void)agree_on_plan(comm, {{8, 8, 8}, TransformKind::real, {0, 1, 2}, comm.size()}, request);
      });
    });
    for (const auto& text : texts) EXPECT_EQ(text, texts[0]);
    return texts[0];
  };
  test::expect_says(said({"n0", "m7"}, {"auto", map_, 8}), "lacks the host(s) m7");
  test::expect_says(said({"n0", "n1"}, {"auto", map_ + ".none", 8}), ".none");
  test::expect_says(said({"n0", "n1"}, {"pencils", map_, 8}), "did you mean \"pencil\"?");
  test::expect_says(said({"n0"}, {"auto", map_ + ".none", 8}), ".none");
  EXPECT_EQ(said({"m7"}, {"auto", map_, 8}), "");  // a single rank has nothing to choose, on any host
}

}  // namespace
}  // namespace tessera::fft
