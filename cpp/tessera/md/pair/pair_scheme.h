// The ways of finding near pairs and summing over them: what each is given, what it must do, and the registry of all.
//
// Every scheme works from the same data and gives the same forces up to rounding. Within a scheme bits depend on
// neither ranks nor threads: floating point inside a pair of clusters or of atoms, fixed point beyond. Which scheme
// runs decides bits, so the default follows from precision and function, never from timing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/md/accumulator.h"
#include "tessera/md/domain/domain.h"
#include "tessera/md/pair/cluster_kernel.h"
#include "tessera/md/pair/functions.h"
#include "tessera/md/pair/pair_list.h"

namespace tessera::md::pair {

/// A rank's atoms as all schemes see them; PairForces keeps it.
struct PairData {
  const domain::Domain& domain;
  ThreadPool& threads;
  const PairSettings settings;
  PreparedConstants constants{};
  std::vector<model::LennardJonesAB> type_pairs{};  // (types × types)
  TablePairs table_pairs{};

  // After each sort.
  std::vector<double> charge{};         // by slot, e; padding 0
  std::vector<std::int32_t> type{};     // by slot; padding −1
  std::vector<ClusterData> clusters{};  // coordinates: each step
  ExcludedClusters exclusions{};
  std::vector<float> reach{};  // by slot, Å: how far it may move before the next list
};

/// A scheme at work on one rank. Made once; its data outlive it.
class PairSum {
 public:
  virtual ~PairSum() = default;
  /// Atoms have been sorted into cells anew; an update(true) follows.
  virtual void rebuild() {}
  /// The box has changed between searches: cells have moved apart or together.
  virtual void set_box() = 0;
  /// Atoms have moved. Where asked to, lists anew the pairs that may come within the cut-off as long as no atom moves
  /// further than its reach.
  virtual void update(bool make_list) = 0;
  /// Adds forces and energies of pairs that need no halo atom, by the last list; add_forces() then adds the rest. What
  /// is such a pair doesn't depend on the list. A scheme that leaves all to add_forces() has nothing to do. `meanwhile`
  /// is called now and then by the thread that called this.
  virtual void add_inner_forces(std::span<Accumulator> /*by_thread*/, const std::function<void()>& /*meanwhile*/) {}
  /// Adds the forces (and energies where an accumulator wants them) of all pairs within the cut-off.
  virtual void add_forces(std::span<Accumulator> by_thread) = 0;
  /// Pairs of atoms that add_forces() evaluates, near or not.
  virtual std::int64_t n_evaluated() const = 0;
  /// Bytes of the list of near pairs, and of everything that the scheme holds beside it.
  virtual std::size_t list_bytes() const = 0;
  virtual std::size_t other_bytes() const = 0;
};

/// What the lists of a rank are made of, as a plan expects it (md/memory).
struct PairCounts {
  int threads = 1;
  double slots = 0, cells = 0;  // owned and halo
  double rows = 0;              // clusters that have others near
  double cluster_pairs = 0;     // near, masked ones among them
  double masked_pairs = 0;
  double atom_pairs = 0;        // near
  double atoms_and_cells = 0;   // pairs of an atom and a cell near it
  double slots_near_share = 0;  // near what one thread lists
};
/// Bytes of PairSum, and the slots that a thread beyond the first adds to through its accumulator.
struct PairBytes {
  double list = 0, other = 0, slots_of_thread = 0;
};

/// An entry of the registry.
struct PairScheme {
  std::string_view name;
  std::string_view description;
  Precision precision;
  bool has_table;  // knows PairFunction::table beside the analytic one
  std::unique_ptr<PairSum> (*make)(const PairData& data);
  PairBytes (*plan)(const PairCounts& counts, const PairSettings& settings);

  bool serves(Precision least, PairFunction function) const {
    return precision >= least && (has_table || function == PairFunction::analytic);
  }
};

/// All schemes, those preferred first.
std::span<const PairScheme> pair_schemes();
/// The scheme of this name; "auto" is the first that has this precision and function. Throws InputError where the named
/// one has not.
const PairScheme& find_pair_scheme(std::string_view name, Precision precision, PairFunction function);

}  // namespace tessera::md::pair
