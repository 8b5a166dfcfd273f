// Finds the clusters in the neighbour cells that come near a given cluster; this is the inner loop of the pair list.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tessera/md/pair/clusters/cluster.h"

namespace tessera::md::pair {

/// This is half of the 5 × 5 × 5 neighbour cells, including the cell itself, which comes first.
inline constexpr int n_neighbour_cells = 63;

/// Holds axis-aligned boxes around clusters' atoms, Å relative to the cell's centre, the greatest reach of each
/// cluster's atoms, and the place and reach of an atom in its middle. Each has an array of its own, padded so that
/// whole registers may be read past the last cluster.
struct ClusterBounds {
  std::array<std::vector<float>, 3> lower, upper, middle;
  std::vector<float> reach, middle_reach;

  void resize(std::size_t clusters) {
    const auto make_room = [&](std::vector<float>& values) {
      values.reserve(clusters + 16);  // resize() alone may take twice that
      values.resize(clusters + 16);
    };
    for (auto* places : {&lower, &upper, &middle})
      for (auto& place : *places) make_room(place);
    make_room(reach);
    make_room(middle_reach);
  }
  std::size_t bytes() const { return 11 * reach.capacity() * sizeof(float); }
  static double planned_bytes(double clusters) { return 11 * (clusters + 16) * static_cast<double>(sizeof(float)); }
};

/// Lists the clusters of the cells that a cell's clusters are paired with, by neighbour cell. Cells that are not in the
/// list have no clusters.
struct alignas(64) PartnerCells {
  static constexpr std::size_t room = 64;  // a multiple of a register's lanes
  std::array<std::int32_t, room> begin{}, end{};
};

/// Adds the vectors to these cells and boxes around their atoms (Å relative to the first cell's centre).
struct NeighbourCells : PartnerCells {
  std::array<std::array<float, room>, 3> shift{}, lower{}, upper{};
  std::array<float, room> reach{};
};

/// Combines a cluster and the number of its neighbour cell: cluster · 64 + neighbour cell.
using PairEntry = std::uint32_t;
inline constexpr int cell_bits = 6;
inline constexpr std::int64_t most_clusters = std::int64_t{1} << (32 - cell_bits);  // 268 million atoms a rank
static_assert(n_neighbour_cells <= 1 << cell_bits);
constexpr std::int32_t cluster_of(PairEntry entry) { return static_cast<std::int32_t>(entry >> cell_bits); }
constexpr std::size_t cell_of(PairEntry entry) { return entry % (1u << cell_bits); }

/// Lists the clusters of the neighbour cells that come near some cluster of a cell, in the order of the cells; each
/// cluster of the cell searches only these. Boxes are relative to the centre of the cell.
struct Candidates : ClusterBounds {
  std::vector<PairEntry> entry;
  std::size_t n = 0;

  void reserve(std::size_t clusters) {
    if (entry.size() >= clusters + 16) return;
    resize(clusters);
    entry.resize(clusters + 16);
  }
};

/// Refers to the clusters that find_near_clusters() searches. `reach` (4·clusters) is how far each atom may still move.
struct ClusterSet {
  const ClusterData* clusters;
  const float* reach;
  const ClusterBounds& bounds;
};

/// Marks candidates, by index.
class CandidateMarks {
 public:
  void reserve(std::size_t candidates) { bits_.resize(std::max(bits_.size(), candidates / 8 + 8)); }
  void set(std::size_t place) { bits_[place / 8] |= static_cast<std::uint8_t>(1u << (place % 8)); }
  void clear(std::size_t place) { bits_[place / 8] = 0; }
  /// Returns sixteen candidates from `first` on: bit k is that of index first + k.
  std::uint32_t sixteen(std::size_t first) const {
    std::uint32_t bits;
    std::memcpy(&bits, bits_.data() + first / 8, sizeof bits);
    return bits >> (first % 8) & 0xFFFF;
  }

 private:
  std::vector<std::uint8_t> bits_;
};

/// Lists the clusters near a given one. Each array needs room for 16 more entries than there are candidates.
struct NearClusters {
  PairEntry* plain;                        // certainly near
  std::vector<PairEntry> marked, unclear;  // marked and possibly near; scratch
  std::size_t n_plain = 0, n_marked = 0;
};

/// Holds a box around a cell's atoms, Å relative to its centre, and their greatest reach.
struct CellBox {
  std::array<float, 3> lower, upper;
  float reach;
};

/// Finds the clusters of neighbour cells that may come near a cluster of the cell with this box.
void find_candidates(const CellBox& box, const NeighbourCells& cells, const ClusterBounds& bounds, float cutoff,
                     Candidates& candidates);

/// Finds the candidates, from index `first` on, that have an atom j closer than cutoff + reach_i + reach_j to an atom i
/// of cluster `i`: by bounding boxes and the distance of the atoms in the middle first, then by all 16 distances.
/// Marked candidates are listed apart, and only their boxes are tested.
void find_near_clusters(std::int32_t i, std::size_t first, const Candidates& candidates, const NeighbourCells& cells,
                        const ClusterSet& set, const CandidateMarks& marks, float cutoff, NearClusters& near);

}  // namespace tessera::md::pair
