// What the molecules' templates say about a rank's atoms: bonded terms and constraint groups by slot, rebuilt after
// every search. A bonded term is computed by the rank that owns its key atom (a middle one), so that its other atoms
// are never further away than the halo; a constraint group lies in one cell.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "tessera/md/bonded/terms.h"
#include "tessera/md/constraint/constrained_atoms.h"
#include "tessera/md/constraint/groups.h"
#include "tessera/md/domain/domain.h"

namespace tessera::md {

class Topology {
 public:
  /// Throws InputError where the constraints can't be kept.
  Topology(const model::System& system, constraint::ConstraintMode mode);

  /// Finds the slots of all terms and groups of owned atoms. Throws RunError where an atom of a term is not within the
  /// halo (a molecule torn apart).
  void rebuild(const domain::Domain& domain);

  const bonded::LocalTerms& terms() const { return terms_; }
  /// Calls visit(RigidWater) for one of `n_shares` of this rank's waters, then visit(BondGroup) for one of its groups.
  template <class Visit>
  void for_constrained(int share, int n_shares, Visit&& visit) const;
  std::int64_t n_constraints() const { return n_constraints_; }  // of the whole system
  std::size_t bytes() const;

 private:
  /// Terms of one kind of one template, by key atom (compressed rows).
  struct Keyed {
    std::vector<std::int32_t> begin, term;
  };
  struct Water {
    const constraint::SettleParameters* kind;
    std::array<std::int32_t, 3> slots;
  };
  struct Group {
    const constraint::ConstraintGroup* kind;
    std::int32_t first;  // of group_slots_: one slot for each atom of the group
  };
  struct TemplateIndex {
    Keyed bond, angle, urey_bradley, dihedral, dihedral_rb, improper_harmonic, improper_periodic, cmap, pair_14;
    Keyed group;
  };

  TemplateIndex index_template(const model::Template& molecule,
                               const constraint::TemplateConstraints& constraints) const;
  template <int Arity>
  void add_terms(const domain::Domain& domain, std::int32_t slot, const model::Terms<Arity>& terms, const Keyed& keyed,
                 bonded::TermList<Arity>& list) const;
  void add_constraints(const domain::Domain& domain, std::int32_t slot);

  const model::System& system_;
  std::vector<constraint::TemplateConstraints> constraints_;
  std::vector<TemplateIndex> index_;
  bonded::LocalTerms terms_;
  std::vector<Water> waters_;
  std::vector<Group> groups_;
  std::vector<std::int32_t> group_slots_;
  std::int64_t n_constraints_ = 0;
};

template <class Visit>
void Topology::for_constrained(int share, int n_shares, Visit&& visit) const {
  const auto begin = [&](std::size_t n, int s) {
    return n * static_cast<std::size_t>(s) / static_cast<std::size_t>(n_shares);
  };
  for (auto w = begin(waters_.size(), share); w < begin(waters_.size(), share + 1); ++w)
    visit(constraint::RigidWater{*waters_[w].kind, waters_[w].slots});
  const std::span<const std::int32_t> slots = group_slots_;
  for (auto g = begin(groups_.size(), share); g < begin(groups_.size(), share + 1); ++g) {
    const auto& [kind, first] = groups_[g];
    const auto n_atoms = static_cast<std::size_t>(kind->n_atoms);
    visit(constraint::BondGroup{*kind, slots.subspan(static_cast<std::size_t>(first), n_atoms)});
  }
}

/// How far atoms of a hydrogen group may lie from their key atom, Å: the longest bond between the two kinds of atom
/// that any template asks for, and a tenth for vibration.
double group_radius(const model::System& system);

}  // namespace tessera::md
