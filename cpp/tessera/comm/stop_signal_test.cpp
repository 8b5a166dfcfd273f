#include "tessera/comm/stop_signal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tessera/comm/communicator.h"

namespace tessera::comm {
namespace {

/// Waits for longer than signals count as one request; it may take as much longer as it likes.
void wait_until_another() { std::this_thread::sleep_for(std::chrono::milliseconds(1100)); }

/// Raises three signals that are delivered one right after the other, however busy the machine is.
void raise_together() {
  sigset_t all;
  sigemptyset(&all);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&all, signal);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::raise(signal);
  sigprocmask(SIG_UNBLOCK, &all, nullptr);
}

TEST(StopSignal, TheFirstIsRemembered) {
  EXPECT_EXIT(
      {
        listen_for_stop_signals();
        const auto comm = Communicator::world();
        const int before = agreed_stop_signal(comm);
        std::raise(SIGINT);
        std::raise(SIGTERM);
        _exit(before == 0 && agreed_stop_signal(comm) == SIGINT ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(StopSignal, ManyWithinASecondAreOneAndTheSecondChangesNothing) {
  EXPECT_EXIT(
      {
        listen_for_stop_signals();
        raise_together();
        wait_until_another();
        raise_together();
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(StopSignal, TheThirdEndsAtOnce) {
  EXPECT_EXIT(
      {
        listen_for_stop_signals();
        for (int i = 0; i < 3; ++i) {
          if (i > 0) wait_until_another();
          std::raise(SIGINT);
        }
        _exit(0);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(StopSignal, UserSignalsNeverEnd) {
  EXPECT_EXIT(
      {
        listen_for_stop_signals();
        for (int i = 0; i < 4; ++i) {
          if (i > 0) wait_until_another();
          std::raise(SIGUSR1);
        }
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(StopSignal, WhatIsIgnoredStaysIgnored) {
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);
        listen_for_stop_signals();
        const auto comm = Communicator::world();
        std::raise(SIGHUP);
        _exit(agreed_stop_signal(comm));
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tessera::comm
