// What a step does to atoms before and after their forces are computed. To add an integrator: a file with a class and
// its entry, one line in registry.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "tessera/md/integrate/motion.h"

namespace tessera::md::integrate {

class Integrator {
 public:
  virtual ~Integrator() = default;

  /// From the positions of a step to those of the next; forces are those of the old positions. Collective.
  [[nodiscard]] virtual Failure before_forces(Motion& motion) = 0;
  /// Forces are those of the new positions. Adds the virial of the constraints where asked for. Collective.
  [[nodiscard]] virtual Failure after_forces(Motion& motion, bool with_virial) = 0;

  /// Whether the coming step needs energies, virial and temperature beside those that are asked for.
  virtual bool needs_energies(std::int64_t /*step*/) const { return false; }
  /// The groups of forces that the coming step needs. Those of the other groups stay what they were when they were last
  /// computed until the next search, and are not known after it. Where energies are asked for, all groups are computed.
  virtual GroupSet due_groups(std::int64_t /*step*/) const { return all_groups; }
  /// The quantity that this motion conserves, kcal/mol: the total energy, and what coupling has taken out of it.
  virtual double conserved(const Energies& energies, const State& /*state*/) const { return energies.total(); }
  /// Degrees of freedom that the integrator itself removes, beside the constraints.
  virtual std::int64_t removed_degrees_of_freedom() const = 0;
  /// Where velocities stand after a step. Checkpoints hold it.
  virtual VelocityTime velocity_time() const { return VelocityTime::whole_step; }
};

/// An entry of the registry.
struct IntegratorEntry {
  std::string_view name;
  std::string_view description;
  std::unique_ptr<Integrator> (*make)(const EngineSettings& settings);
};

std::span<const IntegratorEntry> integrators();
/// Throws InputError where there is none of this name.
std::unique_ptr<Integrator> make_integrator(const EngineSettings& settings);

}  // namespace tessera::md::integrate
