#include "tessera/md/restraint/coordinates.h"

#include <cmath>
#include <numbers>

#include "tessera/base/error.h"

namespace tessera::md::restraint {

double difference(RestraintKind kind, double value, double target) {
  const double apart = value - target;
  if (kind != RestraintKind::dihedral) return apart;
  constexpr double turn = 2 * std::numbers::pi;
  return apart - turn * std::floor(apart / turn + 0.5);
}

Coordinate compute(RestraintKind kind, std::span<const Vec3> places) {
  switch (kind) {
    case RestraintKind::distance:
      return distance(places);
    case RestraintKind::angle:
      return angle(places);
    case RestraintKind::dihedral:
      return dihedral(places);
    case RestraintKind::position:
    case RestraintKind::rmsd:
      break;
  }
  TESSERA_CHECK(false);
}

}  // namespace tessera::md::restraint
