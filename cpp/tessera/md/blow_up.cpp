#include "tessera/md/blow_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tessera/md/bonded/bonded.h"

namespace tessera::md {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

struct Strongest {
  std::string_view term;
  double force = -1;

  void offer(std::string_view name, double magnitude) {
    if (std::isnan(magnitude) || magnitude > force) term = name, force = magnitude;
  }
};

}  // namespace

std::string find_strongest_force(const domain::Domain& domain, const bonded::LocalTerms& terms,
                                 const bonded::ForceTables& tables, const pair::PairForces& pair, std::int32_t slot) {
  const auto& lattice = domain.system().lattice;
  Strongest strongest;

  std::vector<std::int64_t> force(3 * at(domain.n_slots()));
  const auto offer_list = [&](std::string_view name, auto&& add) {
    std::fill(force.begin(), force.end(), 0);
    Accumulator accumulator{force, nullptr};
    add(accumulator);
    const auto* f = &force[3 * at(slot)];
    strongest.offer(name,
                    norm({from_fixed(f[0], force_unit), from_fixed(f[1], force_unit), from_fixed(f[2], force_unit)}));
  };
  const auto& x = domain.position;
  using namespace bonded;
  offer_list("bond", [&](auto& a) { add_bonds(lattice, x, terms.bond, 0, terms.bond.size(), tables.bond, a); });
  offer_list("angle", [&](auto& a) { add_angles(lattice, x, terms.angle, 0, terms.angle.size(), tables.angle, a); });
  offer_list("urey_bradley", [&](auto& a) {
    add_urey_bradleys(lattice, x, terms.urey_bradley, 0, terms.urey_bradley.size(), tables.urey_bradley, a);
  });
  offer_list("dihedral", [&](auto& a) {
    add_dihedrals(lattice, x, terms.dihedral, 0, terms.dihedral.size(), tables.dihedral, a);
    add_dihedrals_rb(lattice, x, terms.dihedral_rb, 0, terms.dihedral_rb.size(), tables.dihedral_rb, a);
  });
  offer_list("improper", [&](auto& a) {
    add_impropers_harmonic(lattice, x, terms.improper_harmonic, 0, terms.improper_harmonic.size(),
                           tables.improper_harmonic, a);
    add_impropers_periodic(lattice, x, terms.improper_periodic, 0, terms.improper_periodic.size(),
                           tables.improper_periodic, a);
  });
  offer_list("cmap", [&](auto& a) { add_cmaps(lattice, x, terms.cmap, 0, terms.cmap.size(), tables.cmap, a); });
  offer_list("lj_14 and coulomb_14", [&](auto& a) {
    add_pairs_14(lattice, x, pair.charge(), terms.pair_14, 0, terms.pair_14.size(), tables.pair_14, a);
  });

  // Pairs: every local atom, whether listed or not.
  const auto& settings = pair.settings();
  const auto& molecule = domain.molecule_of(slot);
  const auto local = domain.local[at(slot)];
  const auto first_id = domain.id[at(slot)] - local;
  const auto is_excluded = [&](std::int64_t id) {
    const auto other = id - first_id;
    if (other < 0 || other >= molecule.n_atoms()) return false;
    return std::any_of(molecule.exclusions.begin(), molecule.exclusions.end(), [&](const auto& e) {
      return (e[0] == local && e[1] == other) || (e[1] == local && e[0] == other);
    });
  };
  Vec3 lj, coulomb;
  double nearest2 = 1e30;
  std::int64_t nearest = -1;
  for (std::int32_t s = 0; s < domain.n_slots(); ++s) {
    if (s == slot || domain.is_padding(s)) continue;
    const Vec3 d = lattice.displacement(x[at(s)], x[at(slot)]);
    const double r2 = norm2(d);
    if (r2 >= settings.range() * settings.range() || is_excluded(domain.id[at(s)])) continue;
    if (r2 < nearest2) nearest2 = r2, nearest = domain.id[at(s)];
    const auto ab = domain.system().force_field.lj(pair.type()[at(slot)], pair.type()[at(s)]);
    const double safe2 = std::max(r2, 1e-8);
    lj += pair::lennard_jones(settings, ab.a, ab.b, safe2).force_over_r * d;
    coulomb += settings.coulomb_constant * pair.charge()[at(slot)] * pair.charge()[at(s)] *
               pair::coulomb(settings, safe2).force_over_r * d;
  }
  strongest.offer("lj", norm(lj));
  strongest.offer("coulomb_real", norm(coulomb));
  auto text = fmt::format("the strongest force on it is {}, {:.3g} kcal/mol/Å", strongest.term, strongest.force);
  if (nearest >= 0)
    text +=
        fmt::format(" (nearest non-bonded: {} at {:.3f} Å)", domain.system().describe(nearest), std::sqrt(nearest2));
  return text;
}

}  // namespace tessera::md
