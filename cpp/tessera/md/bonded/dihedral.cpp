// Dihedrals, proper and improper, and CMAP corrections.
//
// Formula: k[1 + cos(nφ − δ)]; Σ Cₙ cosⁿ(φ − 180°); k(φ − φ₀)² with the difference in (−π, π]; U(φ, ψ) of a CmapTable.
//   cos nφ and sin nφ by adding φ again and again, so no trigonometric function is called for a cosine
// Source: geometry as Blondel and Karplus 1996 (dihedral-inl.h); Ryckaert, Bellemans, Chem. Phys. Lett. 30, 123 (1975),
//   10.1016/0009-2614(75)85513-8; CMAP in cmap_table.h
// Units: Å, kcal/mol, rad
// Cost: two square roots and two divisions a row, in lanes of double; one arctangent for a harmonic improper, two for a
//   CMAP
#include "tessera/md/bonded/bonded.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/bonded/dihedral.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/md/bonded/dihedral-inl.h"

#if HWY_ONCE

namespace tessera::md::bonded {

HWY_EXPORT(AddCosines);
HWY_EXPORT(AddRyckaertBellemans);
HWY_EXPORT(AddHarmonics);
HWY_EXPORT(AddCmaps);

void add_dihedrals(const Lattice& lattice, Positions position, const TermList<4>& terms, std::int64_t begin,
                   std::int64_t end, std::span<const CosineTerm> parameters, Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddCosines)(lattice, position, terms, begin, end, parameters, accumulator, Term::dihedral);
}

void add_impropers_periodic(const Lattice& lattice, Positions position, const TermList<4>& terms, std::int64_t begin,
                            std::int64_t end, std::span<const CosineTerm> parameters, Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddCosines)(lattice, position, terms, begin, end, parameters, accumulator, Term::improper);
}

void add_dihedrals_rb(const Lattice& lattice, Positions position, const TermList<4>& terms, std::int64_t begin,
                      std::int64_t end, std::span<const model::RyckaertBellemansParameter> parameters,
                      Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddRyckaertBellemans)(lattice, position, terms, begin, end, parameters, accumulator);
}

void add_impropers_harmonic(const Lattice& lattice, Positions position, const TermList<4>& terms, std::int64_t begin,
                            std::int64_t end, std::span<const HarmonicDihedral> parameters, Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddHarmonics)(lattice, position, terms, begin, end, parameters, accumulator);
}

void add_cmaps(const Lattice& lattice, Positions position, const TermList<8>& terms, std::int64_t begin,
               std::int64_t end, std::span<const CmapTable> tables, Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddCmaps)(lattice, position, terms, begin, end, tables, accumulator);
}

}  // namespace tessera::md::bonded

#endif
