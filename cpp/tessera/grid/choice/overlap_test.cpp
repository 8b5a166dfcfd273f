// Tests what is told of overlap from given times, and that it is measured where messages are sent, and only there.
#include "tessera/grid/choice/overlap.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/grid/distribute.h"

namespace tessera::grid {
namespace {

TEST(GridOverlap, IsWhatIsGainedOverWhatCouldBe) {
  // 4 batches of 1 s of messages and 2 s of computing: at best 3 s of messages are hidden.
  EXPECT_DOUBLE_EQ(overlap_of({4, 12, 12, 4}).value(), 0);
  EXPECT_DOUBLE_EQ(overlap_of({4, 12, 9, 4}).value(), 1);
  EXPECT_DOUBLE_EQ(overlap_of({4, 12, 10.5, 4}).value(), 0.5);
  // 2 s of messages behind 1 s of computing: at best 3 s of computing hide some.
  EXPECT_DOUBLE_EQ(overlap_of({8, 12, 10.5, 4}).value(), 0.5);
  // What else the machine does may make the sum of both parts longer, or shorter.
  EXPECT_DOUBLE_EQ(overlap_of({4, 12, 13, 4}).value(), 0);
  EXPECT_DOUBLE_EQ(overlap_of({4, 12, 7, 4}).value(), 1);
}

TEST(GridOverlap, IsNotToldOfNothing) {
  EXPECT_FALSE(overlap_of({0, 8, 8, 4})) << "nothing is sent";
  EXPECT_FALSE(overlap_of({4, 4, 4, 4})) << "nothing is computed";
  EXPECT_FALSE(overlap_of({4, 12, 12, 1})) << "one batch has no other";
  EXPECT_FALSE(overlap_of({0.1, 8.1, 8, 4})) << "a hundredth can't be told";
  EXPECT_FALSE(overlap_of({8, 8.1, 8, 4}));
}

TEST(GridOverlap, IsMeasuredWhereMessagesAreSent) {
  const auto stencil = laplacian(4, {Vec3{1, 0, 0}, Vec3{0, 1, 0}, Vec3{0, 0, 1}});
  const std::vector<std::vector<std::string>> jobs = {{"a"}, {"a", "a", "a"}, {"a", "b", "b"}};
  for (const auto& hosts : jobs) {
    std::mutex one_at_a_time;
    std::set<std::optional<double>> found;
    comm::run_ranks(hosts, [&](const comm::Communicator& comm) {
      const auto [layout, wires] = distribute(comm, {24, 12, 10}, {true, true, true}, std::nullopt, "");
      ThreadPool threads(1);
      const auto its = measure_overlap<double>(stencil, 1, layout, comm, threads);
      const std::lock_guard lock(one_at_a_time);
      found.insert(its);
    });
    ASSERT_EQ(found.size(), 1U) << "all ranks agree";
    if (const auto its = *found.begin()) {
      EXPECT_EQ(hosts.back(), "b") << "ranks of one host share memory";
      EXPECT_GE(*its, 0);
      EXPECT_LE(*its, 1);
    }
  }
}

}  // namespace
}  // namespace tessera::grid
