// A Nosé–Hoover chain: the friction of some momenta is a variable with a mass, which has a friction of its own, and so
// on.
//
//   dξ₁/dt = η₁,  dη₁/dt = (2K − N kT)/Q₁ − η₁η₂,  dη_j/dt = (Q_{j−1}η²_{j−1} − kT)/Q_j − η_jη_{j+1}
//   Q₁ = N kT τ²,  Q_j = kT τ²;  energy: Σ ½Q_jη_j² + N kT ξ₁ + kT Σ_{j>1} ξ_j
//
// Source: G. J. Martyna, M. E. Tuckerman, D. J. Tobias, M. L. Klein, Mol. Phys. 87, 1117 (1996),
// doi:10.1080/00268979600100761, eqs. 14 and 28–33. A chain of one variable is the thermostat of Nosé and Hoover, which
// DL_POLY has.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

#include "tessera/base/math/elementary.h"

namespace tessera::md::integrate {

/// Refers to the variables of a chain: ξ_j (dimensionless), then η_j (1/ps). Those beyond its length stay as they are.
class Chain {
 public:
  static constexpr std::size_t max_length = 3, n_variables = 2 * max_length;

  /// Refers to a chain's variables. `n` momenta (N), `kt` kcal/mol, `tau` ps; `length` from 1 to `max_length`.
  Chain(double* variables, double n, double kt, double tau, std::size_t length)
      : xi_(variables), eta_(variables + max_length), length_(length), n_(n), kt_(kt), tau_(tau) {}

  /// Propagates the chain by a time (ps), with the weights of Suzuki and Yoshida, where the momenta have this kinetic
  /// energy (kcal/mol). Returns the factor by which they are scaled.
  double propagate(double kinetic, double time) {
    constexpr double w = 1 / (2 - 1.2599210498948732);  // the cubic root of 2
    double factor = 1;
    for (const double weight : std::array{w, 1 - 2 * w, w}) {
      const double dt = weight * time;
      const auto force = [&](std::size_t j) {
        return j == 0 ? (2 * kinetic - n_ * kt_) / mass(0) : (mass(j - 1) * eta_[j - 1] * eta_[j - 1] - kt_) / mass(j);
      };
      const auto push = [&](std::size_t j) {
        const double drag = math::exp(-0.25 * dt * eta_[j + 1]);
        eta_[j] = (eta_[j] * drag + 0.5 * dt * force(j)) * drag;
      };
      eta_[length_ - 1] += 0.5 * dt * force(length_ - 1);
      for (std::size_t j = length_ - 1; j-- > 0;) push(j);
      const double scale = math::exp(-dt * eta_[0]);
      factor *= scale;
      kinetic *= scale * scale;
      for (std::size_t j = 0; j < length_; ++j) xi_[j] += dt * eta_[j];
      for (std::size_t j = 0; j + 1 < length_; ++j) push(j);
      eta_[length_ - 1] += 0.5 * dt * force(length_ - 1);
    }
    return factor;
  }

  /// Returns the energy of the chain, kcal/mol.
  double energy() const {
    double sum = 0;
    for (std::size_t j = 0; j < length_; ++j)
      sum += 0.5 * mass(j) * eta_[j] * eta_[j] + (j == 0 ? n_ : 1) * kt_ * xi_[j];
    return sum;
  }

 private:
  double mass(std::size_t j) const { return (j == 0 ? n_ : 1) * kt_ * tau_ * tau_; }  // kcal/mol ps²

  double* xi_;
  double* eta_;
  std::size_t length_;
  double n_, kt_, tau_;
};

}  // namespace tessera::md::integrate
