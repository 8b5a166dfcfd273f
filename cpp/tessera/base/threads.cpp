#include "tessera/base/threads.h"

#include <fmt/format.h>
#include <hwy/cache_control.h>
#include <pthread.h>
#include <signal.h>

#include <system_error>

namespace tessera {

namespace {

// A short spin before sleeping keeps the fork under a microsecond when every thread has a core; it is short enough not
// to hurt when ranks share cores.
constexpr int spins = 2000;

/// Waits some ten nanoseconds. Highway knows an instruction for that on x86 alone, and aarch64's own hint, yield, does
/// nothing on most processors.
void pause() {
#if HWY_ARCH_ARM_A64
  __asm__ volatile("isb" ::: "memory");
#else
  hwy::Pause();
#endif
}

template <class Value>
void wait_while(const std::atomic<Value>& value, Value old) {
  for (int i = 0; i < spins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause();
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

/// How many forks, since this code was loaded, have made this process.
std::atomic<std::uint32_t> forks{0};

void count_forks() {
  [[maybe_unused]] static const int once =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
}

}  // namespace

std::thread start_without_signals(std::function<void()> work) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(work));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

ThreadPool::ThreadPool(int size) {
  count_forks();
  start(size);
}

void ThreadPool::start(int size) {
  forks_ = forks.load(std::memory_order_relaxed);
  try {
    for (int thread = 1; thread < size; ++thread) workers_.emplace_back([this, thread] { work(thread); });
  } catch (const std::system_error& error) {
    const int started = this->size();
    end();
    throw std::system_error(error.code(), fmt::format("no more than {} of {} threads can be started; ask for fewer, or "
                                                      "raise the limit of the system (ulimit -u, ulimit -v)",
                                                      started, size));
  }
}

ThreadPool::~ThreadPool() { end(); }

bool ThreadPool::is_of_parent() const { return forks_ != forks.load(std::memory_order_relaxed); }

/// Keeps the handles of threads of another process for ever, as these can neither be joined nor detached.
void ThreadPool::forget_workers() {
  static auto& forgotten = *new std::vector<std::vector<std::thread>>;
  forgotten.push_back(std::exchange(workers_, {}));
  generation_ = 0, running_ = 0, failed_ = false;
}

void ThreadPool::end() {
  if (is_of_parent()) return forget_workers();
  stop_ = true;
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::execute(int thread) {
  try {
    (*function_)(thread);
  } catch (...) {
    if (!failed_.exchange(true)) failure_ = std::current_exception();
  }
}

void ThreadPool::run(const std::function<void(int)>& function) {
  if (workers_.empty()) return function(0);
  if (is_of_parent()) {
    const int threads = size();
    forget_workers();
    start(threads);
  }
  function_ = &function;
  running_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  execute(0);
  for (int left = running_.load(std::memory_order_acquire); left != 0; left = running_.load(std::memory_order_acquire))
    wait_while(running_, left);
  if (failed_.exchange(false)) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadPool::work(int thread) {
  std::uint32_t seen = 0;
  while (true) {
    wait_while(generation_, seen);
    ++seen;
    if (stop_) return;
    execute(thread);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_all();
  }
}

}  // namespace tessera
