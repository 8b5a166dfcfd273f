// Holds the root mean square deviation of some atoms from a reference, after the best superposition of the two:
//
//   d² = (Σ |xᵢ − c|² + Σ |yᵢ − b|² − 2λ)/n,   ∂d/∂xᵢ = (xᵢ − c − R(yᵢ − b))/(n·d)
//
// with the atoms' places x and their centre c, the reference's y and b, λ the greatest eigenvalue of Horn's matrix of
// the sums Σ (yᵢ − b)⊗(xᵢ − c), and R the rotation of its eigenvector. All atoms have the same weight. The reference is
// a shape in Å, which does not follow the box. The atoms must be nearer to their centre than half the box.
//
// Sources: B. K. P. Horn, J. Opt. Soc. Am. A 4, 629 (1987), doi:10.1364/JOSAA.4.000629; E. A. Coutsias, C. Seok,
// K. A. Dill, J. Comput. Chem. 25, 1849 (2004), doi:10.1002/jcc.20110 (the gradient).
#pragma once

#include <array>
#include <span>
#include <vector>

#include "tessera/base/vec3.h"
#include "tessera/comm/communicator.h"
#include "tessera/md/accumulator.h"
#include "tessera/md/domain/domain.h"
#include "tessera/md/restraint/centres.h"
#include "tessera/md/restraint/settings.h"

namespace tessera::md::restraint {

struct Superposition {
  double eigenvalue = 0;                     // λ
  std::array<std::array<double, 3>, 3> r{};  // the rotation of the reference onto the atoms
};

/// Returns the best superposition for the sums of y_a·x_b.
Superposition superpose(const std::array<std::array<double, 3>, 3>& sums);

class Deviations {
 public:
  /// Keeps references, which must outlive this.
  Deviations(std::span<const RestraintSettings> settings, const domain::Domain& domain, const comm::Communicator& comm);

  /// Finds this rank's atoms after a search.
  void rebuild();
  bool is_empty() const { return groups_.empty(); }
  /// Adds forces and energies at a time, ps. Collective where there are restraints of this kind.
  void add(double time, Accumulator& accumulator);

 private:
  struct Member {
    std::int32_t slot;
    std::array<double, 3> reference;  // units of fraction_unit of the starting box
  };
  struct Group {
    const RestraintSettings* settings;
    std::array<double, 3> centre{};  // of the reference, in the same units
    std::vector<Member> own;         // of this rank
  };

  void find_centres_of_references();
  Vec3 reference_of(const Group& group, const Member& member) const;

  const domain::Domain& domain_;
  const comm::Communicator& comm_;
  std::vector<Group> groups_;
  Centres centres_;
  bool has_centres_of_references_ = false;
};

}  // namespace tessera::md::restraint
