// Molecules that are put together, though the box cuts them at its faces.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/model/system.h"

namespace tessera::app {

/// An order of a molecule's atoms in which each comes after one that it is bonded to (`parent`), which is itself where
/// it is the first. A fragment that no bond joins to the rest follows the molecule's first atom.
struct BondTree {
  std::vector<std::int32_t> order, parent;
};

BondTree make_bond_tree(const model::Template& molecule);

}  // namespace tessera::app
