// Forces, energies and virial of all bonded terms.
#pragma once

#include <span>

#include "tessera/md/bonded/tables.h"

namespace tessera::md::bonded {

/// Thread `thread` of `n_threads` adds its share of every list. `charge`: (slots) e, may be empty where there are no
/// 1-4 pairs.
void add_all(const Box&, Positions, std::span<const double> charge, const LocalTerms&, const ForceTables&, int thread,
             int n_threads, Accumulator&);

}  // namespace tessera::md::bonded
