// Thermostats by Nosé–Hoover chains (chain.h). Half of the chain's propagation follows the second half of a step, the
// other half precedes the first half of the next one.
#include <string>
#include <vector>

#include "tessera/base/units.h"
#include "tessera/md/integrate/baths/bath.h"
#include "tessera/md/integrate/baths/chain.h"

namespace tessera::md::integrate {

namespace {

class NoseHoover final : public Bath {
 public:
  explicit NoseHoover(const BathSettings& settings) : settings_(settings) {}

  void before_step(Motion& motion) override {
    if ((motion.step() - 1) % settings_.every == 0) propagate(motion, motion.time_of(motion.step() - 1));
  }
  void after_step(Motion& motion) override {
    if (motion.step() % settings_.every == 0) propagate(motion, motion.time());
  }

  double energy(const Energies& /*energies*/, const GlobalState& state) const override {
    double sum = 0;
    for (std::size_t bath = 0; bath < settings_.heat_baths.size(); ++bath) {
      const auto found = state.coupling.find(name_of(bath));
      if (found == state.coupling.end()) continue;
      auto variables = found->second;
      variables.resize(n_variables);
      sum += chain(bath, variables, variables[last_kt]).energy() + variables[account];
    }
    return sum;
  }

 private:
  /// Variables of a bath: the chain's, N, kT of the last action, and what changes of kT have taken from the energy of
  /// the chain (kcal/mol).
  enum : std::size_t { number = Chain::n_variables, last_kt, account, n_variables };

  static std::string name_of(std::size_t bath) {
    return bath == 0 ? "nose-hoover" : "nose-hoover." + std::to_string(bath);
  }
  Chain chain(std::size_t bath, std::vector<double>& variables, double kt) const {
    return {variables.data(), variables[number], kt, settings_.heat_baths[bath].tau_t,
            static_cast<std::size_t>(settings_.chain)};
  }

  /// Propagates chains and velocities by half of the time between two actions. Where the temperature changes, masses
  /// follow it.
  void propagate(Motion& motion, double time) {
    const auto kinetic = motion.kinetic_energies();
    const double half = 0.5 * static_cast<double>(settings_.every) * motion.timestep();
    std::vector<double> factor(kinetic.size());
    for (std::size_t bath = 0; bath < kinetic.size(); ++bath) {
      auto& variables = motion.coupling(name_of(bath), n_variables);
      const double kt = units::boltzmann * settings_.heat_baths[bath].temperature.at(time);
      const double kt_before = variables[last_kt];
      variables[number] = motion.degrees_of_freedom_of(bath);
      if (kt_before > 0 && kt_before != kt)
        variables[account] += chain(bath, variables, kt_before).energy() - chain(bath, variables, kt).energy();
      variables[last_kt] = kt;
      factor[bath] = chain(bath, variables, kt).propagate(kinetic[bath], half);
      motion.share(variables);
    }
    motion.share(factor);
    motion.scale_velocities(factor);
  }

  BathSettings settings_;
};

}  // namespace

extern constinit const BathEntry nose_hoover = {.name = "nose-hoover",
                                                .description = "Nosé–Hoover chains",
                                                .reads = "chain",
                                                .takes_half_steps = false,
                                                .takes_zero = false,
                                                .make = make_bath<NoseHoover>};

}  // namespace tessera::md::integrate
