// Thermostats by Nosé–Hoover chains (chain.h). Half of the chain's propagation follows the second half of a step, the
// other half precedes the first half of the next one.
#include <array>

#include "tessera/base/units.h"
#include "tessera/md/integrate/coupling/chain.h"
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
    return chain(variables, variables[last_kt]).energy() + variables[account];
  }

 private:
  static constexpr const char* name = "nose-hoover";
  /// Variables: the chain's, N, kT of the last action, and what changes of kT have taken from the energy of the chain
  /// (kcal/mol).
  enum : std::size_t { number = Chain::n_variables, last_kt, account, n_variables };

  Chain chain(std::vector<double>& variables, double kt) const {
    return {variables.data(), variables[number], kt, settings_.tau_t};
  }

  /// Propagates chain and velocities by half of the time between two actions. Where the temperature changes, masses
  /// follow it.
  void propagate(Motion& motion, double time) {
    auto& variables = motion.coupling(name, n_variables);
    const double kt = units::boltzmann * settings_.temperature.at(time), kt_before = variables[last_kt];
    variables[number] = static_cast<double>(motion.degrees_of_freedom());
    if (kt_before > 0 && kt_before != kt)
      variables[account] += chain(variables, kt_before).energy() - chain(variables, kt).energy();
    variables[last_kt] = kt;
    const double half = 0.5 * static_cast<double>(settings_.every) * motion.timestep();
    double factor = chain(variables, kt).propagate(motion.total_kinetic_energy(), half);
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
