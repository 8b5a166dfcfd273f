// Writes on a helper thread, so that the caller goes on meanwhile.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace tessera::io {

/// Runs tasks one after the other on a thread of its own. Not for several threads at once.
class WriteBehind {
 public:
  explicit WriteBehind(std::int64_t most_bytes_held);
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;
  /// Finishes what was handed over.
  ~WriteBehind();

  /// Queues a task that holds so many bytes. Waits while tasks with more bytes than the bound are held, unless none is.
  /// Throws RunError where an earlier task did: no task runs after that one.
  void hand_over(std::int64_t bytes, std::function<void()> task);
  /// Tells whether all tasks are done. Throws RunError where one did.
  bool is_idle();
  /// Waits until all tasks are done. Throws RunError where one did.
  void wait();

 private:
  struct Task {
    std::int64_t bytes;
    std::function<void()> run;
  };

  void work();
  void check() const;
  /// Waits with the lock until it holds. Waits of an hour, one after the other: the endless one is a function of the
  /// standard library of GCC 12, which machines with an older one lack.
  template <class Predicate>
  void wait_until(std::unique_lock<std::mutex>& lock, const Predicate& holds) {
    while (!holds()) changed_.wait_for(lock, std::chrono::hours(1));
  }

  std::int64_t most_held_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> waiting_;  // the first is being run
  std::int64_t held_ = 0;     // bytes of what waits
  std::string problem_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace tessera::io
