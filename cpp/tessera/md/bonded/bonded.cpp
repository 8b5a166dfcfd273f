#include "tessera/md/bonded/bonded.h"

namespace tessera::md::bonded {

void add_all(const Lattice& lattice, Positions position, std::span<const double> charge, const LocalTerms& terms,
             const ForceTables& tables, int thread, int n_threads, Accumulator& accumulator) {
  // Each list is cut by itself: its terms cost the same, so the shares do too.
  const auto share = [&](const auto& list, auto&& add) {
    const std::int64_t n = list.size();
    const std::int64_t begin = n * thread / n_threads, end = n * (thread + 1) / n_threads;
    if (begin < end) add(list, begin, end);
  };
  const auto with = [&](auto* add, const auto& table) {
    return [&, add](const auto& list, std::int64_t begin, std::int64_t end) {
      add(lattice, position, list, begin, end, table, accumulator);
    };
  };
  share(terms.bond, with(add_bonds, tables.bond));
  share(terms.angle, with(add_angles, tables.angle));
  share(terms.urey_bradley, with(add_urey_bradleys, tables.urey_bradley));
  share(terms.dihedral, with(add_dihedrals, tables.dihedral));
  share(terms.dihedral_rb, with(add_dihedrals_rb, tables.dihedral_rb));
  share(terms.improper_harmonic, with(add_impropers_harmonic, tables.improper_harmonic));
  share(terms.improper_periodic, with(add_impropers_periodic, tables.improper_periodic));
  share(terms.cmap, with(add_cmaps, tables.cmap));
  share(terms.pair_14, [&](const TermList<2>& list, std::int64_t begin, std::int64_t end) {
    add_pairs_14(lattice, position, charge, list, begin, end, tables.pair_14, accumulator);
  });
}

}  // namespace tessera::md::bonded
