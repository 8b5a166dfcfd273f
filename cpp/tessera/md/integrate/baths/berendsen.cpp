// Weak coupling: the temperature goes to that of the bath exponentially. It samples no ensemble: fluctuations of the
// kinetic energy are too small.
//
//   λ² = 1 + (Δt/τ)·(T₀/T − 1)
//
// Source: H. J. C. Berendsen et al., J. Chem. Phys. 81, 3684 (1984), doi:10.1063/1.448118, eq. 11.
#include <algorithm>
#include <cmath>

#include "tessera/base/units.h"
#include "tessera/md/integrate/baths/bath.h"

namespace tessera::md::integrate {

namespace {

class BerendsenThermostat final : public Bath {
 public:
  explicit BerendsenThermostat(const BathSettings& settings) : settings_(settings) {}

  void after_step(Motion& motion) override {
    if (motion.step() % settings_.every != 0) return;
    const auto kinetic = motion.kinetic_energies();
    std::vector<double> factor(kinetic.size(), 1);
    constexpr double least = 0.8, greatest = 1.25;  // one step may not change velocities by more
    for (std::size_t bath = 0; bath < kinetic.size(); ++bath) {
      if (!(kinetic[bath] > 0)) continue;
      const auto& [atoms, temperature, tau] = settings_.heat_baths[bath];
      const double n = motion.degrees_of_freedom_of(bath);
      const double wanted = 0.5 * n * units::boltzmann * temperature.at(motion.time());
      const double share = static_cast<double>(settings_.every) * motion.timestep() / tau;
      factor[bath] = std::clamp(std::sqrt(std::max(0.0, 1 + share * (wanted / kinetic[bath] - 1))), least, greatest);
    }
    motion.share(factor);
    motion.scale_velocities(factor);
    motion.coupling("berendsen", 1)[0] += motion.change_of_kinetic_energy(kinetic);
  }

  double energy(const Energies& /*energies*/, const GlobalState& state) const override {
    return -coupling_of(state, "berendsen", 0);
  }

 private:
  BathSettings settings_;
};

}  // namespace

extern constinit const BathEntry berendsen_thermostat = {.name = "berendsen",
                                                         .description = "weak coupling, samples no ensemble",
                                                         .samples_ensemble = false,
                                                         .make = make_bath<BerendsenThermostat>};

}  // namespace tessera::md::integrate
