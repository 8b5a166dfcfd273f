#include "tessera/md/bonded/tables.h"

#include <cmath>
#include <string>

#include "tessera/base/error.h"

namespace tessera::md::bonded {

CosineTerm make_cosine_term(const model::DihedralParameter& p) {
  const double n = std::nearbyint(p.n);
  // A fraction would make U jump where φ passes from 180° to −180°.
  if (!(std::abs(p.n - n) < 1e-6) || std::abs(n) > 64) {
    throw InputError("dihedral: multiplicity n = " + std::to_string(p.n) +
                     ", expected a whole number between -64 and 64 in k[1 + cos(n phi - delta)]");
  }
  // cos(−nφ − δ) = cos(nφ + δ)
  const double delta = n < 0 ? -p.delta : p.delta;
  return {p.k, std::cos(delta), std::sin(delta), std::abs(n)};
}

HarmonicDihedral make_harmonic_dihedral(const model::ImproperParameter& p) {
  return {p.k, std::cos(p.phi0), std::sin(p.phi0)};
}

Pair14 make_pair_14(const model::Pair14Parameter& p, double coulomb_constant) {
  const double s2 = p.sigma * p.sigma, s6 = s2 * s2 * s2;
  return {4 * p.epsilon * s6 * s6, 4 * p.epsilon * s6, p.charge_factor * coulomb_constant};
}

ForceTables make_force_tables(const model::ForceField& field) {
  ForceTables tables;
  tables.bond = field.bond;
  tables.urey_bradley = field.urey_bradley;
  tables.angle = field.angle;
  tables.dihedral_rb = field.dihedral_rb;
  for (const auto& p : field.dihedral) tables.dihedral.push_back(make_cosine_term(p));
  for (const auto& p : field.improper_periodic) tables.improper_periodic.push_back(make_cosine_term(p));
  for (const auto& p : field.improper_harmonic) tables.improper_harmonic.push_back(make_harmonic_dihedral(p));
  for (const auto& p : field.cmap) tables.cmap.push_back(make_cmap_table(p));
  for (const auto& p : field.pair_14) tables.pair_14.push_back(make_pair_14(p, field.coulomb_constant));
  return tables;
}

}  // namespace tessera::md::bonded
