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
  explicit NoseHoover(const CouplingSettings& settings) : settings_(settings) {}

  void before_step(Motion& motion) override {
    if ((motion.step() - 1) % settings_.every == 0) propagate(motion, motion.time_of(motion.step() - 1));
  }
  void after_step(Motion& motion) override {
    if (motion.step() % settings_.every == 0) propagate(motion, motion.time());
  }

  double energy(const Energies& /*energies*/, const State& state) const override {
    const auto found = state.coupling.find(name);
    if (found == state.coupling.end()) return 0;
    auto variables = found->second;
    variables.resize(n_variables);
    return energy_of_chain(variables, variables[last_kt]) + variables[account];
  }

 private:
  static constexpr std::size_t length = 3;
  static constexpr const char* name = "nose-hoover";
  /// Variables: ξ_j (dimensionless), η_j (1/ps), N, kT of the last action, and what changes of kT have taken from the
  /// energy of the chain (kcal/mol).
  enum : std::size_t { number = 2 * length, last_kt, account, n_variables };

  /// kcal/mol ps².
  double mass(std::size_t j, double n, double kt) const {
    return (j == 0 ? n : 1) * kt * settings_.tau_t * settings_.tau_t;
  }
  double energy_of_chain(const std::vector<double>& variables, double kt) const {
    double sum = 0;
    const double n = variables[number];
    for (std::size_t j = 0; j < length; ++j) {
      const double eta = variables[length + j];
      sum += 0.5 * mass(j, n, kt) * eta * eta + (j == 0 ? n : 1) * kt * variables[j];
    }
    return sum;
  }

  /// Propagates chain and velocities by half of the time between two actions. Where the temperature changes, masses
  /// follow it.
  void propagate(Motion& motion, double time) {
    auto& variables = motion.coupling(name, n_variables);
    const double kt = units::boltzmann * settings_.temperature.at(time), kt_before = variables[last_kt];
    if (kt_before > 0 && kt_before != kt)
      variables[account] += energy_of_chain(variables, kt_before) - energy_of_chain(variables, kt);
    variables[last_kt] = kt;
    double* xi = variables.data();
    double* eta = xi + length;
    const auto n = static_cast<double>(motion.degrees_of_freedom());
    variables[number] = n;
    double kinetic = motion.total_kinetic_energy(), factor = 1;
    const double w = 1 / (2 - std::cbrt(2.0));
    const double half = 0.5 * static_cast<double>(settings_.every) * motion.timestep();
    for (const double weight : std::array{w, 1 - 2 * w, w}) {
      const double dt = weight * half;
      const auto force = [&](std::size_t j) {
        return j == 0 ? (2 * kinetic - n * kt) / mass(0, n, kt)
                      : (mass(j - 1, n, kt) * eta[j - 1] * eta[j - 1] - kt) / mass(j, n, kt);
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
};

}  // namespace

std::unique_ptr<Coupling> make_nose_hoover(const CouplingSettings& settings) {
  return std::make_unique<NoseHoover>(settings);
}

}  // namespace tessera::md::integrate
