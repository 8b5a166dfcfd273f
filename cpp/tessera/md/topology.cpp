#include "tessera/md/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/md/bonded/tables.h"
#include "tessera/md/constraint/whole_groups.h"

namespace tessera::md {

namespace {

template <int Arity>
std::size_t list_bytes(const bonded::TermList<Arity>& list) {
  return list.slots.capacity() * sizeof(list.slots[0]) + list.parameter.capacity() * sizeof(std::int32_t);
}

}  // namespace

Topology::Topology(const model::System& system, constraint::ConstraintMode mode, const model::AtomSet& fixed)
    : system_(system), fixed_(fixed) {
  const auto constraints = constraint::make_constraints(system, mode);
  for (std::size_t m = 0; m < system.templates.size(); ++m) {
    index_.push_back(index_template(system.templates[m], constraints[m]));
    index_groups(system.templates[m], constraints[m], index_[m]);
    index_[m].first_site_list = virtual_sites_.size();
    for (auto& group : virtual_site::site_groups(system.templates[m])) virtual_sites_.push_back({std::move(group), {}});
    index_[m].n_site_lists = virtual_sites_.size() - index_[m].first_site_list;
  }
  n_constraints_ = constraint::count_constraints(system, constraints);
  for (const auto& run : system.instances()) n_groups_ += run.count * std::ssize(index_[at(run.molecule)].group);
  const auto of_fixed = constraint::count_whole_groups(system, constraints, fixed, "dynamics.fixed");
  n_constraints_ -= of_fixed.n_constraints;
  n_groups_ -= of_fixed.n_groups;
  n_moving_ = system.n_atoms() - system.n_virtual_sites() - of_fixed.n_atoms;
}

template <int Arity, class Keep>
Topology::Keyed Topology::index_terms(const model::Terms<Arity>& terms, std::int64_t n_atoms, std::size_t key,
                                      Keep&& keep) {
  Keyed keyed;
  keyed.begin.assign(at(n_atoms) + 1, 0);
  for (const auto& atoms : terms.atoms)
    if (keep(atoms)) ++keyed.begin[at(atoms[key]) + 1];
  for (std::size_t a = 0; a < at(n_atoms); ++a) keyed.begin[a + 1] += keyed.begin[a];
  keyed.term.resize(at(keyed.begin.back()));
  auto next = keyed.begin;
  for (std::size_t t = 0; t < terms.atoms.size(); ++t)
    if (keep(terms.atoms[t])) keyed.term[at(next[at(terms.atoms[t][key])]++)] = static_cast<std::int32_t>(t);
  return keyed;
}

Topology::TemplateIndex Topology::index_template(const model::Template& molecule,
                                                 const constraint::TemplateConstraints& constraints) const {
  // Constrained bonds need no force, and neither does any term inside a rigid water.
  std::set<std::pair<std::int32_t, std::int32_t>> held;
  for (const auto& group : constraints.groups)
    for (int c = 0; c < group.group.n_constraints; ++c) {
      const auto& [i, j] = group.group.pair[at(c)];
      held.insert(std::minmax(group.atoms[at(i)], group.atoms[at(j)]));
    }
  const bool rigid = constraints.is_rigid_water;
  const auto is_constant = [&](bonded::MadeConstant by, const auto& atoms) {
    if (by == bonded::MadeConstant::never) return false;
    if (rigid && *std::max_element(atoms.begin(), atoms.end()) < 3) return true;
    return by == bonded::MadeConstant::by_any_constraint && held.contains(std::minmax(atoms[0], atoms[1]));
  };
  TemplateIndex index;
  model::for_each_kind([&](auto kind) {
    using Kernel = bonded::Kernel<decltype(kind)>;
    const auto keep = [&](const auto& atoms) { return !is_constant(Kernel::made_constant, atoms); };
    index.keyed[kind] = index_terms(molecule.terms[kind], molecule.n_atoms(), Kernel::key_atom, keep);
  });
  return index;
}

/// Finds the groups of a template: rigid waters, hydrogens constrained to an atom, and single unconstrained atoms.
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
    if (is_free[at(a)] && !molecule.is_virtual_site(a))
      add({a}, {constraint::make_constraint_group({}, {}, std::span(molecule.mass).subspan(at(a), 1)), {}});
  const auto key = [&](const TemplateGroup& group) { return index.group_atoms[at(group.first)]; };
  std::sort(index.group.begin(), index.group.end(), [&](const auto& p, const auto& q) { return key(p) < key(q); });
  index.group_begin.assign(at(molecule.n_atoms()) + 1, 0);
  for (const auto& group : index.group) ++index.group_begin[at(key(group)) + 1];
  std::partial_sum(index.group_begin.begin(), index.group_begin.end(), index.group_begin.begin());
}

/// Returns the index into groups_ of the list of this kind, and makes the list if there is none yet.
std::int32_t Topology::list_of(const constraint::GroupKind& kind) {
  std::size_t i = 0;
  while (i < groups_.size() && groups_[i].kind != kind) ++i;
  if (i == groups_.size()) groups_.push_back({kind, {}});
  return static_cast<std::int32_t>(i);
}

template <int Arity>
void Topology::add_terms(const domain::Domain& domain, std::int32_t slot, const model::Terms<Arity>& terms,
                         const Keyed& keyed, bonded::TermList<Arity>& list) const {
  const auto local = at(domain.state().local[at(slot)]);
  const auto first_id = domain.state().id[at(slot)] - domain.state().local[at(slot)];
  for (auto k = keyed.begin[local]; k < keyed.begin[local + 1]; ++k) {
    const auto term = at(keyed.term[at(k)]);
    std::array<std::int32_t, Arity> slots;
    for (std::size_t a = 0; a < Arity; ++a) {
      slots[a] = domain.slot_of(first_id + terms.atoms[term][a]);
      if (slots[a] < 0)
        throw RunError(fmt::format("{} and {} are bonded but more than a cell apart: the molecule is torn",
                                   system_.describe(domain.state().id[at(slot)]),
                                   system_.describe(first_id + terms.atoms[term][a])));
    }
    list.add(slots, terms.parameter[term]);
  }
}

void Topology::add_terms_and_groups(const domain::Domain& domain, std::int32_t slot, Found& found) const {
  const auto& molecule = domain.molecule_of(slot);
  const auto& index = index_[at(domain.state().molecule[at(slot)])];
  model::for_each_kind(
      [&](auto kind) { add_terms(domain, slot, molecule.terms[kind], index.keyed[kind], found.terms[kind]); });
  if (index.n_site_lists > 0) add_virtual_sites(domain, slot, found);
  if (fixed_.contains(domain.state().id[at(slot)])) return;  // and with it all of its group
  const auto local = at(domain.state().local[at(slot)]);
  const auto first_id = domain.state().id[at(slot)] - domain.state().local[at(slot)];
  for (auto g = index.group_begin[local]; g < index.group_begin[local + 1]; ++g) {
    const auto& group = index.group[at(g)];
    auto& slots = found.group_slots[at(group.list)];
    slots.push_back(slot);
    for (int a = 1; a < groups_[at(group.list)].kind.group.n_atoms; ++a) {
      const auto other = domain.slot_of(first_id + index.group_atoms[at(group.first + a)]);
      TESSERA_CHECK(other >= 0 && other < domain.n_owned_slots());
      slots.push_back(other);
    }
  }
}

/// Lists the sites whose first parent is in this slot.
void Topology::add_virtual_sites(const domain::Domain& domain, std::int32_t slot, Found& found) const {
  const auto local = domain.state().local[at(slot)];
  const auto first_id = domain.state().id[at(slot)] - local;
  const auto& index = index_[at(domain.state().molecule[at(slot)])];
  for (auto l = index.first_site_list; l < index.first_site_list + index.n_site_lists; ++l) {
    const auto& atoms = virtual_sites_[l].kind.atoms;
    if (atoms.front() != local) continue;
    for (const auto atom : atoms) {
      const auto other = domain.slot_of(first_id + atom);
      TESSERA_CHECK(other >= 0 && other < domain.n_owned_slots());
      found.site_slots[l].push_back(other);
    }
  }
}

void Topology::rebuild(const domain::Domain& domain, ThreadPool& threads) {
  std::vector<Found> found(at(threads.size()));
  threads.run([&](int thread) {
    auto& mine = found[at(thread)];
    mine.group_slots.resize(groups_.size());
    mine.site_slots.resize(virtual_sites_.size());
    const std::int64_t n = domain.n_owned_slots(), n_threads = threads.size();
    const auto end = static_cast<std::int32_t>(n * (thread + 1) / n_threads);
    for (auto s = static_cast<std::int32_t>(n * thread / n_threads); s < end; ++s) {
      domain.prefetch_slot_of(s);
      if (!domain.is_padding(s)) add_terms_and_groups(domain, s, mine);
    }
  });
  const auto join = [&](auto& all, auto&& of) {
    std::size_t n = 0;
    for (auto& one : found) n += of(one).size();
    all.clear();
    all.reserve(n);
    for (auto& one : found) all.insert(all.end(), of(one).begin(), of(one).end());
  };
  model::for_each_kind([&](auto kind) {
    join(
        terms_[kind].slots, [&](Found & one) -> auto& { return one.terms[kind].slots; });
    join(
        terms_[kind].parameter, [&](Found & one) -> auto& { return one.terms[kind].parameter; });
  });
  for (std::size_t g = 0; g < groups_.size(); ++g)
    join(
        groups_[g].slots, [&](Found & one) -> auto& { return one.group_slots[g]; });
  for (std::size_t l = 0; l < virtual_sites_.size(); ++l)
    join(
        virtual_sites_[l].slots, [&](Found & one) -> auto& { return one.site_slots[l]; });
}

std::size_t Topology::bytes() const {
  std::size_t n = groups_.capacity() * sizeof(constraint::GroupList);
  for (const auto& list : groups_) n += list.slots.capacity() * sizeof(std::int32_t);
  for (const auto& list : virtual_sites_) n += list.slots.capacity() * sizeof(std::int32_t);
  model::for_each_kind([&](auto kind) { n += list_bytes(terms_[kind]); });
  return n;
}

std::int64_t Topology::index_bytes() const {
  std::size_t n =
      index_.capacity() * sizeof(TemplateIndex) + virtual_sites_.capacity() * sizeof(virtual_site::SiteList);
  for (const auto& index : index_) {
    model::for_each_kind([&](auto kind) {
      n += (index.keyed[kind].begin.capacity() + index.keyed[kind].term.capacity()) * sizeof(std::int32_t);
    });
    n += (index.group_begin.capacity() + index.group_atoms.capacity()) * sizeof(std::int32_t);
    n += index.group.capacity() * sizeof(TemplateGroup);
  }
  return static_cast<std::int64_t>(n);
}

Topology::MoleculeSize Topology::molecule_size(std::size_t molecule) const {
  MoleculeSize size;
  const auto& index = index_[molecule];
  std::vector<bool> is_bonded(at(system_.templates[molecule].n_atoms()), false);
  model::for_each_kind([&](auto kind) {
    const auto& terms = system_.templates[molecule].terms[kind];
    for (const auto term : index.keyed[kind].term)
      for (const auto atom : terms.atoms[at(term)])
        if (system_.templates[molecule].has(atom)) is_bonded[at(atom)] = true;
    const bonded::TermListOf<decltype(kind)> list;
    const auto bytes_a_term = sizeof(list.slots[0]) + sizeof(list.parameter[0]);
    size.bytes += static_cast<std::int64_t>(index.keyed[kind].term.size() * bytes_a_term);
  });
  auto listed = index.group_atoms.size();
  for (auto l = index.first_site_list; l < index.first_site_list + index.n_site_lists; ++l)
    listed += virtual_sites_[l].kind.atoms.size();
  size.bytes += static_cast<std::int64_t>(listed * sizeof(std::int32_t));
  size.bonded_atoms = std::count(is_bonded.begin(), is_bonded.end(), true);
  return size;
}

double group_radius(const model::System& system) {
  double longest = 0;
  for (const auto& molecule : system.templates) {
    longest = std::max(longest, molecule.water_oh);
    model::for_each_kind_of_bond([&](auto kind) {
      const auto& bonds = molecule.terms[kind];
      for (std::size_t t = 0; t < bonds.atoms.size(); ++t) {
        const auto& [i, j] = bonds.atoms[t];
        if (!molecule.has(i) || !molecule.has(j)) continue;  // groups lie within units of a chain
        if (molecule.group[at(i)] == molecule.group[at(j)] &&
            (molecule.group[at(i)] == i || molecule.group[at(i)] == j))
          longest = std::max(longest, system.force_field.parameters[kind][at(bonds.parameter[t])].r0);
      }
    });
  }
  return 1.1 * std::max(longest, virtual_site::site_group_reach(system).distance);
}

}  // namespace tessera::md
