// Non-bonded forces of a rank: its atoms as kernels see them, how long a list lasts, and the scheme that sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tessera/md/pair/pair_scheme.h"

namespace tessera::md::pair {

/// How long a pair list lasts. Each atom is given a reach by how fast it moves; the list is made anew when one has gone
/// beyond.
struct ListSettings {
  double steps = 4;         // about so many; more: longer lists, made less often
  double timestep = 0.002;  // ps
  double most_reach = 1.5;  // Å
};

/// How far an atom may go from where it was listed, Å, by its last step (Å) and by how much its velocity may turn out
/// different: `typical` is the root mean square of all steps, `mobility` is by mass (hydrogen 1).
/// Figures: docs/decisions/0010.
inline float reach_of(const ListSettings& list, float stride, float typical, float mobility) {
  return std::min(static_cast<float>(list.most_reach),
                  static_cast<float>(list.steps) * (0.8f * stride + 2.0f * typical * mobility));
}
/// By mass, amu.
inline float mobility_of(double mass) { return static_cast<float>(std::min(1.0, 1 / std::cbrt(mass))); }

class PairForces {
 public:
  PairForces(const domain::Domain& domain, const PairSettings& settings, const ListSettings& list,
             const PairScheme& scheme, ThreadPool& threads);

  PairForces(const PairForces&) = delete;  // the scheme refers to the data
  PairForces& operator=(const PairForces&) = delete;

  /// Parameters and exclusions by slot after the domain was rebuilt.
  void rebuild();
  /// After the box of the state has changed from `before` without a search: the last list holds for less far.
  void set_box(const Box& before);
  /// How far an atom may go from where it was listed, at most, Å.
  void set_most_reach(double reach) { list_settings_.most_reach = reach; }
  /// Coordinates of owned atoms for the kernels from the domain's positions.
  void update_owned();
  /// After update_owned(): whether the last list still holds for owned atoms.
  bool list_holds() const { return is_listed_ && own_within_reach_.value_or(false); }
  /// Coordinates of all atoms, and a new list where one is asked for or atoms have moved too far for the last one.
  /// Which list it is doesn't change a bit of the forces: pairs beyond the cut-off add zeros.
  void update(bool make_list);
  /// Between the two, while halo positions are on their way: forces of pairs that do not need them, where the last list
  /// still holds for owned atoms. `meanwhile` is called now and then, by this thread. Adds nothing where there is no
  /// halo.
  void add_inner_forces(std::span<Accumulator> by_thread, const std::function<void()>& meanwhile);
  void add_forces(std::span<Accumulator> by_thread) { sum_->add_forces(by_thread); }

  const PairData& data() const { return data_; }
  const PairSettings& settings() const { return data_.settings; }
  const PairScheme& scheme() const { return scheme_; }
  const PairSum& sum() const { return *sum_; }
  std::int64_t n_lists() const { return n_lists_; }                  // made so far
  std::span<const double> charge() const { return data_.charge; }    // by slot, e; padding 0
  std::span<const std::int32_t> type() const { return data_.type; }  // by slot; padding −1
  /// Energy and one diagonal component of the virial of the long-range Lennard-Jones tail, times the volume of the box.
  TailIntegral tail() const;
  /// Beside those of the scheme.
  std::size_t bytes() const;
  /// The same with so many slots and ExcludedClusters::partners.
  static std::int64_t planned_bytes(std::int64_t slots, std::int64_t excluded_partners);

 private:
  /// Of a cluster's atoms, Å relative to the cell's centre.
  struct Places {
    float x[cluster_size], y[cluster_size], z[cluster_size];
  };

  void make_tables();
  void find_exclusions();
  bool update_coordinates(std::int64_t first_cell, std::int64_t last_cell);
  void set_reach();

  PairData data_;
  ListSettings list_settings_;
  const PairScheme& scheme_;
  std::unique_ptr<PairSum> sum_;
  std::vector<float> table_12a_, table_6b_;                                           // (types × types), force units
  std::vector<std::vector<std::int32_t>> template_partner_begin_, template_partner_;  // excluded partners by template
  std::vector<Places> listed_;            // by cluster: where its atoms were when the list was made
  std::vector<float> stride_;             // by slot, Å: how far it moved in the last step
  std::vector<float> mobility_;           // by slot: of its change of velocity, by mass; hydrogen 1
  bool is_listed_ = false;                // since the last rebuild()
  std::optional<bool> own_within_reach_;  // since update_owned(), until update()
  std::int64_t n_lists_ = 0;
};

}  // namespace tessera::md::pair
