// Computes pairs in double precision. Tests compare the fast kernels with it, precision = "double" runs it, and the
// fast kernel leaves clashing pairs to it.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/md/accumulator.h"
#include "tessera/md/pair/pair_data.h"

namespace tessera::md::pair {

class ExactPairs {
 public:
  /// Keeps a reference to the data, which must outlive this.
  explicit ExactPairs(const PairData& data);

  enum class ExclusionEnergy { add, leave_out };
  /// Adds forces, energies and virial of all pairs of an entry, and the energies of excluded pairs if requested.
  void add(std::int32_t i_cluster, const MaskedEntry& entry, ExclusionEnergy exclusion_energy,
           Accumulator& accumulator) const;
  /// Adds only the energies of an entry's excluded pairs.
  void add_exclusion_energies(std::int32_t i_cluster, const MaskedEntry& entry, EnergyVirial& energies) const;
  /// Adds forces, energies and virial of one pair of atoms. The second is in the cell at this offset of the half shell.
  void add(std::int32_t i, std::int32_t j, std::size_t offset, bool excluded, ExclusionEnergy exclusion_energy,
           Accumulator& accumulator) const;

 private:
  void add_exclusion_energy(std::int32_t i, std::int32_t j, std::size_t offset, EnergyVirial& energies) const;
  Vec3 relative(std::int32_t slot) const;
  double dispersion_of(std::int32_t i, std::int32_t j) const;
  void add_pair(std::int32_t i, std::int32_t j, const Vec3& d, bool excluded, ExclusionEnergy exclusion_energy,
                Accumulator& accumulator) const;

  const PairData& data_;
  const domain::Domain& domain_;
  const PairSettings& settings_;
  std::vector<std::int32_t> cell_;   // of each cluster
  Triangular to_length_;             // Å per unit of Fraction
  double dispersion_at_cutoff_ = 0;  // of dispersion_without_mesh(), kcal/mol for C = 1
  std::vector<Vec3> shift_;          // Å, by offset of the half shell
};

}  // namespace tessera::md::pair
