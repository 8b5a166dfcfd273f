#include "tessera/md/minimize/stiffness.h"

#include <algorithm>

#include "tessera/base/index.h"

namespace tessera::md::minimize {

namespace {

/// Of an atom without bonds, kcal/mol/Å²: that of hydrogen bonds and contacts. With 30 or 300, two nucleosomes in water
/// took more moves.
constexpr double without_bonds = 100;

double curvature(model::Bond, const model::BondParameter& p) { return 2 * p.k; }
double curvature(model::BondQuartic, const model::BondParameter& p) { return 8 * p.k * p.r0 * p.r0; }

}  // namespace

std::vector<double> stiffness_of(const model::ForceField& field, const model::Template& kind, bool has_constraints) {
  std::vector<double> found(at(kind.n_atoms()), without_bonds);
  model::for_each_kind_of_bond([&](auto bonds) {
    const auto& terms = kind.terms[bonds];
    for (std::size_t t = 0; t < terms.atoms.size(); ++t) {
      const auto [one, other] = terms.atoms[t];
      const bool is_inside = kind.has(one) && kind.has(other) && kind.group[at(one)] == kind.group[at(other)];
      if (has_constraints && is_inside) continue;
      // Of a bond between two units of a chain, the atom counts that is this unit's own.
      for (const auto atom : {one, other})
        if (kind.has(atom))
          found[at(atom)] += std::max(0.0, curvature(bonds, field.parameters[bonds][at(terms.parameter[t])]));
    }
  });
  return found;
}

}  // namespace tessera::md::minimize
