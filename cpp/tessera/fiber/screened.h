// The energy of two unit charges in a salt, kT (Debye and Hückel 1923): l_B exp(-κr)/r, less its value at the cutoff,
// beyond which it is 0, and below `nearest` as it is there. Between the values of a table in r² it is linear, which is
// within 2·10⁻⁴ of the function.
#pragma once

#include <cstddef>
#include <vector>

namespace tessera::fiber {

class Screened {
 public:
  static constexpr double nearest = 5.0;  // Å: smaller distances are those of points that stand for surfaces

  /// Raises `InputError` unless bjerrum >= 0 and kappa >= 0 are finite and the cutoff is above `nearest`.
  Screened(double bjerrum, double kappa, double cutoff);

  double cutoff() const { return cutoff_; }

  /// Returns the energy at a square of a distance below that of the cutoff.
  double operator()(double r2) const {
    const double place = r2 > nearest * nearest ? r2 - nearest * nearest : 0.0;
    const auto row = static_cast<std::size_t>(place);
    return value_[row] + (place - static_cast<double>(row)) * (value_[row + 1] - value_[row]);
  }

 private:
  double cutoff_;
  std::vector<double> value_;  // at r² = nearest² + row
};

}  // namespace tessera::fiber
