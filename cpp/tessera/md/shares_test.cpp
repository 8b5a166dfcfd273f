#include "tessera/md/shares.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "tessera/base/threads.h"

namespace tessera::md {
namespace {

TEST(Shares, EachPieceOnceWhoeverIsQuick) {
  for (const int n_threads : {1, 2, 3, 7}) {
    for (const std::int64_t n : {0, 1, 5, 1000}) {
      ThreadPool threads(n_threads);
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(n));
      Shares shares(n, n_threads);
      threads.run([&](int thread) {
        shares.work(thread, 4, [&](std::int64_t begin, std::int64_t end) {
          EXPECT_LE(end - begin, 4);
          for (auto i = begin; i < end; ++i) ++done[static_cast<std::size_t>(i)];
        });
      });
      for (const auto& times : done) EXPECT_EQ(times, 1);
    }
  }
}

TEST(Shares, OwnPiecesComeFirstThenOthers) {
  const std::vector<std::int64_t> begin = {0, 3, 3, 8};
  Shares shares(begin);
  std::vector<std::int64_t> order;
  shares.work(2, 2, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i) order.push_back(i);
  });
  EXPECT_EQ(order, (std::vector<std::int64_t>{3, 4, 5, 6, 7, 0, 1, 2}));
  shares.work(0, 2, [&](std::int64_t, std::int64_t) { ADD_FAILURE() << "nothing was left"; });
}

}  // namespace
}  // namespace tessera::md
