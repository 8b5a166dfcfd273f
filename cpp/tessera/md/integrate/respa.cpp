#include "tessera/md/integrate/respa.h"

#include <vector>

#include "tessera/md/integrate/baths/coupled_integrator.h"

namespace tessera::md::integrate {

namespace {

class Respa final : public CoupledIntegrator {
 public:
  explicit Respa(const EngineSettings& settings) : CoupledIntegrator(settings) {
    const auto& groups = settings.force_groups;
    every_.resize(groups.size(), 1);
    every_[groups[ForceSource::direct]] = settings.direct_every;
    every_[groups[ForceSource::mesh]] = settings.mesh_every;
  }

  Failure before_forces(Motion& motion) override {
    baths().before_step(motion);
    Failure failure;
    for (auto group = every_.size(); group-- > 1;)
      if ((motion.step() - 1) % every_[group] == 0) failure.offer(kick(motion, group));
    failure.offer(motion.kick_and_drift(0.5 * motion.timestep(), motion.timestep(), motion.forces().of_group(fastest)));
    baths().after_drift(motion);
    return failure;
  }

  Failure after_forces(Motion& motion, bool with_virial) override {
    Failure failure;
    for (std::size_t group = fastest; group < every_.size(); ++group)
      if (motion.step() % every_[group] == 0) failure.offer(kick(motion, group));
    // The impulses of these kicks are not those of the constraint forces at one time.
    if (with_virial) failure.offer(motion.add_constraint_virial());
    finish_step(motion);
    return failure;
  }

  GroupSet due_groups(std::int64_t step) const override {
    GroupSet due;
    for (std::size_t group = 0; group < every_.size(); ++group) due[group] = step % every_[group] == 0;
    return due;
  }

 private:
  static constexpr std::size_t fastest = 0;

  /// Applies the forces of a group for half of their period.
  Failure kick(Motion& motion, std::size_t group) const {
    const double time = 0.5 * static_cast<double>(every_[group]) * motion.timestep();
    return motion.kick_and_project(time, motion.forces().of_group(group), false);
  }

  std::vector<std::int64_t> every_;  // by group: the steps between two actions of its forces
};

}  // namespace

ForceGroups respa_groups(std::int64_t direct_every, std::int64_t mesh_every) {
  const std::size_t direct = direct_every > 1 ? 1 : 0;
  const std::size_t mesh = mesh_every > direct_every ? direct + 1 : direct;
  return {{0, direct, mesh, 0}};  // bonded, direct, mesh, external
}

extern constinit const IntegratorEntry respa = {
    .name = "respa", .description = "slow forces at longer times (r-RESPA)", .make = make<Respa>};

}  // namespace tessera::md::integrate
