// How much of its conserved energy a run gains or loses.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "tessera/base/units.h"

namespace tessera::app {

/// Drift in k_BT per nanosecond and degree of freedom: since the first sample, and as the slope of a line through all.
class Drift {
 public:
  Drift() = default;
  /// `time` ps and `total` kcal/mol of the start.
  Drift(double time, double total, std::int64_t degrees_of_freedom)
      : first_time_(time), first_total_(total), degrees_(static_cast<double>(degrees_of_freedom)) {}

  void add(double time, double total, double temperature) {
    const double t = time - first_time_, e = total - first_total_;
    ++n_;
    sum_t_ += t;
    sum_e_ += e;
    sum_tt_ += t * t;
    sum_te_ += t * e;
    sum_temperature_ += temperature;
    last_t_ = t;
    last_e_ = e;
  }
  /// All it knows, for a checkpoint, and back.
  using State = std::array<double, 11>;
  State state() const {
    return {first_time_, first_total_, degrees_,         n_,      sum_t_, sum_e_,
            sum_tt_,     sum_te_,      sum_temperature_, last_t_, last_e_};
  }
  explicit Drift(const State& s)
      : first_time_(s[0]),
        first_total_(s[1]),
        degrees_(s[2]),
        n_(s[3]),
        sum_t_(s[4]),
        sum_e_(s[5]),
        sum_tt_(s[6]),
        sum_te_(s[7]),
        sum_temperature_(s[8]),
        last_t_(s[9]),
        last_e_(s[10]) {}
  double since_start() const { return scaled(last_e_, last_t_); }
  double slope() const {
    const double spread = n_ * sum_tt_ - sum_t_ * sum_t_;
    return scaled(n_ * sum_te_ - sum_t_ * sum_e_, spread);
  }

 private:
  double scaled(double energy, double time) const {
    const double temperature = n_ > 0 ? sum_temperature_ / n_ : 0;
    if (!(time > 0) || !(temperature > 0)) return std::numeric_limits<double>::quiet_NaN();
    return energy / time * 1000 / (units::boltzmann * temperature * degrees_);
  }

  double first_time_ = 0, first_total_ = 0, degrees_ = 1;
  double n_ = 0, sum_t_ = 0, sum_e_ = 0, sum_tt_ = 0, sum_te_ = 0, sum_temperature_ = 0, last_t_ = 0, last_e_ = 0;
};

}  // namespace tessera::app
