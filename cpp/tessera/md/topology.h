// What the molecules' templates say about a rank's atoms: bonded terms and constraint groups by slot, rebuilt after
// every search. A bonded term is computed by the rank that owns its key atom (a middle one), so that its other atoms
// are never further away than the halo; a constraint group lies in one cell.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "tessera/md/bonded/terms.h"
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

  struct Water {
    std::int32_t molecule;  // template
    std::array<std::int32_t, 3> slots;
  };
  struct Group {
    const constraint::TemplateGroup* kind;
    std::int32_t first;  // of group_slots(): one slot for each of kind->atoms
  };

  const bonded::LocalTerms& terms() const { return terms_; }
  std::span<const Water> waters() const { return waters_; }
  std::span<const Group> groups() const { return groups_; }
  std::span<const std::int32_t> group_slots() const { return group_slots_; }
  const constraint::SettleParameters& settle(std::int32_t molecule) const {
    return *constraints_[static_cast<std::size_t>(molecule)].settle;
  }
  std::int64_t n_constraints() const { return n_constraints_; }  // of the whole system
  std::size_t bytes() const;

 private:
  /// Terms of one kind of one template, by key atom (compressed rows).
  struct Keyed {
    std::vector<std::int32_t> begin, term;
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

/// How far atoms of a hydrogen group may lie from their key atom, Å: the longest bond between the two kinds of atom
/// that any template asks for, and a tenth for vibration.
double group_radius(const model::System& system);

}  // namespace tessera::md
