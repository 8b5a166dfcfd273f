// Means of the sampled quantities of a run, and the drift of its conserved energy.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "tessera/base/units.h"

namespace tessera::app {

/// One sample of a run.
struct Sample {
  double time = 0;                       // ps
  double potential = 0, kinetic = 0;     // kcal/mol
  double temperature = 0, pressure = 0;  // K, bar
  double density = 0;                    // g/cm³
  double conserved = 0;                  // kcal/mol
  double total() const { return potential + kinetic; }
};

/// All are over the last three quarters of the samples so far: a run starts with a jump, while its atoms settle. The
/// memory is the same for any length: samples are summed up in at most sixteen blocks of equal length, and where those
/// are full, each two become one.
class Averages {
 public:
  enum Quantity : std::size_t { temperature, pressure, density, potential, kinetic, total, conserved };
  static constexpr std::size_t n_quantities = 7;
  static constexpr std::array<const char*, n_quantities> names = {"temperature", "pressure", "density",  "potential",
                                                                  "kinetic",     "total",    "conserved"};
  static constexpr std::array<const char*, n_quantities> units = {"K",        "bar",      "g/cm³",   "kcal/mol",
                                                                  "kcal/mol", "kcal/mol", "kcal/mol"};
  struct Average {
    double mean = std::numeric_limits<double>::quiet_NaN(), fluctuation = 0;  // RMS about the mean
  };

  Averages() = default;
  explicit Averages(std::int64_t degrees_of_freedom) : degrees_(static_cast<double>(degrees_of_freedom)) {}

  void add(const Sample& sample) {
    if (n_ == 0) origin_ = values_of(sample), first_time_ = sample.time;
    if (n_ == length_ * n_blocks) merge_pairs();
    auto& block = blocks_[static_cast<std::size_t>(n_ / length_)];
    n_ += 1;
    const double t = sample.time - first_time_;
    auto value = values_of(sample);
    block.n += 1;
    block.t += t;
    block.tt += t * t;
    block.te += t * (value[conserved] - origin_[conserved]);
    for (std::size_t q = 0; q < n_quantities; ++q) {
      value[q] -= origin_[q];
      block.sum[q] += value[q];
      block.square[q] += value[q] * value[q];
    }
  }

  Average average(Quantity quantity) const {
    const auto late = of_last_three_quarters();
    if (late.n == 0) return {};
    const double mean = late.sum[quantity] / late.n;
    return {origin_[quantity] + mean, std::sqrt(std::max(0.0, late.square[quantity] / late.n - mean * mean))};
  }
  /// Returns the slope of a line through the conserved energy, k_BT per nanosecond and degree of freedom. NaN: too few
  /// samples.
  double drift() const {
    const auto late = of_last_three_quarters();
    const double spread = late.n * late.tt - late.t * late.t;
    const double thermal = tessera::units::boltzmann * average(temperature).mean * degrees_;
    if (!(spread > 0) || !(thermal > 0)) return std::numeric_limits<double>::quiet_NaN();
    return (late.n * late.te - late.t * late.sum[conserved]) / spread * 1000 / thermal;
  }

  static constexpr double confidence = 0.95;
  /// Returns how far from drift() the true slope may be, k_BT per nanosecond and degree of freedom: half of the interval
  /// of `confidence` by Student's t (1908). The scatter is that of the means of blocks about their line, since samples
  /// next to each other resemble each other (Flyvbjerg and Petersen 1989). NaN: too few samples.
  double drift_half_width() const {
    // The quantiles of 97.5 % of Student's t by degrees of freedom.
    constexpr std::array<double, n_blocks - 1> t975 = {0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                                                       2.306, 2.262,  2.228, 2.201, 2.179, 2.160, 2.145};
    constexpr std::size_t fewest = 5;
    const auto late = late_blocks();
    const double thermal = tessera::units::boltzmann * average(temperature).mean * degrees_;
    if (late.size() < fewest || !(thermal > 0)) return std::numeric_limits<double>::quiet_NaN();
    double n = 0, t = 0, e = 0;
    for (const auto& block : late) n += block.n, t += block.t, e += block.sum[conserved];
    double tt = 0, te = 0, ee = 0;  // about the means
    for (const auto& block : late) {
      const double dt = block.t / block.n - t / n, de = block.sum[conserved] / block.n - e / n;
      tt += block.n * dt * dt, te += block.n * dt * de, ee += block.n * de * de;
    }
    if (!(tt > 0)) return std::numeric_limits<double>::quiet_NaN();
    const std::size_t free = late.size() - 2;
    const double scatter = std::max(0.0, ee - te * te / tt) / static_cast<double>(free);
    return t975[free] * std::sqrt(scatter / tt) * 1000 / thermal;
  }

  /// The whole state, as numbers that a checkpoint holds.
  static constexpr std::size_t n_blocks = 16, n_of_block = 4 + 2 * n_quantities;
  using State = std::array<double, 4 + n_quantities + n_blocks * n_of_block>;
  State state() const {
    State state{};
    auto at = state.begin();
    for (const double value : {degrees_, n_, length_, first_time_}) *at++ = value;
    at = std::copy(origin_.begin(), origin_.end(), at);
    for (const auto& block : blocks_) {
      for (const double value : {block.n, block.t, block.tt, block.te}) *at++ = value;
      at = std::copy(block.sum.begin(), block.sum.end(), at);
      at = std::copy(block.square.begin(), block.square.end(), at);
    }
    return state;
  }
  explicit Averages(const State& state) {
    auto at = state.begin();
    const auto take = [&](auto& values) {
      for (double& value : values) value = *at++;
    };
    for (double* value : {&degrees_, &n_, &length_, &first_time_}) *value = *at++;
    take(origin_);
    for (auto& block : blocks_) {
      for (double* value : {&block.n, &block.t, &block.tt, &block.te}) *value = *at++;
      take(block.sum);
      take(block.square);
    }
  }

 private:
  using Values = std::array<double, n_quantities>;
  /// Sums over some samples, times since the first, values less its own.
  struct Block {
    double n = 0, t = 0, tt = 0, te = 0;
    Values sum{}, square{};

    void operator+=(const Block& other) {
      n += other.n, t += other.t, tt += other.tt, te += other.te;
      for (std::size_t q = 0; q < n_quantities; ++q) sum[q] += other.sum[q], square[q] += other.square[q];
    }
  };

  static Values values_of(const Sample& s) {
    return {s.temperature, s.pressure, s.density, s.potential, s.kinetic, s.total(), s.conserved};
  }

  void merge_pairs() {
    for (std::size_t p = 0; p < n_blocks / 2; ++p) {
      blocks_[p] = blocks_[2 * p];
      blocks_[p] += blocks_[2 * p + 1];
    }
    std::fill(blocks_.begin() + n_blocks / 2, blocks_.end(), Block{});
    length_ *= 2;
  }
  /// Returns the blocks of the last three quarters of the samples that have any.
  std::span<const Block> late_blocks() const {
    const double leave_out = std::floor((n_ + 2) / 4);
    double seen = 0;
    std::size_t first = 0, end = 0;
    for (; end < n_blocks && blocks_[end].n > 0; ++end) {
      if (seen < leave_out) first = end + 1;
      seen += blocks_[end].n;
    }
    return std::span(blocks_).subspan(first, end - first);
  }
  Block of_last_three_quarters() const {
    Block late;
    for (const auto& block : late_blocks()) late += block;
    return late;
  }

  double degrees_ = 1, n_ = 0, length_ = 1, first_time_ = 0;
  Values origin_{};
  std::array<Block, n_blocks> blocks_{};
};

}  // namespace tessera::app
