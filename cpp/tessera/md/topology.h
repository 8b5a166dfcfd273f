// Finds a rank's bonded terms and constraint groups by slot, from the molecules' templates; it is rebuilt after every
// search. A bonded term is computed by the rank that owns its key atom (a middle one), so that its other atoms are
// never further away than the halo. A constraint group lies in one cell.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "tessera/md/bonded/terms.h"
#include "tessera/md/constraint/constrained_atoms.h"
#include "tessera/md/constraint/group_list.h"
#include "tessera/md/constraint/groups.h"
#include "tessera/md/domain/domain.h"
#include "tessera/md/virtual_site/site_list.h"
#include "tessera/model/atom_set.h"

namespace tessera::md {

class Topology {
 public:
  /// Throws InputError if the constraints can't be satisfied.
  /// Groups of fixed atoms are left out of groups() and of what is counted.
  Topology(const model::System& system, constraint::ConstraintMode mode, const model::AtomSet& fixed = {});

  /// Finds the slots of all terms and groups of owned atoms. Throws RunError if an atom of a term is not within the
  /// halo, which means that a molecule was torn apart.
  void rebuild(const domain::Domain& domain, ThreadPool& threads);

  const bonded::LocalTerms& terms() const { return terms_; }
  /// Returns the groups of all owned atoms that move, by kind of group.
  std::span<const constraint::GroupList> groups() const { return groups_; }
  /// Calls visit(RigidWater) or visit(BondGroup) for each of this rank's groups that has constraints.
  template <class Visit>
  void for_constrained(Visit&& visit) const;
  /// Returns the virtual sites of owned atoms with their parents.
  std::span<const virtual_site::SiteList> virtual_sites() const { return virtual_sites_; }
  bool has_virtual_sites() const { return !virtual_sites_.empty(); }  // the whole system
  /// Counts the atoms that are neither fixed nor virtual sites.
  std::int64_t n_moving() const { return n_moving_; }            // of the whole system
  std::int64_t n_constraints() const { return n_constraints_; }  // of the whole system
  std::int64_t n_groups() const { return n_groups_; }            // of the whole system
  std::size_t bytes() const;
  /// Returns the bytes of what is held of templates on every rank.
  std::int64_t index_bytes() const;
  /// What one molecule of a template adds to the lists.
  struct MoleculeSize {
    std::int64_t bytes = 0;
    std::int64_t bonded_atoms = 0;  // that have bonded terms
  };
  MoleculeSize molecule_size(std::size_t molecule) const;

 private:
  /// Lists the terms of one kind of one template, by key atom (compressed rows).
  struct Keyed {
    std::vector<std::int32_t> begin, term;
  };
  template <class>
  using KeyedOf = Keyed;
  struct TemplateGroup {
    std::int32_t first;  // index into group_atoms
    std::int32_t list;   // index into groups_
  };
  struct TemplateIndex {
    model::ByKind<KeyedOf> keyed;
    std::vector<std::int32_t> group_begin;  // (atoms+1) the groups whose first atom this is
    std::vector<TemplateGroup> group;
    std::vector<std::int32_t> group_atoms;  // template indices, ascending within a group
    std::size_t first_site_list = 0;        // index into virtual_sites_ of this template's lists
    std::size_t n_site_lists = 0;
  };

  template <int Arity, class Keep>
  static Keyed index_terms(const model::Terms<Arity>& terms, std::int64_t n_atoms, std::size_t key, Keep&& keep);
  TemplateIndex index_template(const model::Template& molecule,
                               const constraint::TemplateConstraints& constraints) const;
  template <int Arity>
  void add_terms(const domain::Domain& domain, std::int32_t slot, const model::Terms<Arity>& terms, const Keyed& keyed,
                 bonded::TermList<Arity>& list) const;
  void index_groups(const model::Template& molecule, const constraint::TemplateConstraints& constraints,
                    TemplateIndex& index);
  std::int32_t list_of(const constraint::GroupKind& kind);
  /// Holds what one thread found, in the order of slots.
  struct Found {
    bonded::LocalTerms terms;
    std::vector<std::vector<std::int32_t>> group_slots;  // by index into groups_
    std::vector<std::vector<std::int32_t>> site_slots;   // by index into virtual_sites_
  };
  void add_terms_and_groups(const domain::Domain& domain, std::int32_t slot, Found& found) const;
  void add_virtual_sites(const domain::Domain& domain, std::int32_t slot, Found& found) const;

  const model::System& system_;
  const model::AtomSet fixed_;
  std::vector<TemplateIndex> index_;
  bonded::LocalTerms terms_;
  std::vector<constraint::GroupList> groups_;
  std::vector<virtual_site::SiteList> virtual_sites_;
  std::int64_t n_moving_ = 0, n_constraints_ = 0, n_groups_ = 0;
};

template <class Visit>
void Topology::for_constrained(Visit&& visit) const {
  for (const auto& list : groups_) {
    const auto& [group, settle] = list.kind;
    if (group.n_constraints == 0) continue;
    const auto n_atoms = static_cast<std::size_t>(group.n_atoms);
    for (std::size_t first = 0; first < list.slots.size(); first += n_atoms) {
      const std::span<const std::int32_t> slots = std::span(list.slots).subspan(first, n_atoms);
      if (settle)
        visit(constraint::RigidWater{*settle, slots.first<3>()});
      else
        visit(constraint::BondGroup{group, slots});
    }
  }
}

/// Returns how far atoms of a hydrogen group may lie from their key atom, Å: the longest bond between the two kinds of
/// atom in any template, or what virtual sites need, plus a tenth for vibration. Throws InputError as
/// virtual_site::site_group_reach does.
double group_radius(const model::System& system);

}  // namespace tessera::md
