#include "tessera/md/restraint/coordinates.h"

namespace tessera::md::restraint {

Coordinate distance(std::span<const Vec3> places) {
  const Vec3 r = places[1] - places[0];
  const double length = norm(r);
  if (!(length > 0)) return {};  // no direction to push into
  const Vec3 direction = (1 / length) * r;
  return {length, {-1.0 * direction, direction}};
}

}  // namespace tessera::md::restraint
