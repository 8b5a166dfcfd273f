// Centres of mass of groups of atoms that may be on any ranks, the same to the bit on all.
//
// Masses are rounded to integers wᵢ whose sum W over a group is below 2³¹, and fractions of the box are integers, so
// that a centre
//
//   c = o + Σ wᵢ (fᵢ − o) / W
//
// is a quotient of integers, whatever the origin o near which the atoms are: it is the centre of the last call, or the
// group's first atom in the first one. The difference is that of the nearest image, so a group must be smaller than
// half the box. In a vacuum the origin is the middle of the frame.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/box.h"
#include "tessera/comm/communicator.h"
#include "tessera/md/accumulator.h"
#include "tessera/md/domain/domain.h"
#include "tessera/model/atom_set.h"

namespace tessera::md::restraint {

struct CentreGroup {
  const model::AtomSet* atoms;
  bool is_weighted_by_mass = true;  // otherwise all atoms count alike
};

class Centres {
 public:
  /// Keeps references, which must outlive this.
  Centres(const std::vector<CentreGroup>& groups, const domain::Domain& domain, const comm::Communicator& comm);

  /// Finds this rank's atoms after a search.
  void rebuild();
  /// Finds the centres of the groups, by one sum over ranks. Throws RunError at first where a group is too large.
  /// Collective where there are groups.
  void update();
  std::size_t size() const { return groups_.size(); }
  const Fraction& operator[](std::size_t group) const { return centre_[group]; }
  /// Adds a force (kcal/mol/Å) on a centre to its atoms, by their weights.
  void add_force(std::size_t group, const Vec3& force, Accumulator& accumulator) const;

 private:
  struct Member {
    std::int32_t slot;
    std::int64_t weight;
  };
  struct Group {
    const model::AtomSet* atoms;
    bool is_weighted_by_mass;
    double mass = 0;                // amu
    std::int64_t total_weight = 0;  // W
    std::vector<Member> own;        // of this rank
  };

  std::int64_t weight_of(const Group& group, std::int64_t atom) const;
  void find_origins();
  void move_centres();

  const domain::Domain& domain_;
  const comm::Communicator& comm_;
  std::vector<Group> groups_;
  std::vector<Fraction> centre_;  // by group
  bool has_origins_ = false;
};

}  // namespace tessera::md::restraint
