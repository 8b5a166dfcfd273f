// Forces, energies and virial of bonded terms. Each function takes a range of its list, so that threads share it; the
// sums are in fixed point and do not depend on how it is shared. Energies and virial are skipped where
// `Accumulator::energies` is null.
//
// Terms are computed several at a time, one a lane of a vector register, in double precision, by the widest instruction
// set that the machine has. A term's bits do not depend on the terms beside it: ranges may cut a list anywhere.
//
// A slot's position may be in any image: differences are taken to the nearest one, so a term must be smaller than half
// of the box.
#pragma once

#include <cstdint>
#include <span>

#include "tessera/base/lattice.h"
#include "tessera/md/accumulator.h"
#include "tessera/md/bonded/tables.h"
#include "tessera/md/bonded/terms.h"

namespace tessera::md::bonded {

using Positions = std::span<const Fraction>;  // (slots)

void add_bonds(const Lattice&, Positions, const TermList<2>&, std::int64_t begin, std::int64_t end,
               std::span<const model::BondParameter>, Accumulator&);
void add_urey_bradleys(const Lattice&, Positions, const TermList<2>&, std::int64_t begin, std::int64_t end,
                       std::span<const model::BondParameter>, Accumulator&);
void add_angles(const Lattice&, Positions, const TermList<3>&, std::int64_t begin, std::int64_t end,
                std::span<const model::AngleParameter>, Accumulator&);

void add_dihedrals(const Lattice&, Positions, const TermList<4>&, std::int64_t begin, std::int64_t end,
                   std::span<const CosineTerm>, Accumulator&);
/// As dihedrals, reported as improper.
void add_impropers_periodic(const Lattice&, Positions, const TermList<4>&, std::int64_t begin, std::int64_t end,
                            std::span<const CosineTerm>, Accumulator&);
void add_dihedrals_rb(const Lattice&, Positions, const TermList<4>&, std::int64_t begin, std::int64_t end,
                      std::span<const model::RyckaertBellemansParameter>, Accumulator&);
void add_impropers_harmonic(const Lattice&, Positions, const TermList<4>&, std::int64_t begin, std::int64_t end,
                            std::span<const HarmonicDihedral>, Accumulator&);
void add_cmaps(const Lattice&, Positions, const TermList<8>&, std::int64_t begin, std::int64_t end,
               std::span<const CmapTable>, Accumulator&);

/// `charge`: (slots) e.
void add_pairs_14(const Lattice&, Positions, std::span<const double> charge, const TermList<2>&, std::int64_t begin,
                  std::int64_t end, std::span<const Pair14>, Accumulator&);

/// Thread `thread` of `n_threads` adds its share of every list. `charge` may be empty where there are no 1-4 pairs.
void add_all(const Lattice&, Positions, std::span<const double> charge, const LocalTerms&, const ForceTables&,
             int thread, int n_threads, Accumulator&);

}  // namespace tessera::md::bonded
