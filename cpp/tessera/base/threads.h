// A fork-join pool: the master and size()−1 workers run the same function, each with its thread index.
//
// Why not OpenMP: the thread sanitizer sees every edge of this one, and workers sleep instead of spinning when ranks
// share cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace tessera {

/// Starts a thread that gets no signals: they are for the thread that steps. Throws std::system_error.
std::thread start_without_signals(std::function<void()> work);

class ThreadPool {
 public:
  /// Throws std::system_error where the system has no more threads.
  explicit ThreadPool(int size = 1);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  /// Runs function(thread) on every thread, 0 ≤ thread < size(); returns when all are done. The first exception thrown
  /// by any of them is thrown again here. A process that was forked since has none of the threads: it starts its own.
  void run(const std::function<void(int)>& function);

  /// Runs function(begin, end) over [0, n) in one contiguous share a thread.
  template <class Function>
  void parallel_for(std::int64_t n, Function&& function) {
    if (workers_.empty()) {
      if (n > 0) function(std::int64_t{0}, n);
      return;
    }
    run([&](int thread) {
      const std::int64_t begin = n * thread / size(), end = n * (thread + 1) / size();
      if (begin < end) function(begin, end);
    });
  }

  /// Copies values, a share a thread; there is room for as many.
  template <class T>
  void copy(std::span<const T> from, std::span<T> to) {
    parallel_for(std::ssize(from), [&](std::int64_t begin, std::int64_t end) {
      std::copy(from.begin() + begin, from.begin() + end, to.begin() + begin);
    });
  }

 private:
  void start(int size);
  bool is_of_parent() const;
  void forget_workers();
  void work(int thread);
  void execute(int thread);
  void end();

  std::vector<std::thread> workers_;
  std::uint32_t forks_ = 0;  // that had made the process in which the workers were started
  const std::function<void(int)>* function_ = nullptr;
  std::atomic<std::uint32_t> generation_{0};
  std::atomic<int> running_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
};

}  // namespace tessera
