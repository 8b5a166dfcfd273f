// Orders a cell's atoms so that every four of them form a compact cluster.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace tessera::md::domain {

inline constexpr int cluster_size = 4;

/// Describes an atom to be sorted.
struct CellAtom {
  std::array<float, 3> place;  // Å, relative to the cell's centre
  std::int32_t source;         // the caller's index of it
  std::int64_t id;
};

/// Orders a cell's atoms so that every four form a compact cluster: by bisection along the widest extent, and for the
/// last cut along the direction that makes the two clusters smallest. Ties are resolved by id.
void sort_cell(std::span<CellAtom> atoms);

}  // namespace tessera::md::domain
