// Pairs of listed clusters in double precision: the oracle of the fast kernels, what precision = "double" runs, and
// what the fast kernel hands over.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/md/accumulator.h"
#include "tessera/md/pair/functions.h"
#include "tessera/md/pair/pair_list.h"

namespace tessera::md::pair {

class ExactPairs {
 public:
  /// `type_pairs` (types × types); references must outlive this.
  ExactPairs(const domain::Domain& domain, const PairSettings& settings, std::span<const double> charge,
             std::span<const std::int32_t> type, std::span<const model::LennardJonesAB> type_pairs,
             std::int32_t n_types);

  enum class ExclusionEnergy { add, leave_out };
  /// Adds forces, energies and virial of all pairs of an entry; the energies of excluded pairs where asked to.
  void add(std::int32_t i_cluster, const std::array<float, 3>& shift, const MaskedEntry& entry,
           ExclusionEnergy exclusion_energy, Accumulator& accumulator) const;
  /// Adds only the energies of an entry's excluded pairs.
  void add_exclusion_energies(std::int32_t i_cluster, const std::array<float, 3>& shift, const MaskedEntry& entry,
                              EnergyVirial& energies) const;

 private:
  Vec3 relative(std::int32_t slot) const;
  Vec3 exact_shift(const std::array<float, 3>& shift) const;
  void add_pair(std::int32_t i, std::int32_t j, const Vec3& d, bool excluded, ExclusionEnergy exclusion_energy,
                Accumulator& accumulator) const;

  const domain::Domain& domain_;
  const PairSettings& settings_;
  std::span<const double> charge_;
  std::span<const std::int32_t> type_;
  std::span<const model::LennardJonesAB> type_pairs_;
  std::int32_t n_types_;
  Vec3 scale_;                      // Å a fraction unit
  std::vector<std::int32_t> cell_;  // of each cluster
};

}  // namespace tessera::md::pair
