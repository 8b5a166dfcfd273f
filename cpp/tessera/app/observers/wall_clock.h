// Wall-clock time of a job: it stops a run ahead of a limit, and asks for checkpoints by minutes.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <span>

#include "tessera/app/simulation.h"

namespace tessera::app {

/// The time that a job has, from its start. Only the root's clock counts; all runs of a job share one.
class TimeLimit {
 public:
  using Clock = std::chrono::steady_clock;

  explicit TimeLimit(double seconds = std::numeric_limits<double>::infinity()) : seconds_(seconds) {}

  bool exists() const { return seconds_ < std::numeric_limits<double>::infinity(); }
  /// Tells whether `ahead` seconds more, and a checkpoint with the end of the run, would pass the limit. Before a
  /// checkpoint has been written, `guess` stands for its seconds.
  bool is_near(double ahead, double guess) const {
    constexpr double share = 0.02, most = 60;  // of the limit, s: for what the system does until the process is gone
    const double write = 2 * (write_seconds_ > 0 ? write_seconds_ : guess);
    return elapsed() + ahead + write + std::min(share * seconds_, most) >= seconds_;
  }
  void wrote_checkpoint(double seconds) { write_seconds_ = seconds; }
  /// Tells whether there is no time for another run, or for `ahead` seconds of one. Collective.
  bool is_over(const comm::Communicator& comm, double ahead = 0) const {
    std::int64_t verdict = comm.is_root() && exists() && is_near(ahead, 0);
    comm.broadcast(std::as_writable_bytes(std::span(&verdict, 1)), 0);
    return verdict != 0;
  }

 private:
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  double seconds_;
  Clock::time_point start_ = Clock::now();
  double write_seconds_ = 0;  // of the last checkpoint
};

class WallClock final : public Observer {
 public:
  /// Starts without a limit where `limit` is null.
  WallClock(double checkpoint_minutes, TimeLimit* limit)
      : checkpoint_seconds_(60 * checkpoint_minutes), limit_(limit && limit->exists() ? limit : nullptr) {}

  bool is_out_of_time() const { return is_out_of_time_; }
  /// Tells, after a step, whether a checkpoint is due by minutes: the same on all ranks.
  bool wants_checkpoint() const { return wants_checkpoint_; }
  void wrote_checkpoint(double seconds) {
    if (limit_) limit_->wrote_checkpoint(seconds);
    last_checkpoint_ = TimeLimit::Clock::now();
    wants_checkpoint_ = false;
  }

  void start(Simulation&) override { last_checkpoint_ = last_look_ = TimeLimit::Clock::now(); }
  /// Asks the root every few steps, whose clock alone decides, whether time is short or a checkpoint is due.
  void after_step(Simulation& simulation) override {
    constexpr std::int64_t ask_every = 5;
    const auto step = simulation.current_step();
    if ((!limit_ && checkpoint_seconds_ == 0) || simulation.is_stopped() || !is_due(step, ask_every) ||
        step >= simulation.last_step())
      return;
    const auto now = TimeLimit::Clock::now();
    const auto seconds_since = [&](TimeLimit::Clock::time_point then) {
      return std::chrono::duration<double>(now - then).count();
    };
    std::array<std::int64_t, 2> verdict = {};
    if (simulation.comm().is_root()) {
      constexpr double bytes_of_atom = 44, bytes_per_second = 20e6;  // of a slow disk
      const double guess = bytes_of_atom * static_cast<double>(simulation.system().n_atoms()) / bytes_per_second;
      verdict[0] = limit_ && limit_->is_near(2 * seconds_since(last_look_), guess);
      verdict[1] = checkpoint_seconds_ > 0 && seconds_since(last_checkpoint_) >= checkpoint_seconds_;
    }
    last_look_ = now;
    simulation.comm().broadcast(std::as_writable_bytes(std::span(verdict)), 0);
    wants_checkpoint_ = verdict[1] != 0;
    if (verdict[0] == 0) return;
    is_out_of_time_ = true;
    simulation.stop();
  }

 private:
  double checkpoint_seconds_;
  TimeLimit* limit_;
  TimeLimit::Clock::time_point last_checkpoint_, last_look_;
  bool is_out_of_time_ = false, wants_checkpoint_ = false;
};

}  // namespace tessera::app
