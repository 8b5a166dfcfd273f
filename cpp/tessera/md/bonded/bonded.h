// Computes forces, energies and virial of all bonded terms.
#pragma once

#include <span>

#include "tessera/md/bonded/tables.h"

namespace tessera::md::bonded {

/// Says of which kinds terms are added: all, or those that a device leaves to processors, or those that it computes.
enum class KindsToAdd { all, left_by_device, of_device };

/// Adds thread `thread`'s share, of `n_threads`, of every list of such a kind. `charge`: (slots) e; it may be empty if
/// there are no 1-4 pairs.
void add_all(const Box&, Positions, std::span<const double> charge, const LocalTerms&, const ForceTables&, int thread,
             int n_threads, Accumulator&, KindsToAdd = KindsToAdd::all);

}  // namespace tessera::md::bonded
