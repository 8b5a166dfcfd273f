// The last good states of a run, in memory: from them, the steps before a failure are done once more, which comes out
// the same to the last bit.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/app/simulation.h"

namespace tessera::app {

inline constexpr std::string_view memory_of_last_states = "last good states";  // among the owners of reports

/// This rank's part of a state, in 32 bytes an atom where it is that of a pair search.
class PackedState {
 public:
  PackedState() = default;
  explicit PackedState(const md::Engine& engine);

  std::int64_t step() const { return global_.step; }
  md::Snapshot snapshot() const;
  std::int64_t bytes() const;
  /// Returns what bytes() would be of so many atoms without fields.
  static constexpr std::int64_t planned_bytes(std::int64_t atoms) {
    return atoms * static_cast<std::int64_t>(sizeof(std::int64_t) + sizeof(Fraction) + sizeof(md::Velocity));
  }

 private:
  md::GlobalState global_;
  std::vector<std::int64_t> id_;
  std::vector<Fraction> position_;  // at the last search
  std::vector<md::Velocity> velocity_;
  std::vector<Fraction> displacement_;  // since then; empty where there is none
  std::vector<md::AtomField> fields_;
};

class LastStates final : public Observer {
 public:
  /// A copy after the first pair search that comes so many steps after the copy before is lost among what steps cost,
  /// and as many steps are soon done again.
  static constexpr std::int64_t every = 100;
  /// A state that is not so many steps older than a failure may have its cause in it already.
  static constexpr std::int64_t least_age = 20;
  static constexpr std::int64_t most_kept = 2;
  /// So many boxes are kept, which cost nothing: a box that collapses takes longer than what follows from it.
  static constexpr std::size_t most_boxes = 10;

  void start(Simulation& simulation) override;
  void after_step(Simulation& simulation) override;

  bool is_empty() const { return !newer_; }
  std::int64_t first_step() const { return first_; }     // of the run
  std::int64_t last_step() const { return last_step_; }  // that was completed
  const std::optional<Origin>& origin() const { return origin_; }
  std::int64_t bytes() const;
  /// Returns this rank's parts of the states to go back to, first that which is tried first: the newest that is old
  /// enough, and then the one before; the last alone where it is all there is.
  std::vector<const PackedState*> before_failure() const;

  struct BoxOfStep {
    std::int64_t step;
    Box box;
  };
  /// Returns the boxes of the last states and some before them, in their order.
  const std::deque<BoxOfStep>& boxes() const { return boxes_; }

 private:
  void keep(const Simulation& simulation);

  std::optional<PackedState> older_, newer_;
  std::optional<Origin> origin_;
  std::deque<BoxOfStep> boxes_;
  std::int64_t first_ = 0, last_step_ = 0;
};

}  // namespace tessera::app
