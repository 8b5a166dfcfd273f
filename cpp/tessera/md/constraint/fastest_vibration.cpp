#include "tessera/md/constraint/fastest_vibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>

#include "tessera/base/index.h"
#include "tessera/base/math/elementary.h"
#include "tessera/base/units.h"

namespace tessera::md::constraint {

namespace {

using Pair = std::array<std::int32_t, 2>;

Pair ordered(std::int32_t i, std::int32_t j) { return {std::min(i, j), std::max(i, j)}; }

/// Collects the distances that a molecule holds fixed, and the lengths of its bonds.
class Distances {
 public:
  Distances(const model::ForceField& field, const model::Template& molecule, ConstraintMode mode) {
    const auto constraints = make_template_constraints(field, molecule, mode);
    if (constraints.settle) {
      fixed_[{0, 1}] = fixed_[{0, 2}] = constraints.settle->oh;
      fixed_[{1, 2}] = constraints.settle->hh;
    }
    for (const auto& [atoms, group] : constraints.groups)
      for (int c = 0; c < group.n_constraints; ++c) {
        const auto [a, b] = group.pair[static_cast<std::size_t>(c)];
        fixed_[ordered(atoms[at(a)], atoms[at(b)])] = std::sqrt(group.distance2[static_cast<std::size_t>(c)]);
      }
    bond_ = fixed_;
    model::for_each_kind_of_bond([&](auto kind) {
      const auto& bonds = molecule.terms[kind];
      for (std::size_t t = 0; t < bonds.atoms.size(); ++t)
        bond_.try_emplace(ordered(bonds.atoms[t][0], bonds.atoms[t][1]),
                          field.parameters[kind][at(bonds.parameter[t])].r0);
    });
  }

  bool is_fixed(std::int32_t i, std::int32_t j) const { return fixed_.contains(ordered(i, j)); }
  /// Returns the length of a bond, Å; 0 where there is none.
  double bond(std::int32_t i, std::int32_t j) const {
    const auto place = bond_.find(ordered(i, j));
    return place == bond_.end() ? 0 : place->second;
  }

 private:
  std::map<Pair, double> fixed_, bond_;
};

/// Keeps the vibration with the greatest ω² of those offered.
class Fastest {
 public:
  template <class Describe>
  void offer(double k, double inverse_mass, Describe&& describe) {
    const double omega2 = 2 * k * units::acceleration * inverse_mass;
    if (!(omega2 > greatest_) || !std::isfinite(omega2)) return;
    greatest_ = omega2;
    what_ = describe();
  }
  std::optional<Vibration> result() const {
    if (greatest_ == 0) return std::nullopt;
    return Vibration{2 * std::numbers::pi / std::sqrt(greatest_), what_};
  }

 private:
  double greatest_ = 0;  // ps⁻²
  std::string what_;
};

std::string residue_of(const model::Template& molecule, std::int32_t atom) {
  const bool is_known = at(atom) < molecule.residue.size();
  return is_known ? "residue " + molecule.residue_name[at(molecule.residue[at(atom)])] : "molecule " + molecule.name;
}

void offer_vibrations(const model::ForceField& field, const model::Template& molecule, ConstraintMode mode,
                      Fastest& fastest) {
  const Distances distances(field, molecule, mode);
  const auto& mass = molecule.mass;
  const auto name = [&](std::int32_t atom) { return molecule.atom_name[at(atom)]; };
  // `k_of(k, q₀)` is the factor of the square of a small deviation.
  const auto offer_bonds = [&](auto kind, auto&& k_of) {
    const auto& bonds = molecule.terms[kind];
    for (std::size_t t = 0; t < bonds.atoms.size(); ++t) {
      const auto [i, j] = bonds.atoms[t];
      if (distances.is_fixed(i, j)) continue;
      const auto& [k, r0] = field.parameters[kind][at(bonds.parameter[t])];
      fastest.offer(k_of(k, r0), 1 / mass[at(i)] + 1 / mass[at(j)], [&] {
        return fmt::format("the bond of {} and {} in {}", name(i), name(j), residue_of(molecule, i));
      });
    }
  };
  const auto offer_angles = [&](auto kind, auto&& k_of) {
    const auto& angles = molecule.terms[kind];
    for (std::size_t t = 0; t < angles.atoms.size(); ++t) {
      const auto [i, j, k] = angles.atoms[t];
      const double ij = distances.bond(i, j), jk = distances.bond(j, k);
      if (distances.is_fixed(i, k) || !(ij > 0) || !(jk > 0)) continue;
      const auto& [force, theta] = field.parameters[kind][at(angles.parameter[t])];
      const double g = 1 / (mass[at(i)] * ij * ij) + 1 / (mass[at(k)] * jk * jk) +
                       (1 / (ij * ij) + 1 / (jk * jk) - 2 * math::cos(theta) / (ij * jk)) / mass[at(j)];
      fastest.offer(k_of(force, theta), g, [&] {
        return fmt::format("the angle of {}, {} and {} in {}", name(i), name(j), name(k), residue_of(molecule, j));
      });
    }
  };
  offer_bonds(model::bond, [](double k, double) { return k; });
  offer_bonds(model::bond_quartic, [](double k, double r0) { return 4 * k * r0 * r0; });
  offer_angles(model::angle, [](double k, double) { return k; });
  offer_angles(model::angle_cosine, [](double k, double theta) { return k * math::sin(theta) * math::sin(theta); });
}

/// Calls visit(template) for each unit of a chain together with its neighbours, once for each three that occur.
template <class Visit>
void for_each_neighbourhood(const model::System& system, Visit&& visit) {
  std::set<std::array<std::int32_t, 3>> seen;
  const auto& runs = system.instances();
  for (const auto& chain : system.chains()) {
    const auto first = runs.begin() + chain.first_run, last = first + chain.n_runs - 1;
    const auto begin = first->first_instance, end = last->last_instance();
    for (auto run = first; run <= last; ++run)
      // All but the first, the second and the last instance of a run have the second one's neighbours.
      for (const auto i : std::set<std::int64_t>{
               run->first_instance, std::min(run->first_instance + 1, run->last_instance()), run->last_instance()}) {
        if (run->count == 0) continue;
        const auto before = i > run->first_instance ? run : std::prev(run, run == first ? 0 : 1);
        const auto behind = i < run->last_instance() ? run : std::next(run, run == last ? 0 : 1);
        const std::array units = {i == begin ? -1 : before->molecule, run->molecule, i == end ? -1 : behind->molecule};
        if (!seen.insert(units).second) continue;
        const auto from = std::max(begin, i - 1);
        visit(system.joined(from, std::min(end, i + 1) - from + 1));
      }
  }
}

}  // namespace

std::optional<Vibration> find_fastest_vibration(const model::System& system, ConstraintMode mode) {
  Fastest fastest;
  std::vector<bool> is_done(system.templates.size());
  for_each_neighbourhood(
      system, [&](const model::Template& units) { offer_vibrations(system.force_field, units, mode, fastest); });
  for (const auto& run : system.instances()) {
    if (run.count == 0 || run.is_in_chain || is_done[at(run.molecule)]) continue;
    is_done[at(run.molecule)] = true;
    offer_vibrations(system.force_field, system.templates[at(run.molecule)], mode, fastest);
  }
  return fastest.result();
}

}  // namespace tessera::md::constraint
