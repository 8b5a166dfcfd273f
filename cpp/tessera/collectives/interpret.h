// Carries out plans on symbols instead of numbers, so that every plan can be proved right without MPI: an element is
// the ordered list of contributions that it was made of. For tests.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tessera/collectives/plan.h"

namespace tessera::collectives {

/// Names one element of what a rank contributes: of its input in all-to-all, else of its output.
struct Contribution {
  int rank = 0;
  std::int64_t element = 0;

  friend auto operator<=>(const Contribution&, const Contribution&) = default;
};

/// Holds the buffers of all ranks. An element may never have been written. In a barrier every element starts as the
/// notice that its rank has arrived, and notices are merged whatever the effect of a message is.
class Contents {
 public:
  /// Fills the buffers as a plan expects them (plan.h, Buffer).
  Contents(const CollectiveProblem& problem, std::int64_t scratch);

  /// Returns the contributions that an element consists of, in the order of its operands; none where nothing was ever
  /// written. It stops after a few more contributions than there are ranks.
  std::vector<Contribution> at(int rank, Buffer buffer, std::int64_t element) const;
  /// Returns, for each rank, whether this rank knows that it has arrived at the barrier.
  std::vector<bool> heard_by(int rank) const;

  /// Reads the elements that a message carries from its sender's buffer.
  std::vector<int> read(const PlannedMessage& message);
  void write(const PlannedMessage& message, const std::vector<int>& values);

  /// Lists what no plan may do: reading what was never written, addressing places outside of a buffer, waiting for
  /// ever. Only the first few faults are kept.
  const std::vector<std::string>& faults() const { return faults_; }
  void add_fault(const std::string& fault);

 private:
  /// An operand is either a contribution or two operands, one after the other.
  struct Operand {
    Contribution own;
    int left = -1;
    int right = -1;
  };
  int make(const Operand& value);
  std::vector<int>& buffer(int rank, Buffer buffer);
  bool is_inside(const PlannedMessage& message, int rank, Buffer buffer, std::int64_t begin);

  bool is_barrier_;
  int n_ranks_;
  std::vector<Operand> values_;
  std::vector<std::array<std::vector<int>, 3>> buffers_;  // of each rank; index in values_, -1: never written
  std::vector<std::string> faults_;
};

/// Carries out the messages one by one, in the order of the plan.
Contents interpret(const MessagePlan& plan, const CollectiveProblem& problem);

/// Carries out each rank's actions in a random order that respects nothing but their dependencies; messages are matched
/// by their tags. Some messages are read from the sender when the receiver takes them, others are buffered in between.
Contents interpret_at_random(const MessagePlan& plan, const CollectiveProblem& problem, std::mt19937_64& random);
/// Does the same for actions that are given by rank.
Contents interpret_at_random(const std::vector<std::vector<Action>>& actions, std::int64_t scratch,
                             const CollectiveProblem& problem, std::mt19937_64& random);

/// Says what is wrong with the result of a plan: missing, doubled, misplaced or misordered contributions, or a fault.
/// The text is empty where the result is right.
std::string check_result(const CollectiveProblem& problem, const Contents& contents);

}  // namespace tessera::collectives
