// The interface of heat and pressure baths, which act on the system at whole steps, and their registries. To add one: a
// file with a class and its entry, and a line in ../registry.cpp; for a key of its own a member of BathSettings, which
// app/config/baths.cpp sets, and what app/config/schema.h says.
//
// A bath acts in every so many steps (BathSettings::every) as if it had acted all the time since then. Its noise is
// a function of the seed and the step, and its variables are in State::coupling, which checkpoints hold: a run is the
// same bits on any number of ranks and over restarts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/md/integrate/baths/settings.h"
#include "tessera/md/integrate/motion.h"

namespace tessera::md::integrate {

class Bath {
 public:
  virtual ~Bath() = default;

  /// Acts before the first half of a step; motion.step() is the coming step. Collective.
  virtual void before_step(Motion& /*motion*/) {}
  /// Acts between the drift of a step and its forces. Collective.
  virtual void after_drift(Motion& /*motion*/) {}
  /// Acts after the second half of a step, on velocities that stand at the time of the positions. Collective.
  virtual void after_step(Motion& /*motion*/) {}
  /// Tells what the step after this one needs of the sums of this one.
  virtual StepSums needed_sums(std::int64_t /*step*/) const { return StepSums::none; }
  /// Returns a box to be tried in the present step before the coming one, if one is due.
  virtual std::optional<Box> trial_box(Motion& /*motion*/) { return {}; }
  /// Decides whether the box stays what trial_box() asked for, by the potential energy in it (kcal/mol) and the box
  /// before; motion.energies() are those before.
  virtual bool accepts(Motion& /*motion*/, const Box& /*before*/, double /*potential*/) { return true; }
  /// Returns the energy that the bath holds, up to a constant, kcal/mol: with that of the system it is conserved.
  /// `energies` are those of the state.
  virtual double energy(const Energies& energies, const GlobalState& state) const = 0;
};

/// Holds the baths that the settings ask for, but for Langevin's, which is an integrator of its own.
class Baths {
 public:
  explicit Baths(const BathSettings& settings);

  void before_step(Motion& motion) {
    for (auto& bath : baths_) bath->before_step(motion);
  }
  void after_drift(Motion& motion) {
    for (auto& bath : baths_) bath->after_drift(motion);
  }
  void after_step(Motion& motion) {
    for (auto& bath : baths_) bath->after_step(motion);
  }
  std::optional<Box> trial_box(Motion& motion);
  bool accepts(Motion& motion, const Box& before, double potential);
  StepSums needed_sums(std::int64_t step) const;
  double energy(const Energies& energies, const GlobalState& state) const;

 private:
  std::vector<std::unique_ptr<Bath>> baths_;
};

/// Returns a variable of a bath, 0 before its first action.
double coupling_of(const GlobalState& state, const std::string& name, std::size_t i);

template <class Class>
std::unique_ptr<Bath> make_bath(const BathSettings& settings) {
  return std::make_unique<Class>(settings);
}

/// Describes a heat bath or a pressure bath in its registry.
struct BathEntry {
  std::string_view name;
  std::string_view description;  // a few words for the reference
  std::string_view reads{};      // the key of [dynamics] that is of no use to other baths
  bool draws_noise = false;      // results depend on dynamics.seed
  bool samples_ensemble = true;  // false: a note tells so
  // What heat baths may be combined with.
  std::string_view integrator{};  // the one that the bath is a part of; then there is no `make`
  bool takes_half_steps = true;   // velocities may stand half a step before the positions
  bool takes_zero = true;         // the temperature may be 0 K for a time
  // What pressure baths may be combined with.
  std::string_view thermostat{};  // the one that is a part of the bath, on all atoms together; empty: any
  bool tries_boxes = false;       // every BathSettings::trials_every steps, which needs a buffer
  std::unique_ptr<Bath> (*make)(const BathSettings& settings) = nullptr;
};

std::span<const BathEntry> thermostats();
std::span<const BathEntry> barostats();
/// Finds a bath by its name. Throws InputError where there is none.
const BathEntry& thermostat(const std::string& name);
const BathEntry& barostat(const std::string& name);

}  // namespace tessera::md::integrate
