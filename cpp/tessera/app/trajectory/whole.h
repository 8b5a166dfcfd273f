// Molecules that are put together, though the box cuts them at its faces.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/model/system.h"

namespace tessera::app {

/// An order of a molecule's atoms in which each comes after one that it is bonded to (`parent`), which is itself where
/// it is the first. A fragment that no bond joins to the rest follows the molecule's first atom.
struct BondTree {
  std::vector<std::int32_t> order, parent;
  int n_fragments = 0;
};

/// Makes the tree of a template's bonds, without bonds to atoms of other units.
BondTree make_bond_tree(const model::Template& molecule);

/// Finds the atoms of a bond between two units of a chain that follow each other, if there is one: by distance from the
/// first atom of the second.
std::optional<std::array<std::int64_t, 2>> find_link(const model::Template& before, const model::Template& unit);

/// Returns whether bonds join the atoms of each unit of a chain, and each unit to the next, so that every part of it
/// can be put together by itself.
bool is_strung(const model::System& system, const model::Chain& chain);

}  // namespace tessera::app
