#include "tessera/md/integrate/respa.h"

#include "tessera/md/integrate/coupling/coupling.h"

namespace tessera::md::integrate {

namespace {

class Respa final : public Integrator {
 public:
  explicit Respa(const EngineSettings& settings)
      : mesh_every_(settings.mesh_every),
        com_removal_every_(settings.fixed.empty() ? settings.com_removal_every : 0),
        couplings_(settings.coupling) {}

  Failure before_forces(Motion& motion) override {
    couplings_.before_step(motion);
    Failure failure;
    if ((motion.step() - 1) % mesh_every_ == 0) failure = kick_by_mesh(motion);
    failure.offer(
        motion.kick_and_drift(0.5 * motion.timestep(), motion.timestep(), motion.forces().of_group(frequent)));
    return failure;
  }

  Failure after_forces(Motion& motion, bool with_virial) override {
    auto failure = motion.kick_and_project(0.5 * motion.timestep(), motion.forces().of_group(frequent), false);
    if (motion.step() % mesh_every_ == 0) failure.offer(kick_by_mesh(motion));
    // The impulses of these kicks are not those of the constraint forces at one time.
    if (with_virial) failure.offer(motion.add_constraint_virial());
    if (com_removal_every_ > 0 && motion.step() % com_removal_every_ == 0) motion.remove_centre_of_mass_motion();
    couplings_.after_step(motion);
    return failure;
  }

  GroupSet due_groups(std::int64_t step) const override {
    GroupSet due;
    due[frequent] = true;
    due[rare] = step % mesh_every_ == 0;
    return due;
  }
  StepSums needed_sums(std::int64_t step) const override { return couplings_.needed_sums(step); }
  double conserved(const Energies& energies, const State& state) const override {
    return energies.total() + couplings_.energy(energies, state);
  }
  std::int64_t removed_degrees_of_freedom() const override { return com_removal_every_ > 0 ? 3 : 0; }

 private:
  static constexpr std::size_t frequent = 0, rare = 1;  // groups of forces

  Failure kick_by_mesh(Motion& motion) const {
    const double kick = 0.5 * static_cast<double>(mesh_every_) * motion.timestep();
    return motion.kick_and_project(kick, motion.forces().of_group(rare), false);
  }

  std::int64_t mesh_every_, com_removal_every_;  // steps; com: 0: never
  Couplings couplings_;
};

}  // namespace

std::unique_ptr<Integrator> make_respa(const EngineSettings& settings) { return std::make_unique<Respa>(settings); }

}  // namespace tessera::md::integrate
