#include "tessera/app/black_box/last_states.h"

#include <algorithm>
#include <utility>

#include "tessera/base/index.h"

namespace tessera::app {

PackedState::PackedState(const md::Engine& engine) {
  const auto own = engine.atoms();
  global_ = engine.global();
  const auto n = at(own.n_atoms);
  id_.reserve(n), position_.reserve(n), velocity_.reserve(n);
  for (const auto& field : own.fields)
    fields_.push_back({field.name, field.width, {}}), fields_.back().values.reserve(n);
  for (std::size_t slot = 0; slot < own.id.size(); ++slot) {
    if (own.id[slot] < 0) continue;  // padding
    const auto displacement = own.position[slot] - own.reference[slot];
    if (displacement_.empty() && !(displacement == Fraction{})) displacement_.resize(id_.size());
    if (!displacement_.empty()) displacement_.push_back(displacement);
    id_.push_back(own.id[slot]);
    position_.push_back(own.reference[slot]);
    velocity_.push_back(own.velocity[slot]);
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      const auto& [name, width, values] = own.fields[f];
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(slot * width);
      fields_[f].values.insert(fields_[f].values.end(), first, first + static_cast<std::ptrdiff_t>(width));
    }
  }
}

md::Snapshot PackedState::snapshot() const {
  md::Snapshot snapshot;
  static_cast<md::GlobalState&>(snapshot) = global_;
  snapshot.fields = fields_;
  snapshot.atoms.reserve(id_.size());
  for (std::size_t i = 0; i < id_.size(); ++i)
    snapshot.atoms.push_back(
        {id_[i], position_[i], velocity_[i], displacement_.empty() ? Fraction{} : displacement_[i]});
  return snapshot;
}

std::int64_t PackedState::bytes() const {
  std::size_t n = displacement_.capacity() * sizeof(Fraction);
  n += id_.capacity() * sizeof(std::int64_t) + position_.capacity() * sizeof(Fraction);
  n += velocity_.capacity() * sizeof(md::Velocity);
  for (const auto& field : fields_) n += field.values.capacity() * sizeof(double);
  return static_cast<std::int64_t>(n);
}

void LastStates::start(Simulation& simulation) {
  first_ = simulation.current_step();
  keep(simulation);
}

void LastStates::after_step(Simulation& simulation) {
  last_step_ = simulation.current_step();
  if (last_step_ - newer_->step() >= every && simulation.engine().global().last_search == last_step_) keep(simulation);
}

std::int64_t LastStates::bytes() const { return (older_ ? older_->bytes() : 0) + (newer_ ? newer_->bytes() : 0); }

std::vector<const PackedState*> LastStates::before_failure() const {
  std::vector<const PackedState*> states;
  if (!older_ || newer_->step() <= last_step_ - least_age) states.push_back(&*newer_);
  if (older_) states.push_back(&*older_);
  return states;
}

void LastStates::keep(const Simulation& simulation) {
  origin_ = simulation.origin();
  last_step_ = simulation.current_step();
  older_.reset();  // first, as three need more room than two
  older_ = std::exchange(newer_, std::nullopt);
  newer_.emplace(simulation.engine());
  boxes_.push_back({last_step_, simulation.engine().global().box});
  if (boxes_.size() > most_boxes) boxes_.pop_front();
}

}  // namespace tessera::app
