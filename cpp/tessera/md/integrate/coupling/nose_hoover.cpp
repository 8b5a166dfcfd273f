// Nosé–Hoover chains: the friction of the atoms is a variable with a mass, which has a friction of its own, and so on.
//
//   dξ₁/dt = η₁,  dη₁/dt = (2K − N kT)/Q₁ − η₁η₂,  dη_j/dt = (Q_{j−1}η²_{j−1} − kT)/Q_j − η_jη_{j+1}
//   Q₁ = N kT τ²,  Q_j = kT τ²;  conserved: H + Σ ½Q_jη_j² + N kT ξ₁ + kT Σ_{j>1} ξ_j
//
// Half of the chain's propagation follows the second half of a step, the other half precedes the first half of the next
// one; both take the weights of Suzuki and Yoshida.
// Source: G. J. Martyna, M. E. Tuckerman, D. J. Tobias, M. L. Klein, Mol. Phys. 87, 1117 (1996),
// doi:10.1080/00268979600100761, eqs. 14 and 28–33.
#include <array>
#include <cmath>

#include "tessera/base/units.h"
#include "tessera/md/integrate/coupling/coupling.h"

namespace tessera::md::integrate {

namespace {

class NoseHoover final : public Coupling {
 public:
  explicit NoseHoover(const CouplingSettings& settings)
      : settings_(settings), kt_(units::boltzmann * settings.temperature) {}

  void before_step(Motion& motion) override {
    if ((motion.step() - 1) % settings_.every == 0) propagate(motion);
  }
  void after_step(Motion& motion) override {
    if (motion.step() % settings_.every == 0) propagate(motion);
  }

  double energy(const Energies& /*energies*/, const State& state) const override {
    double sum = 0;
    const double n = coupling_of(state, name, 2 * length);
    for (std::size_t j = 0; j < length; ++j) {
      const double eta = coupling_of(state, name, length + j);
      sum += 0.5 * mass(j, n) * eta * eta + (j == 0 ? n : 1) * kt_ * coupling_of(state, name, j);
    }
    return sum;
  }

 private:
  static constexpr std::size_t length = 3;
  static constexpr const char* name = "nose-hoover";  // ξ_j (dimensionless), η_j (1/ps), N

  /// kcal/mol ps².
  double mass(std::size_t j, double n) const { return (j == 0 ? n : 1) * kt_ * settings_.tau_t * settings_.tau_t; }

  /// Propagates chain and velocities by half of the time between two actions.
  void propagate(Motion& motion) {
    auto& variables = motion.coupling(name, 2 * length + 1);
    double* xi = variables.data();
    double* eta = xi + length;
    const auto n = static_cast<double>(motion.degrees_of_freedom());
    variables[2 * length] = n;
    double kinetic = motion.total_kinetic_energy(), factor = 1;
    const double w = 1 / (2 - std::cbrt(2.0));
    const double half = 0.5 * static_cast<double>(settings_.every) * motion.timestep();
    for (const double weight : std::array{w, 1 - 2 * w, w}) {
      const double dt = weight * half;
      const auto force = [&](std::size_t j) {
        return j == 0 ? (2 * kinetic - n * kt_) / mass(0, n)
                      : (mass(j - 1, n) * eta[j - 1] * eta[j - 1] - kt_) / mass(j, n);
      };
      eta[length - 1] += 0.5 * dt * force(length - 1);
      for (std::size_t j = length - 1; j-- > 0;) {
        const double drag = std::exp(-0.25 * dt * eta[j + 1]);
        eta[j] = (eta[j] * drag + 0.5 * dt * force(j)) * drag;
      }
      const double scale = std::exp(-dt * eta[0]);
      factor *= scale;
      kinetic *= scale * scale;
      for (std::size_t j = 0; j < length; ++j) xi[j] += dt * eta[j];
      for (std::size_t j = 0; j + 1 < length; ++j) {
        const double drag = std::exp(-0.25 * dt * eta[j + 1]);
        eta[j] = (eta[j] * drag + 0.5 * dt * force(j)) * drag;
      }
      eta[length - 1] += 0.5 * dt * force(length - 1);
    }
    motion.share(variables);
    motion.share(factor);
    motion.scale_velocities(factor);
  }

  CouplingSettings settings_;
  double kt_;  // kcal/mol
};

}  // namespace

std::unique_ptr<Coupling> make_nose_hoover(const CouplingSettings& settings) {
  return std::make_unique<NoseHoover>(settings);
}

}  // namespace tessera::md::integrate
