// Defines what a step does to atoms before and after their forces are computed. A new integrator needs a file with a
// class and its entry, and one line in registry.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tessera/md/integrate/motion.h"

namespace tessera::md::integrate {

class Integrator {
 public:
  virtual ~Integrator() = default;

  /// Advances positions to the next step; forces are those at the old positions. Collective.
  [[nodiscard]] virtual Failure before_forces(Motion& motion) = 0;
  /// Completes the step with the forces at the new positions. Adds the virial of the constraints if requested.
  /// Collective.
  [[nodiscard]] virtual Failure after_forces(Motion& motion, bool with_virial) = 0;

  /// Tells what the integrator needs summed in the coming step beside forces, even if nobody else does.
  virtual StepSums needed_sums(std::int64_t /*step*/) const { return StepSums::none; }
  /// Returns the groups of forces that the coming step needs. Those of other groups stay what they were when they were
  /// last computed until the next search, and are unknown after it. A step that sums energies or the virial computes
  /// all.
  virtual GroupSet due_groups(std::int64_t /*step*/) const { return all_groups; }
  /// Returns a box to be tried before the coming step, if one is due. Collective.
  virtual std::optional<Box> trial_box(Motion& /*motion*/) { return {}; }
  /// Decides whether the box stays what trial_box() asked for, by the potential energy in it (kcal/mol) and the box
  /// before; motion.energies() are those before. Collective.
  virtual bool accepts(Motion& /*motion*/, const Box& /*before*/, double /*potential*/) { return true; }
  /// Returns the quantity that this motion conserves, kcal/mol: the total energy plus what coupling has removed.
  virtual double conserved(const Energies& energies, const GlobalState& /*state*/) const { return energies.total(); }
  /// Returns the degrees of freedom that the integrator itself removes, beside the constraints.
  virtual std::int64_t removed_degrees_of_freedom() const = 0;
  /// Returns the time of the velocities after a step, which checkpoints record.
  virtual VelocityTime velocity_time() const { return VelocityTime::whole_step; }
};

/// Describes an integrator in the registry.
struct IntegratorEntry {
  std::string_view name;
  std::string_view description;      // a few words for the reference
  bool is_offered = false;           // as dynamics.integrator; others follow from other keys
  std::string_view several_times{};  // the one that does the same with several time steps; empty: none
  bool has_half_steps = false;       // velocities stand half a step before the positions
  std::unique_ptr<Integrator> (*make)(const EngineSettings& settings);
};

template <class Class>
std::unique_ptr<Integrator> make(const EngineSettings& settings) {
  return std::make_unique<Class>(settings);
}

std::span<const IntegratorEntry> integrators();
/// Throws InputError where there is none of this name.
const IntegratorEntry& integrator(const std::string& name);
std::unique_ptr<Integrator> make_integrator(const EngineSettings& settings);

}  // namespace tessera::md::integrate
