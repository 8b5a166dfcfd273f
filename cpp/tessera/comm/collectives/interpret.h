// Carries out plans on symbols instead of numbers, so that every plan can be proved right without MPI: an element is
// the ordered list of contributions that it was made of. For tests.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tessera/comm/collectives/plan.h"

namespace tessera::comm::collectives {

/// An element of what a rank had to give: of its input in all-to-all, else of its output.
struct Contribution {
  int rank = 0;
  std::int64_t element = 0;

  friend auto operator<=>(const Contribution&, const Contribution&) = default;
};

/// The buffers of all ranks. An element may never have been written; in a barrier every element starts as the news that
/// its rank has come, and news adds up whatever the effect.
class Contents {
 public:
  /// As a plan finds them (plan.h, Buffer).
  Contents(const Problem& problem, std::int64_t scratch);

  /// What has become of an element, in the order of its operands; empty where nothing was ever written. Stops after a
  /// few more contributions than there are ranks.
  std::vector<Contribution> at(int rank, Buffer buffer, std::int64_t element) const;
  /// The ranks that this one has heard of, in a barrier.
  std::vector<bool> heard_by(int rank) const;

  /// The elements of a message as it leaves.
  std::vector<int> read(const Message& message);
  void write(const Message& message, const std::vector<int>& values);

  /// What no plan should do: reading what was never written, places outside of a buffer, waiting for ever. The first
  /// few.
  const std::vector<std::string>& faults() const { return faults_; }
  void add_fault(const std::string& fault);

 private:
  /// A contribution, or two values one after the other.
  struct Value {
    Contribution own;
    int left = -1;
    int right = -1;
  };
  int make(const Value& value);
  std::vector<int>& buffer(int rank, Buffer buffer);
  bool is_inside(const Message& message, int rank, Buffer buffer, std::int64_t begin);

  bool is_barrier_;
  int n_ranks_;
  std::vector<Value> values_;
  std::vector<std::array<std::vector<int>, 3>> buffers_;  // of each rank; index in values_, -1: never written
  std::vector<std::string> faults_;
};

/// Carries out the messages one by one, in the order of the plan.
Contents interpret(const Plan& plan, const Problem& problem);

/// Carries out each rank's actions in a random order that respects nothing but their dependencies, with messages found
/// by their tags. Some messages are taken from the sender when the receiver gets them, some wait on the way.
Contents interpret_at_random(const Plan& plan, const Problem& problem, std::mt19937_64& random);
/// The same, of actions given by rank.
Contents interpret_at_random(const std::vector<std::vector<Action>>& actions, std::int64_t scratch,
                             const Problem& problem, std::mt19937_64& random);

/// What is wrong with the result of a plan: missing, doubled, misplaced or misordered contributions, or a fault. Empty
/// where it is right.
std::string check_result(const Problem& problem, const Contents& contents);

}  // namespace tessera::comm::collectives
