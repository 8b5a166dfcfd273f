#include "tessera/md/integrate/langevin.h"

#include "tessera/md/integrate/baths/coupled_integrator.h"

namespace tessera::md::integrate {

namespace {

class Langevin final : public CoupledIntegrator {
 public:
  explicit Langevin(const EngineSettings& settings) : CoupledIntegrator(settings), settings_(settings.coupling) {}

  Failure before_forces(Motion& motion) override {
    couplings().before_step(motion);
    std::int64_t heat = 0;
    const auto failure = motion.kick_and_drift_with_noise(0.5 * motion.timestep(), motion.timestep(), settings_, heat);
    motion.coupling(name, 1)[0] += motion.sum_of_ranks(heat);
    return failure;
  }

  Failure after_forces(Motion& motion, bool with_virial) override {
    auto failure = motion.kick_and_project(0.5 * motion.timestep(), false);
    // The impulses of this half are not those of whole constraint forces: the drift before it was half as long.
    if (with_virial) failure.offer(motion.add_constraint_virial());
    couplings().after_step(motion);
    return failure;
  }

  double conserved(const Energies& energies, const State& state) const override {
    return CoupledIntegrator::conserved(energies, state) - coupling_of(state, name, 0);
  }
  std::int64_t removed_degrees_of_freedom() const override { return 0; }  // noise moves the centre of mass

 private:
  static constexpr const char* name = "langevin";  // the heat that the bath has given, kcal/mol

  CouplingSettings settings_;
};

}  // namespace

std::unique_ptr<Integrator> make_langevin(const EngineSettings& settings) {
  return std::make_unique<Langevin>(settings);
}

}  // namespace tessera::md::integrate
