// Computes forces, energies and virial of all bonded terms.
#pragma once

#include <span>

#include "tessera/md/bonded/tables.h"

namespace tessera::md::bonded {

/// Adds thread `thread`'s share, of `n_threads`, of every list. `charge`: (slots) e; it may be empty if there are no
/// 1-4 pairs.
void add_all(const Box&, Positions, std::span<const double> charge, const LocalTerms&, const ForceTables&, int thread,
             int n_threads, Accumulator&);

}  // namespace tessera::md::bonded
