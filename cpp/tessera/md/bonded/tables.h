// Force-field tables prepared for the loops: what depends only on the parameters is computed once.
//
// Units: Å, kcal/mol, elementary charge, radian.
#pragma once

#include <vector>

#include "tessera/md/bonded/cmap_table.h"
#include "tessera/model/system.h"

namespace tessera::md::bonded {

/// k[1 + cos(nφ − δ)] with n ≥ 0 and the phase as cosine and sine, so that no trigonometric function is left to call.
struct CosineTerm {
  double k;  // kcal/mol
  double cos_delta, sin_delta;
  double n;  // a whole number
};

/// k(φ − φ₀)², φ₀ as cosine and sine.
struct HarmonicDihedral {
  double k;  // kcal/mol/rad²
  double cos_phi0, sin_phi0;
};

/// c12/r¹² − c6/r⁶ + charge_factor·qᵢqⱼ/r.
struct Pair14 {
  double c12, c6;        // kcal/mol·Å¹², kcal/mol·Å⁶
  double charge_factor;  // f·C, kcal Å mol⁻¹ e⁻²
};

struct ForceTables {
  std::vector<model::BondParameter> bond, urey_bradley;
  std::vector<model::AngleParameter> angle;
  std::vector<CosineTerm> dihedral, improper_periodic;
  std::vector<model::RyckaertBellemansParameter> dihedral_rb;
  std::vector<HarmonicDihedral> improper_harmonic;
  std::vector<CmapTable> cmap;
  std::vector<Pair14> pair_14;
};

/// Throws InputError where a row can't be used: a multiplicity that is not a whole number, a CMAP grid of a wrong size.
ForceTables make_force_tables(const model::ForceField&);

CosineTerm make_cosine_term(const model::DihedralParameter&);
HarmonicDihedral make_harmonic_dihedral(const model::ImproperParameter&);
Pair14 make_pair_14(const model::Pair14Parameter&, double coulomb_constant);

}  // namespace tessera::md::bonded
