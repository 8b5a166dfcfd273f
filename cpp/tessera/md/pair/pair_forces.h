// Non-bonded forces of a rank: parameters, the pair list, and the scheme that runs over it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/md/accumulator.h"
#include "tessera/md/domain/domain.h"
#include "tessera/md/pair/cluster_kernel.h"
#include "tessera/md/pair/exact_pairs.h"
#include "tessera/md/pair/functions.h"
#include "tessera/md/pair/pair_list.h"

namespace tessera::md::pair {

class PairForces;

/// One way to sum the pair list: an entry of the registry.
struct PairScheme {
  std::string_view name;
  std::string_view description;
  /// Adds the forces of all listed pairs to each thread's accumulator.
  void (*run)(PairForces& forces, std::span<Accumulator> by_thread);
};

/// All schemes, the default of each precision first.
std::span<const PairScheme> pair_schemes();
/// The scheme of this name; "auto" chooses by precision alone, so that bits don't depend on timing. Throws InputError.
const PairScheme& find_pair_scheme(std::string_view name, bool double_precision);

/// How long a pair list lasts. Each atom is given a reach by how fast it moves; the list is made anew when one has gone
/// beyond.
struct ListSettings {
  double steps = 4;         // about so many; more: longer lists, made less often
  double timestep = 0.002;  // ps
  double most_reach = 1.5;  // Å
};

class PairForces {
 public:
  PairForces(const domain::Domain& domain, const PairSettings& settings, const ListSettings& list,
             const PairScheme& scheme, ThreadPool& threads);

  /// Parameters and exclusions by slot after the domain was rebuilt.
  void rebuild();
  /// Coordinates for the kernels from the domain's positions, and a new list where atoms have moved too far for the
  /// last one. Which list it is doesn't change a bit of the forces: pairs beyond the cut-off add zeros.
  void update();
  void add_forces(std::span<Accumulator> by_thread) { scheme_.run(*this, by_thread); }

  const PairSettings& settings() const { return settings_; }
  const PairScheme& scheme() const { return scheme_; }
  const domain::Domain& domain() const { return domain_; }
  const PairList& list() const { return list_; }
  std::int64_t n_lists() const { return n_lists_; }  // made so far
  const std::vector<ClusterData>& clusters() const { return clusters_; }
  std::span<const double> charge() const { return charge_; }    // by slot, e; padding 0
  std::span<const std::int32_t> type() const { return type_; }  // by slot; padding −1
  double ewald_force_error() const { return constants_.ewald_force_error; }
  std::span<const float> reach() const { return reach_; }  // by slot, Å: how far it may move before the next list
  /// Energy and one diagonal component of the virial of the long-range Lennard-Jones tail (times the number density).
  TailIntegral tail() const;
  std::size_t bytes() const;

 private:
  friend void run_cluster_scheme(PairForces& forces, std::span<Accumulator> by_thread);
  friend void run_reference_scheme(PairForces& forces, std::span<Accumulator> by_thread);

  /// Of a cluster's atoms, Å relative to the cell's centre.
  struct Places {
    float x[cluster_size], y[cluster_size], z[cluster_size];
  };

  ExactPairs exact_pairs() const;
  void make_tables();
  void find_exclusions();
  bool update_coordinates();
  void set_reach();

  const domain::Domain& domain_;
  PairSettings settings_;
  ListSettings list_settings_;
  const PairScheme& scheme_;
  ThreadPool& threads_;
  PreparedConstants constants_;
  std::vector<float> table_12a_, table_6b_;        // (types × types), force units
  std::vector<model::LennardJonesAB> type_pairs_;  // (types × types)
  TablePairs table_pairs_;
  std::vector<std::vector<std::int32_t>> template_partner_begin_, template_partner_;  // excluded partners by template
  std::vector<double> charge_;
  std::vector<std::int32_t> type_;
  std::vector<ClusterData> clusters_;
  ExcludedClusters exclusions_;
  PairLister lister_;
  PairList list_;
  std::vector<Places> listed_;   // by cluster: where its atoms were when the list was made
  std::vector<float> stride_;    // by slot, Å: how far it moved in the last step
  std::vector<float> mobility_;  // by slot: of its change of velocity, by mass; hydrogen 1
  std::vector<float> reach_;     // by slot
  bool is_listed_ = false;       // since the last rebuild()
  std::int64_t n_lists_ = 0;
  std::vector<std::vector<ClusterForces>> kernel_force_;  // by thread
  std::vector<std::vector<Clash>> clashes_;               // by thread
};

}  // namespace tessera::md::pair
