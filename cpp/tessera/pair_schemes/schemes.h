// Declares the pair schemes that go from cell to cell: lists of neighbours per atom and cell, or flags (cell_kernel.h).
#pragma once

#include <memory>

#include "tessera/md/pair/cells/cell_kernel.h"
#include "tessera/md/pair/pair_scheme.h"

namespace tessera::md::pair::cells {

template <Layout layout>
std::unique_ptr<PairSum> make_list_scheme(const PairData& data);
template <Layout layout>
std::unique_ptr<PairSum> make_cell_flag_scheme(const PairData& data);

PairBytes plan_list_scheme(const PairCounts& counts, const PairSettings& settings);
PairBytes plan_cell_flag_scheme(const PairCounts& counts, const PairSettings& settings);

}  // namespace tessera::md::pair::cells
