#include "tessera/comm/stop_signal.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace tessera::comm {

namespace {

constexpr std::array stop_signals = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
constexpr std::int64_t same_request = 1'000'000'000;  // ns

std::atomic<int> first_signal = 0, n_requests = 0;
std::atomic<std::int64_t> latest = -same_request;  // ns
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

/// Records a signal, and ends the process at the third request to stop. Any thread may run this, several at once; only
/// what POSIX allows in a handler is called.
void remember(int signal) {
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
  if (signal == SIGUSR1) return;
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  const std::int64_t now = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  if (now - latest.exchange(now) < same_request) return;
  if (++n_requests < 3) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // delivered when this handler returns
}

}  // namespace

void listen_for_stop_signals() {
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;
  for (const int signal : stop_signals) sigaddset(&action.sa_mask, signal);
  for (const int signal : stop_signals) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

int agreed_stop_signal(const Communicator& comm) { return static_cast<int>(all_reduce_max(comm, first_signal)); }

const char* name_of_stop_signal(int signal) {
  switch (signal) {
    case SIGTERM:
      return "SIGTERM";
    case SIGINT:
      return "SIGINT";
    case SIGHUP:
      return "SIGHUP";
    case SIGUSR1:
      return "SIGUSR1";
    default:
      return "a signal";
  }
}

}  // namespace tessera::comm
