// Defines the interface of pair schemes, which find near pairs and sum their forces, and the registry of all schemes.
//
// All schemes work from the same data and give the same forces up to rounding. Within a scheme the result depends on
// neither ranks nor threads to the bit: sums are in floating point inside a pair of clusters or of atoms and in fixed
// point beyond. The scheme does affect bits, so the default follows from precision and function, never from timings.
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
#include "tessera/md/pair/clusters/cluster_kernel.h"
#include "tessera/md/pair/functions.h"
#include "tessera/md/pair/pair_list.h"
#include "tessera/md/pair/potentials/short_range.h"

namespace tessera::md::pair {

/// Holds a rank's atoms as all schemes read them; PairForces owns it.
struct PairData {
  const domain::Domain& domain;
  ThreadPool& threads;
  const PairSettings settings;
  PreparedConstants constants{};
  ShortRange short_range{domain.system().force_field, settings};
  TablePairs table_pairs{};

  // These are set after each search.
  std::vector<double> charge{};         // by slot, e; padding 0
  std::vector<std::int32_t> type{};     // by slot; padding −1
  std::vector<ClusterData> clusters{};  // coordinates are updated each step
  ExcludedClusters exclusions{};
  std::vector<float> reach{};  // by slot, Å: how far it may move before the next list
};

/// Runs a scheme on one rank. It is constructed once; its data must outlive it.
class PairSum {
 public:
  virtual ~PairSum() = default;
  /// Is called after atoms have been sorted into cells again; an update(true) follows.
  virtual void rebuild() {}
  /// Is called after the box has changed between searches, which moves cells apart or together.
  virtual void set_box() = 0;
  /// Is called after atoms have moved. If requested, makes a new list of the pairs that may come within the cut-off as
  /// long as no atom moves further than its reach.
  virtual void update(bool make_list) = 0;
  /// Adds forces and energies of pairs that need no halo atom, by the last list; add_forces() then adds the rest. The
  /// set of such pairs does not depend on the list. A scheme may do nothing here and leave all pairs to add_forces().
  /// The calling thread calls `meanwhile` now and then.
  virtual void add_inner_forces(std::span<Accumulator> /*by_thread*/, const std::function<void()>& /*meanwhile*/) {}
  /// Adds the forces, and the energies for accumulators that want them, of all pairs within the cut-off.
  virtual void add_forces(std::span<Accumulator> by_thread) = 0;
  /// Returns the number of pairs of atoms that add_forces() evaluates, including those beyond the cut-off.
  virtual std::int64_t n_evaluated() const = 0;
  /// Returns the bytes of the list of near pairs, and of everything else that the scheme holds.
  virtual std::size_t list_bytes() const = 0;
  virtual std::size_t other_bytes() const = 0;
};

/// Holds the expected sizes of the lists of a rank (md/memory).
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
/// Holds the bytes of a PairSum, and the slots that a thread beyond the first adds to through its accumulator.
struct PairBytes {
  double list = 0, other = 0, slots_of_thread = 0;
};

/// Describes a scheme in the registry.
struct PairScheme {
  std::string_view name;
  std::string_view description;
  Precision precision;
  bool has_table;    // supports PairFunction::table beside the analytic one
  bool is_complete;  // supports LjModifier::pme, and pair potentials in place of Lennard-Jones
  std::unique_ptr<PairSum> (*make)(const PairData& data);
  PairBytes (*plan)(const PairCounts& counts, const PairSettings& settings);

  bool serves(Precision least, PairFunction function, LjModifier lj, bool with_potentials) const {
    return precision >= least && (has_table || function == PairFunction::analytic) &&
           (is_complete || (lj != LjModifier::pme && !with_potentials));
  }
};

/// Returns all schemes, preferred ones first.
std::span<const PairScheme> pair_schemes();
/// Returns the scheme of this name; "auto" means the first with this precision, function and Lennard-Jones modifier,
/// for a system with pair potentials or without. Throws InputError if the named one does not have them.
const PairScheme& find_pair_scheme(std::string_view name, Precision precision, PairFunction function,
                                   LjModifier lj = LjModifier::cut, bool with_potentials = false);

}  // namespace tessera::md::pair
