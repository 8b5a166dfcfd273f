// Defines what each kind of bonded term provides: its prepared parameters and the function that adds its forces.
//
// Each function takes a range of its list, so that threads share it; the sums are in fixed point and do not depend on
// how it is shared. Energies and virial are skipped if `Accumulator::energies` is null.
//
// Terms are computed several at a time, one per lane of a vector register, in double precision, by the widest
// instruction set that the machine has. A term's bits do not depend on the terms beside it, so ranges may divide a list
// anywhere.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tessera/base/box.h"
#include "tessera/md/accumulator.h"
#include "tessera/md/bonded/terms.h"
#include "tessera/model/system.h"

namespace tessera::md::bonded {

using Positions = std::span<const Fraction>;  // (slots)

/// Holds a rank's atoms as bonded terms read them. A position may be in any image: differences are taken to the nearest
/// one, so a term must be smaller than half of the box.
struct Atoms {
  const Box& box;
  Positions position;
  std::span<const double> charge = {};  // (slots) e; may be empty without 1-4 pairs
};

/// Holds the edges of a box, each over the number of its fractions, Å.
struct EdgesOfBox {
  double ax, bx, by, cx, cy, cz;
};
inline EdgesOfBox edges_of(const Box& box) {
  return {box.a().x * fraction_unit, box.b().x * fraction_unit, box.b().y * fraction_unit,
          box.c().x * fraction_unit, box.c().y * fraction_unit, box.c().z * fraction_unit};
}

/// Tells which terms of a kind are constant under constraints and therefore need no force.
enum class MadeConstant { never, within_rigid_water, by_any_constraint };

/// Each kind in `model::BondedKinds` has a specialisation, in a folder of its own or with similar kinds. It has these
/// members:
///
///   Row              a row of the prepared table, with everything that depends on parameters alone
///   prepare(p, f)    makes a row from a force field's parameter; throws InputError if it can't be used
///   key_atom         the atom whose owner computes the term: a middle one, so that the others are near
///   made_constant    which terms are left out
///   reported_as      the energies that the term counts to
///   add(…)           adds the terms [begin, end) of a list
template <class Kind>
struct Kernel;

/// This specialisation serves kinds whose parameters need no preparation.
template <class Kind>
struct UnpreparedRows {
  using Row = typename Kind::Parameter;
  static Row prepare(const Row& parameter, const model::ForceField&) { return parameter; }
};

}  // namespace tessera::md::bonded
