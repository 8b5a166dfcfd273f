// The textbook algorithms, each a member of the registry. What they share is in build.h and tree.h. To add one: a file with
// its plan and its entry, a line here and one in registry.cpp, and one in choose.cpp if MPI libraries choose it.
#pragma once

#include "tessera/collectives/registry.h"

namespace tessera::collectives {

extern const Entry star_entry;
extern const Entry k_ary_entry;
extern const Entry binomial_entry;
extern const Entry spanning_tree_entry;
extern const Entry ring_entry;
extern const Entry scatter_all_gather_entry;
extern const Entry recursive_doubling_entry;
extern const Entry recursive_halving_entry;
extern const Entry bruck_entry;
extern const Entry pairwise_entry;
extern const Entry linear_scan_entry;

}  // namespace tessera::collectives
