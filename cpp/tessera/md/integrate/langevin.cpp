// Langevin dynamics by the splitting BAOAB, with constraints kept after each part. Velocities stand at whole steps.
//
//   B: v += ½dt·F/m   A: x += ½dt·v   O: v ← e^{−γdt}·v + √((1−e^{−2γdt})·kT/m)·R   A   B,   γ = 1/τ
//
// Source: B. Leimkuhler, C. Matthews, J. Chem. Phys. 138, 174102 (2013), doi:10.1063/1.4802990; with constraints:
// Proc. R. Soc. A 472, 20160138 (2016), doi:10.1098/rspa.2016.0138.
#include "tessera/md/integrate/baths/coupled_integrator.h"

namespace tessera::md::integrate {

namespace {

class Langevin final : public CoupledIntegrator {
 public:
  explicit Langevin(const EngineSettings& settings) : CoupledIntegrator(settings), settings_(settings.baths) {}

  Failure before_forces(Motion& motion) override {
    baths().before_step(motion);
    return motion.kick_and_drift_with_noise(0.5 * motion.timestep(), motion.timestep(), settings_, name);
  }

  Failure after_forces(Motion& motion, bool with_virial) override {
    auto failure = motion.kick_and_project(0.5 * motion.timestep(), false);
    // The impulses of this half are not those of whole constraint forces: the drift before it was half as long.
    if (with_virial) failure.offer(motion.add_constraint_virial());
    baths().after_step(motion);
    return failure;
  }

  double conserved(const Energies& energies, const GlobalState& state) const override {
    return CoupledIntegrator::conserved(energies, state) - coupling_of(state, name, 0);
  }
  std::int64_t removed_degrees_of_freedom() const override { return 0; }  // noise moves the centre of mass

 private:
  static constexpr const char* name = "langevin";  // the heat that the bath has given, kcal/mol

  BathSettings settings_;
};

}  // namespace

extern constinit const IntegratorEntry langevin = {
    .name = "langevin", .description = "constant temperature by friction and noise (BAOAB)", .make = make<Langevin>};
extern constinit const BathEntry langevin_thermostat = {.name = "langevin",
                                                        .description = "friction and noise",
                                                        .draws_noise = true,
                                                        .integrator = "langevin",
                                                        .takes_half_steps = false};

}  // namespace tessera::md::integrate
