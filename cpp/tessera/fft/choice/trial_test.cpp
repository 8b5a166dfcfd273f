// Tests trials on ranks that are threads of this process, and the file that remembers them.
#include "tessera/fft/choice/trial.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tessera/base/test_support/messages.h"
#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/fft/choice/wisdom.h"

namespace tessera::fft {
namespace {

const auto folder = std::filesystem::path(testing::TempDir()) / ("trial_test" + std::to_string(getpid()));

class FftTrial : public testing::Test {
 protected:
  FftTrial() { std::filesystem::remove_all(folder); }
  ~FftTrial() override { std::filesystem::remove_all(folder); }
  const std::string file_ = (folder / "deeper" / "fft.tsv").string();
};

TEST_F(FftTrial, AnswersAreKept) {
  EXPECT_FALSE(recall(file_, "a, b"));
  EXPECT_EQ(keep(file_, "a, b", {"pencil", "y nearest", "pairwise", 0.5}), "");
  EXPECT_EQ(keep(file_, "a, bc", {"slab", "as numbered", "alltoall", 0.25}), "");
  EXPECT_EQ(keep(file_, "a, b", {"1d_alltoall", "blocks on hosts", "collectives", 0.125}), "");
  const auto found = recall(file_, "a, b");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->scheme, "1d_alltoall");
  EXPECT_EQ(found->order, "blocks on hosts");
  EXPECT_EQ(found->exchange, "collectives");
  EXPECT_EQ(found->seconds, 0.125);
  EXPECT_EQ(recall(file_, "a, bc")->scheme, "slab");
  EXPECT_FALSE(recall(file_, "a"));
  for (const auto& entry : std::filesystem::directory_iterator(folder / "deeper")) EXPECT_EQ(entry.path(), file_);
}

TEST_F(FftTrial, AFileOfAnotherKindIsReplacedAndABadFolderIsSaid) {
  std::filesystem::create_directories(folder / "deeper");
  std::ofstream(file_) << "something else\na\tslab\tas numbered\t1\n";
  EXPECT_FALSE(recall(file_, "a"));
  EXPECT_EQ(keep(file_, "a", {"slab", "as numbered", "pairwise", 1}), "");
  EXPECT_TRUE(recall(file_, "a"));
  EXPECT_NE(keep(file_ + "/under/a/file", "a", {"slab", "as numbered", "pairwise", 1}), "");
}

TEST_F(FftTrial, TheQuickestIsTakenByAllAndRemembered) {
  const TransformProblem problem{{12, 10, 8}, TransformKind::complex, {0, 1, 2}, 4};
  const auto choose = [&](int threads) {
    std::vector<Agreed> found(4);
    comm::run_ranks({"a", "a", "b", "b"}, [&](const comm::Communicator& comm) {
      ThreadPool pool(threads);
      found[static_cast<std::size_t>(comm.rank())] =
          agree_or_try<double>(comm, pool, problem, {"trial", "", 8}, {}, file_);
    });
    for (const auto& other : found) {
      EXPECT_EQ(other.reason, found[0].reason);
      EXPECT_EQ(other.exchange, found[0].exchange);
      EXPECT_EQ(other.plan.problem.input, found[0].plan.problem.input);
      EXPECT_EQ(other.plan.spectrum(), found[0].plan.spectrum());
    }
    return found[0];
  };
  const auto first = choose(1), again = choose(1), other = choose(2);
  test::expect_says(first.reason, "least time when tried: ");
  test::expect_says(again.reason, "by an earlier trial");
  for (const auto* exchange : {"pairwise", "alltoall", "collectives"}) test::expect_says(first.reason, exchange);
  EXPECT_EQ(again.exchange, first.exchange);
  EXPECT_EQ(again.plan.scheme, first.plan.scheme);
  EXPECT_EQ(again.plan.problem.places, first.plan.problem.places);
  test::expect_says(other.reason, "least time when tried: ");
}

}  // namespace
}  // namespace tessera::fft
