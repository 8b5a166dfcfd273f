// Prepares force-field tables for the loops, with everything that depends on parameters alone.
//
// Units: Å, kcal/mol, elementary charge, radian.
#pragma once

#include <vector>

#include "tessera/md/bonded/angle/angle.h"
#include "tessera/md/bonded/angle/cosine.h"
#include "tessera/md/bonded/bond/bond.h"
#include "tessera/md/bonded/bond/quartic.h"
#include "tessera/md/bonded/cmap/cmap.h"
#include "tessera/md/bonded/dihedral/cosine.h"
#include "tessera/md/bonded/dihedral/harmonic.h"
#include "tessera/md/bonded/dihedral/ryckaert_bellemans.h"
#include "tessera/md/bonded/pair_14/pair_14.h"

namespace tessera::md::bonded {

template <class Kind>
using RowsOf = std::vector<typename Kernel<Kind>::Row>;
using ForceTables = model::ByKind<RowsOf>;

/// Throws InputError if a row can't be used: a multiplicity that is not an integer, or a CMAP grid of a wrong size.
ForceTables make_force_tables(const model::ForceField&);

}  // namespace tessera::md::bonded
