#include "tessera/md/domain/sort_cell.h"

#include <algorithm>
#include <limits>

namespace tessera::md::domain {

namespace {

float extent(std::span<const CellAtom> atoms, std::size_t d) {
  const auto [low, high] = std::minmax_element(
      atoms.begin(), atoms.end(), [&](const CellAtom& a, const CellAtom& b) { return a.place[d] < b.place[d]; });
  return high->place[d] - low->place[d];
}

/// Returns the sum of the edges of the box around the atoms, which measures how much it adds to a cluster's reach,
/// averaged over directions.
float girth(std::span<const CellAtom> atoms) { return extent(atoms, 0) + extent(atoms, 1) + extent(atoms, 2); }

/// Moves the `left` atoms that come first along d to the left side.
void cut(std::span<CellAtom> atoms, std::size_t left, std::size_t d) {
  std::nth_element(atoms.begin(), atoms.begin() + static_cast<std::ptrdiff_t>(left), atoms.end(),
                   [&](const CellAtom& a, const CellAtom& b) {
                     return a.place[d] != b.place[d] ? a.place[d] < b.place[d] : a.id < b.id;
                   });
}

std::size_t widest(std::span<const CellAtom> atoms) {
  const std::array<float, 3> extents = {extent(atoms, 0), extent(atoms, 1), extent(atoms, 2)};
  return static_cast<std::size_t>(std::max_element(extents.begin(), extents.end()) - extents.begin());
}

/// Returns the direction in which a cut makes two clusters smallest.
std::size_t best_last_cut(std::span<CellAtom> atoms) {
  std::size_t best = 0;
  float least = std::numeric_limits<float>::infinity();
  for (std::size_t d = 0; d < 3; ++d) {
    cut(atoms, cluster_size, d);
    const float sum = girth(atoms.first(cluster_size)) + girth(atoms.subspan(cluster_size));
    if (sum < least) least = sum, best = d;
  }
  return best;
}

}  // namespace

void sort_cell(std::span<CellAtom> atoms) {
  if (atoms.size() <= cluster_size) {
    std::sort(atoms.begin(), atoms.end(), [](const CellAtom& a, const CellAtom& b) { return a.id < b.id; });
    return;
  }
  // The left side gets a whole number of clusters, so that only a cell's last cluster is padded.
  const std::size_t clusters = (atoms.size() + cluster_size - 1) / cluster_size;
  const std::size_t left = clusters / 2 * cluster_size;
  cut(atoms, left, clusters == 2 ? best_last_cut(atoms) : widest(atoms));
  sort_cell(atoms.first(left));
  sort_cell(atoms.subspan(left));
}

}  // namespace tessera::md::domain
