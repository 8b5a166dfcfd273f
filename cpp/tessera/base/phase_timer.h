// Time by the clock and by phase, and time on processors.
#pragma once

#include <time.h>

#include <array>
#include <chrono>
#include <cstddef>

namespace tessera {

/// Accumulates seconds for each value of an enumeration with `count` values.
template <class Phase, std::size_t count>
class PhaseTimers {
 public:
  /// Runs the function and adds its time to the phase.
  template <class Function>
  decltype(auto) time(Phase phase, Function&& function) {
    const Stop stop{seconds_[static_cast<std::size_t>(phase)], std::chrono::steady_clock::now()};
    return function();
  }
  const std::array<double, count>& seconds() const { return seconds_; }
  void reset() { seconds_.fill(0); }

 private:
  struct Stop {
    double& sum;
    std::chrono::steady_clock::time_point start;
    ~Stop() { sum += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }
  };
  std::array<double, count> seconds_{};
};

/// Returns the time that this process has had on processors, of all its threads together, s.
inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace tessera
