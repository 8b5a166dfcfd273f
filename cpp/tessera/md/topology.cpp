#include "tessera/md/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tessera/base/error.h"

namespace tessera::md {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <int Arity, class Keep>
void index_terms(const model::Terms<Arity>& terms, std::int64_t n_atoms, int key, Keep&& keep,
                 std::vector<std::int32_t>& begin, std::vector<std::int32_t>& term) {
  begin.assign(at(n_atoms) + 1, 0);
  for (std::size_t t = 0; t < terms.atoms.size(); ++t)
    if (keep(terms.atoms[t])) ++begin[at(terms.atoms[t][at(key)]) + 1];
  for (std::size_t a = 0; a < at(n_atoms); ++a) begin[a + 1] += begin[a];
  term.resize(at(begin.back()));
  auto next = begin;
  for (std::size_t t = 0; t < terms.atoms.size(); ++t)
    if (keep(terms.atoms[t])) term[at(next[at(terms.atoms[t][at(key)])]++)] = static_cast<std::int32_t>(t);
}

template <int Arity>
std::size_t list_bytes(const bonded::TermList<Arity>& list) {
  return list.slots.capacity() * sizeof(list.slots[0]) + list.parameter.capacity() * sizeof(std::int32_t);
}

}  // namespace

Topology::Topology(const model::System& system, constraint::ConstraintMode mode) : system_(system) {
  const auto constraints = constraint::make_constraints(system, mode);
  for (std::size_t m = 0; m < system.templates.size(); ++m) {
    index_.push_back(index_template(system.templates[m], constraints[m]));
    index_groups(system.templates[m], constraints[m], index_[m]);
  }
  n_constraints_ = constraint::count_constraints(system, constraints);
}

Topology::TemplateIndex Topology::index_template(const model::Template& molecule,
                                                 const constraint::TemplateConstraints& constraints) const {
  // Bonds that are held need no force, nor does anything inside a rigid water.
  std::set<std::pair<std::int32_t, std::int32_t>> held;
  for (const auto& group : constraints.groups)
    for (int c = 0; c < group.group.n_constraints; ++c) {
      const auto& [i, j] = group.group.pair[at(c)];
      held.insert(std::minmax(group.atoms[at(i)], group.atoms[at(j)]));
    }
  const bool rigid = constraints.settle.has_value();
  const auto keep = [&](const auto& atoms) {
    if (rigid && *std::max_element(atoms.begin(), atoms.end()) < 3) return false;
    return atoms.size() != 2 || !held.contains(std::minmax(atoms[0], atoms[1]));
  };
  const auto all = [](const auto&) { return true; };
  const auto n = molecule.n_atoms();
  TemplateIndex index;
  index_terms(molecule.bond, n, 0, keep, index.bond.begin, index.bond.term);
  index_terms(molecule.angle, n, 1, keep, index.angle.begin, index.angle.term);
  // A Urey–Bradley term pulls the ends of an angle, which no constraint of a bond holds.
  index_terms(
      molecule.urey_bradley, n, 0, [&](const auto& atoms) { return !rigid || std::max(atoms[0], atoms[1]) >= 3; },
      index.urey_bradley.begin, index.urey_bradley.term);
  index_terms(molecule.dihedral, n, 1, all, index.dihedral.begin, index.dihedral.term);
  index_terms(molecule.dihedral_rb, n, 1, all, index.dihedral_rb.begin, index.dihedral_rb.term);
  index_terms(molecule.improper_harmonic, n, 1, all, index.improper_harmonic.begin, index.improper_harmonic.term);
  index_terms(molecule.improper_periodic, n, 1, all, index.improper_periodic.begin, index.improper_periodic.term);
  index_terms(molecule.cmap, n, 2, all, index.cmap.begin, index.cmap.term);
  index_terms(molecule.pair_14, n, 0, all, index.pair_14.begin, index.pair_14.term);
  return index;
}

/// The groups of a template: rigid water, hydrogens held to an atom, and each atom that no constraint touches.
void Topology::index_groups(const model::Template& molecule, const constraint::TemplateConstraints& constraints,
                            TemplateIndex& index) {
  std::vector<bool> is_free(at(molecule.n_atoms()), true);
  const auto add = [&](const std::vector<std::int32_t>& atoms, const constraint::GroupKind& kind) {
    for (const auto a : atoms) is_free[at(a)] = false;
    index.group.push_back({static_cast<std::int32_t>(index.group_atoms.size()), list_of(kind)});
    index.group_atoms.insert(index.group_atoms.end(), atoms.begin(), atoms.end());
  };
  if (constraints.settle) {
    const auto& settle = *constraints.settle;
    const std::vector<std::array<std::int32_t, 2>> pairs = {{0, 1}, {0, 2}, {1, 2}};
    const std::vector<double> distance = {settle.oh, settle.oh, settle.hh};
    add({0, 1, 2}, {constraint::make_constraint_group(pairs, distance, std::span(molecule.mass).first(3)), settle});
  }
  for (const auto& [atoms, group] : constraints.groups) add(atoms, {group, {}});
  for (std::int32_t a = 0; a < molecule.n_atoms(); ++a)
    if (is_free[at(a)])
      add({a}, {constraint::make_constraint_group({}, {}, std::span(molecule.mass).subspan(at(a), 1)), {}});
  const auto key = [&](const TemplateGroup& group) { return index.group_atoms[at(group.first)]; };
  std::sort(index.group.begin(), index.group.end(), [&](const auto& p, const auto& q) { return key(p) < key(q); });
  index.group_begin.assign(at(molecule.n_atoms()) + 1, 0);
  for (const auto& group : index.group) ++index.group_begin[at(key(group)) + 1];
  std::partial_sum(index.group_begin.begin(), index.group_begin.end(), index.group_begin.begin());
}

/// Index into groups_ of the list of this kind, which is made where there is none yet.
std::int32_t Topology::list_of(const constraint::GroupKind& kind) {
  std::size_t i = 0;
  while (i < groups_.size() && groups_[i].kind != kind) ++i;
  if (i == groups_.size()) groups_.push_back({kind, {}});
  return static_cast<std::int32_t>(i);
}

template <int Arity>
void Topology::add_terms(const domain::Domain& domain, std::int32_t slot, const model::Terms<Arity>& terms,
                         const Keyed& keyed, bonded::TermList<Arity>& list) const {
  const auto local = at(domain.local[at(slot)]);
  const auto first_id = domain.id[at(slot)] - domain.local[at(slot)];
  for (auto k = keyed.begin[local]; k < keyed.begin[local + 1]; ++k) {
    const auto term = at(keyed.term[at(k)]);
    std::array<std::int32_t, Arity> slots;
    for (std::size_t a = 0; a < Arity; ++a) {
      slots[a] = domain.slot_of(first_id + terms.atoms[term][a]);
      if (slots[a] < 0)
        throw RunError(fmt::format("{} and {} are bonded but more than a cell apart: the molecule is torn",
                                   system_.describe(domain.id[at(slot)]),
                                   system_.describe(first_id + terms.atoms[term][a])));
    }
    list.add(slots, terms.parameter[term]);
  }
}

void Topology::add_groups(const domain::Domain& domain, std::int32_t slot) {
  const auto local = at(domain.local[at(slot)]);
  const auto first_id = domain.id[at(slot)] - domain.local[at(slot)];
  const auto& index = index_[at(domain.molecule[at(slot)])];
  for (auto g = index.group_begin[local]; g < index.group_begin[local + 1]; ++g) {
    const auto& group = index.group[at(g)];
    auto& [kind, slots] = groups_[at(group.list)];
    slots.push_back(slot);
    for (int a = 1; a < kind.group.n_atoms; ++a) {
      const auto found = domain.slot_of(first_id + index.group_atoms[at(group.first + a)]);
      TESSERA_CHECK(found >= 0 && found < domain.n_owned_slots());
      slots.push_back(found);
    }
  }
}

void Topology::rebuild(const domain::Domain& domain) {
  terms_.clear();
  for (auto& list : groups_) list.slots.clear();
  for (std::int32_t slot = 0; slot < domain.n_owned_slots(); ++slot) {
    if (domain.is_padding(slot)) continue;
    const auto& molecule = domain.molecule_of(slot);
    const auto& index = index_[at(domain.molecule[at(slot)])];
    add_terms(domain, slot, molecule.bond, index.bond, terms_.bond);
    add_terms(domain, slot, molecule.angle, index.angle, terms_.angle);
    add_terms(domain, slot, molecule.urey_bradley, index.urey_bradley, terms_.urey_bradley);
    add_terms(domain, slot, molecule.dihedral, index.dihedral, terms_.dihedral);
    add_terms(domain, slot, molecule.dihedral_rb, index.dihedral_rb, terms_.dihedral_rb);
    add_terms(domain, slot, molecule.improper_harmonic, index.improper_harmonic, terms_.improper_harmonic);
    add_terms(domain, slot, molecule.improper_periodic, index.improper_periodic, terms_.improper_periodic);
    add_terms(domain, slot, molecule.cmap, index.cmap, terms_.cmap);
    add_terms(domain, slot, molecule.pair_14, index.pair_14, terms_.pair_14);
    add_groups(domain, slot);
  }
}

std::size_t Topology::bytes() const {
  return list_bytes(terms_.bond) + list_bytes(terms_.angle) + list_bytes(terms_.urey_bradley) +
         list_bytes(terms_.dihedral) + list_bytes(terms_.dihedral_rb) + list_bytes(terms_.improper_harmonic) +
         list_bytes(terms_.improper_periodic) + list_bytes(terms_.cmap) + list_bytes(terms_.pair_14) +
         std::accumulate(
             groups_.begin(), groups_.end(), groups_.capacity() * sizeof(constraint::GroupList),
             [](std::size_t sum, const auto& list) { return sum + list.slots.capacity() * sizeof(std::int32_t); });
}

double group_radius(const model::System& system) {
  double longest = 0;
  for (const auto& molecule : system.templates) {
    longest = std::max(longest, molecule.water_oh);
    for (std::size_t t = 0; t < molecule.bond.atoms.size(); ++t) {
      const auto& [i, j] = molecule.bond.atoms[t];
      if (molecule.group[at(i)] == molecule.group[at(j)] && (molecule.group[at(i)] == i || molecule.group[at(i)] == j))
        longest = std::max(longest, system.force_field.bond[at(molecule.bond.parameter[t])].r0);
    }
  }
  return 1.1 * longest;
}

}  // namespace tessera::md
