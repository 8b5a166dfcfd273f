// The order of a cell's atoms, by which every four of them are a compact cluster.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace tessera::md::domain {

inline constexpr int cluster_size = 4;

/// An atom to be sorted.
struct CellAtom {
  std::array<float, 3> place;  // Å, relative to the cell's centre
  std::int32_t source;         // what the caller knows it by
  std::int64_t id;
};

/// Orders a cell's atoms so that every four form a compact cluster: bisection along the widest extent, the last time
/// along the edge that leaves the two clusters smallest; ties by id.
void sort_cell(std::span<CellAtom> atoms);

}  // namespace tessera::md::domain
