// Which forces are summed together. A group has its own array of forces and its own virial, so that an integrator may
// apply groups at different times; by default all forces are one group, which costs nothing.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>

namespace tessera::md {

/// What computes forces.
enum class ForceSource : std::size_t { bonded, direct, mesh, external };
inline constexpr std::size_t n_force_sources = 4;

/// The group of each source, counted from 0 without gaps.
struct ForceGroups {
  std::array<std::size_t, n_force_sources> group_of{};

  std::size_t operator[](ForceSource source) const { return group_of[static_cast<std::size_t>(source)]; }
  std::size_t size() const { return *std::max_element(group_of.begin(), group_of.end()) + 1; }
};

/// Some of the groups, by number.
using GroupSet = std::bitset<n_force_sources>;
inline constexpr GroupSet all_groups{(1U << n_force_sources) - 1};

}  // namespace tessera::md
