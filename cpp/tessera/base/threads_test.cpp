#include "tessera/base/threads.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>

#include "tessera/base/test_support/messages.h"

namespace tessera {
namespace {

class ThreadPoolOfSize : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, ThreadPoolOfSize, testing::Values(1, 2, 3, 4, 5, 8));

TEST_P(ThreadPoolOfSize, EveryThreadRunsOnceInEachOfManyRuns) {
  ThreadPool pool(GetParam());
  ASSERT_EQ(pool.size(), GetParam());
  const int n_runs = 300;
  std::vector<std::int64_t> count(static_cast<std::size_t>(pool.size()), 0);  // each is written by its own thread only
  for (int run = 0; run < n_runs; ++run) {
    pool.run([&](int thread) { ++count.at(static_cast<std::size_t>(thread)); });
    for (const auto c : count) ASSERT_EQ(c, run + 1);  // all have finished
  }
}

TEST_P(ThreadPoolOfSize, ThreadsAreDistinct) {
  ThreadPool pool(GetParam());
  std::mutex mutex;
  std::set<std::thread::id> ids;
  pool.run([&](int) {
    const std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(GetParam()));
  EXPECT_TRUE(ids.contains(std::this_thread::get_id()));
}

TEST_P(ThreadPoolOfSize, SharesCoverTheRangeOnce) {
  ThreadPool pool(GetParam());
  for (const std::int64_t n : {0, 1, 2, 3, 7, 8, 9, 100, 1001}) {
    std::vector<int> touched(static_cast<std::size_t>(n), 0);
    std::mutex mutex;
    std::vector<std::int64_t> share;
    pool.parallel_for(n, [&](std::int64_t begin, std::int64_t end) {
      EXPECT_LT(begin, end);
      for (auto i = begin; i < end; ++i) ++touched[static_cast<std::size_t>(i)];
      const std::lock_guard lock(mutex);
      share.push_back(end - begin);
    });
    for (const int t : touched) EXPECT_EQ(t, 1);
    EXPECT_LE(share.size(), static_cast<std::size_t>(GetParam()));
    for (const auto s : share) EXPECT_LE(s, n / GetParam() + 1);
  }
}

TEST_P(ThreadPoolOfSize, SharesOfHugeRangesDoNotOverflow) {
  ThreadPool pool(GetParam());
  const std::int64_t n = std::int64_t{1} << 40;
  std::atomic<std::int64_t> sum = 0;
  pool.parallel_for(n, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, n);
}

TEST_P(ThreadPoolOfSize, ThrowsWhatAnyThreadThrewAndGoesOn) {
  ThreadPool pool(GetParam());
  for (int thrower = 0; thrower < pool.size(); ++thrower) {
    std::atomic<int> finished = 0;
    try {
      pool.run([&](int thread) {
        if (thread == thrower) throw std::runtime_error("thread " + std::to_string(thread));
        ++finished;
      });
      ADD_FAILURE() << "nothing thrown by thread " << thrower;
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), "thread " + std::to_string(thrower));
    }
    EXPECT_EQ(finished, pool.size() - 1);  // the other threads were waited for
    std::atomic<int> ran = 0;
    EXPECT_NO_THROW(pool.run([&](int) { ++ran; }));
    EXPECT_EQ(ran, pool.size());
  }
  EXPECT_THROW(pool.run([](int) { throw std::logic_error("all"); }), std::logic_error);
  EXPECT_NO_THROW(pool.run([](int) {}));
}

TEST(ThreadPool, PoolsNestInsideEachOther) {
  ThreadPool outer(3);
  std::atomic<int> sum = 0;
  outer.run([&](int) {
    ThreadPool inner(2);
    for (int i = 0; i < 20; ++i) inner.run([&](int) { ++sum; });
  });
  EXPECT_EQ(sum, 3 * 2 * 20);
}

TEST(ThreadPool, NoSizeIsOneThread) {
  ThreadPool none(0);
  EXPECT_EQ(none.size(), 1);
  int runs = 0;
  none.run([&](int thread) { runs += thread == 0 ? 1 : 100; });
  EXPECT_EQ(runs, 1);
}

TEST(ThreadPool, SaysHowManyThreadsTheSystemHas) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit tight = before;
  // This leaves not enough room for all stacks.
  tight.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{256} << 20);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  std::string said;
  try {
    const ThreadPool pool(4000);
  } catch (const std::system_error& error) {
    said = error.what();
  }
  setrlimit(RLIMIT_AS, &before);
  test::expect_says(said, "of 4000 threads can be started; ask for fewer");
}

TEST(ThreadPool, WorksInAForkedProcess) {
  // Where the thread sanitizer is linked, though this file need not be compiled for it:
  if (dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr) GTEST_SKIP() << "it ends a child that starts threads";
  ThreadPool pool(3), idle(2);
  const auto sum_of = [](ThreadPool& threads) {
    std::atomic<std::int64_t> sum{0};
    threads.parallel_for(100, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) sum += i;
    });
    return sum.load();
  };
  // All threads have started: the address sanitizer has locks as one starts, which a child would wait for for ever.
  EXPECT_EQ(sum_of(pool), 4950);
  EXPECT_EQ(sum_of(idle), 4950);
  const pid_t child = fork();
  if (child == 0) {
    alarm(300);  // instead of hanging
    const bool is_right = sum_of(pool) == 4950 && sum_of(pool) == 4950 && pool.size() == 3;
    pool.~ThreadPool();
    idle.~ThreadPool();
    _exit(is_right ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(sum_of(pool), 4950);
}

}  // namespace
}  // namespace tessera
