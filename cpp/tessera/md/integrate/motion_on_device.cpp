// Lets a device keep the atoms that it moves, and brings them home.
#include <algorithm>
#include <utility>

#include "tessera/md/integrate/motion.h"

namespace tessera::md::integrate {

/// Lets a device have the atoms if it has all forces on them. Returns whether it has them, or has lost them.
bool Motion::leave() {
  if (is_lost_ || is_away_) return true;
  // Atoms leave from where a step began, or else the engine could not go back there.
  if (!may_leave_ || on_device_ == nullptr || stays_home_ || !forces_.has_total_on_device() ||
      !forces_.are_all_on_device())
    return false;
  auto& atoms = *forces_.atoms_on_device();
  is_away_ = atoms.in_use().attempt([&] {
    if (!knows_groups_) {
      on_device_->set_groups(topology_.groups(), state_.id, inverse_mass_, bath_);
      atoms.set_references(state_.reference);
      heat_taken_ = 0;
    }
    if (!knows_state_) on_device_->start_from(state_);
  });
  knows_groups_ = knows_state_ = is_away_;
  return is_away_;
}

/// Waits for what a device that has atoms does, and is to fetch. Returns false where it has lost them.
bool Motion::wait_for_device(const std::function<void()>& start_fetch) {
  if (is_lost_) return false;
  auto& atoms = *forces_.atoms_on_device();
  is_lost_ = !atoms.in_use().attempt([&] {
    atoms.device();  // who looks may do so on another thread
    on_device_->start_fetch_of_sums();
    on_device_->start_fetch_of_virials();
    start_fetch();
    atoms.stream().wait();
  }) || !forces_.is_device_sound() ||
             on_device_->sums().n_failed > 0;
  if (!is_lost_) take_heat();
  return !is_lost_;
}

bool Motion::is_sound() {
  return has_looked_ || wait_for_device([] {});
}

bool Motion::look() {
  if (has_looked_) return true;
  auto& atoms = *forces_.atoms_on_device();
  const auto start_fetch = [&] {
    if (has_searched_on_device_) forces_.device_search().start_fetch();
    on_device_->start_fetch_of_state();
    atoms.start_fetch(GroupSet(1));
  };
  if (!wait_for_device(start_fetch)) return false;
  if (has_searched_on_device_)
    seen_id_.assign(forces_.device_search().atoms().begin(), forces_.device_search().atoms().end());
  return has_looked_ = true;
}

OwnAtoms Motion::seen(std::int64_t n_atoms) const {
  const bool is_sorted = has_searched_on_device_;
  return {.n_atoms = n_atoms,
          .id = is_sorted ? std::span(seen_id_) : std::span(state_.id),
          .position = forces_.atoms_on_device()->staged_positions(),
          .reference = is_sorted ? forces_.device_search().references() : std::span(state_.reference),
          .velocity = on_device_->fetched_velocities(),
          .force = forces_.fetched_total(),
          .fields = state_.fields};
}

bool Motion::bring_home() {
  may_leave_ = false;
  if (is_lost_ || !is_away_) return !is_lost_;
  if (!look()) return false;
  add_virials();
  is_away_ = has_looked_ = false;
  if (has_searched_on_device_)
    adopt_slots();
  else
    on_device_->copy_to(state_);
  forces_.take_total(forces_.fetched_total());
  return true;
}

/// Clears what a device sums of virials, before the first of a step.
void Motion::begin_virials() {
  if (!std::exchange(has_virials_, true)) on_device_->clear_virials();
}

/// Adds the virials of forces and constraints that have been fetched, if the device has any.
void Motion::add_virials() {
  forces_.take_sums_of_device();
  if (!std::exchange(has_virials_, false)) return;
  const auto add = [](const GroupVirial& found, EnergyVirial& to) {
    EnergyVirial added;
    std::ranges::copy(found.virial, added.virial.begin());
    std::ranges::copy(found.of_clashes, added.virial_of_clashes.begin());
    to.merge(added);
  };
  add(on_device_->virials().of_constraints, forces_.constraint_virial(0));
  add(on_device_->virials().within, forces_.virial_within_groups(0));
}

void Motion::take_sums() {
  if (is_away_ && wait_for_device([] {})) add_virials();
}

/// Takes atoms that have come home in the slots that the device has given them.
void Motion::adopt_slots() {
  const auto& search = forces_.device_search();
  adopt_({.atom = search.atoms(),
          .reference = search.references(),
          .position = forces_.atoms_on_device()->staged_positions(),
          .velocity = on_device_->fetched_velocities(),
          .first_cluster = search.first_clusters()});
}

bool Motion::search_on_device() {
  const auto* sorted = forces_.search_on_device();
  if (sorted == nullptr) return false;
  has_searched_on_device_ = true;
  forces_.atoms_on_device()->in_use().attempt([&] { on_device_->follow(*sorted); });
  return true;
}

/// Brings atoms home to change them there.
bool Motion::change_here() {
  if (!bring_home()) return false;
  knows_state_ = false;
  return true;
}

void Motion::stay_home() {
  is_away_ = is_lost_ = has_searched_on_device_ = knows_state_ = knows_groups_ = false;
  has_virials_ = has_looked_ = false;
  stays_home_ = true;
  account_of_heat_.clear();
}

/// Adds the heat that the device has given.
void Motion::take_heat() {
  const auto heat = on_device_->sums().heat;
  if (!account_of_heat_.empty()) add_heat(account_of_heat_, heat - heat_taken_);
  account_of_heat_.clear();
  heat_taken_ = heat;
}

void Motion::start_check() {
  auto& atoms = *forces_.atoms_on_device();
  atoms.in_use().attempt([&] { atoms.start_check(state_.box); });
  forces_.start_check();
  atoms.in_use().attempt([&] {
    on_device_->start_fetch_of_sums();
    atoms.start_fetch_of_check();
  });
}

std::optional<AtomCheck> Motion::finish_check() {
  auto& atoms = *forces_.atoms_on_device();
  AtomCheck check{};
  if (!atoms.in_use().attempt([&] { check = atoms.wait_for_check(); }) || !forces_.were_last_sound() ||
      on_device_->sums().n_failed > 0)
    is_lost_ = true;
  if (is_lost_) return {};
  take_heat();
  return check;
}

}  // namespace tessera::md::integrate
