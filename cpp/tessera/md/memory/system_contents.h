// What a rank's memory follows from in a system: a few means over its atoms, from templates and their counts.
#pragma once

#include <cstdint>

#include "tessera/md/settings.h"
#include "tessera/model/system.h"

namespace tessera::md {

constexpr double cube(double x) { return x * x * x; }

struct SystemContents {
  std::int64_t n_atoms = 0;
  std::int64_t template_bytes = 0;  // with what is derived from templates, on every rank
  std::int64_t kinds_bytes = 0;     // of the kinds of constraint groups, on every rank

  // Means over atoms.
  double topology_bytes = 0;     // of the bonded terms and constraint groups that the constraints leave
  double bonded_slots = 0;       // that blocks of SparseForces cover where there are bonded terms, molecule by molecule
  double is_excluding = 0;       // 1 for an atom that some other is excluded from
  double excluded_clusters = 0;  // other clusters that an atom's cluster has excluded partners in, over its atoms
  double reach_speed = 0;        // Å/ps: how far a pair list lets an atom go, over the time that it is to last
  double table_pairs = 0;        // share of pairs of atoms that have parameters of their own
};

/// Throws InputError where the constraints can't be kept. Cost: that of the templates, whatever their counts.
SystemContents contents_of(const model::System& system, const EngineSettings& settings);

}  // namespace tessera::md
