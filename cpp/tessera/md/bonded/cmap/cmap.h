// Declares CMAP corrections, which are energies of two dihedral angles from a table.
#pragma once

#include "tessera/md/bonded/cmap/cmap_table.h"
#include "tessera/md/bonded/kernel.h"

namespace tessera::md::bonded {

template <>
struct Kernel<model::Cmap> {
  using Row = CmapTable;
  static Row prepare(const model::CmapParameter& p, const model::ForceField&) { return make_cmap_table(p); }
  static constexpr std::size_t key_atom = 2;
  static constexpr auto made_constant = MadeConstant::never;
  static constexpr std::array reported_as = {Term::cmap};
  static void add(const Atoms&, const TermList<8>&, std::int64_t begin, std::int64_t end, std::span<const Row>,
                  Accumulator&);
};

}  // namespace tessera::md::bonded
