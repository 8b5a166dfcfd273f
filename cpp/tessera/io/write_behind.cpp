#include "tessera/io/write_behind.h"

#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/threads.h"

namespace tessera::io {

WriteBehind::WriteBehind(std::int64_t most_bytes_held) : most_held_(most_bytes_held) {
  thread_ = start_without_signals([this] { work(); });
}

WriteBehind::~WriteBehind() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void WriteBehind::check() const {
  if (!problem_.empty()) throw RunError(problem_);
}

void WriteBehind::hand_over(std::int64_t bytes, std::function<void()> task) {
  std::unique_lock lock(mutex_);
  wait_until(lock, [&] { return waiting_.empty() || held_ + bytes <= most_held_ || !problem_.empty(); });
  check();
  held_ += bytes;
  waiting_.push_back({bytes, std::move(task)});
  changed_.notify_all();
}

bool WriteBehind::is_idle() {
  const std::lock_guard lock(mutex_);
  check();
  return waiting_.empty();
}

void WriteBehind::wait() {
  std::unique_lock lock(mutex_);
  wait_until(lock, [&] { return waiting_.empty() || !problem_.empty(); });
  check();
}

void WriteBehind::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wait_until(lock, [&] { return is_ending_ || !waiting_.empty(); });
    if (waiting_.empty() || !problem_.empty()) {
      if (is_ending_) return;
      wait_until(lock, [&] { return is_ending_; });
      return;
    }
    auto& next = waiting_.front();  // a deque's members stay where they are
    lock.unlock();
    std::string problem;
    try {
      next.run();
    } catch (const RunError& error) {
      problem = error.what();
    }
    lock.lock();
    if (problem.empty()) {
      held_ -= next.bytes;
      waiting_.pop_front();
    } else {
      problem_ = problem;
    }
    changed_.notify_all();
  }
}

}  // namespace tessera::io
