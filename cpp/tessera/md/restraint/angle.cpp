// θ between u = r₀ − r₁ and w = r₂ − r₁: ∂θ/∂u = −(ŵ − û cos θ)/(u sin θ), and the same for w. A straight angle has no
// direction in which it opens: there the sine is limited, and the gradient is small.
#include <algorithm>
#include <cmath>

#include "tessera/base/math/elementary.h"
#include "tessera/md/restraint/coordinates.h"

namespace tessera::md::restraint {

Coordinate angle(std::span<const Vec3> places) {
  constexpr double least_sine = 1e-6;
  Vec3 u = places[0] - places[1], w = places[2] - places[1];
  const double length_u = norm(u), length_w = norm(w);
  if (!(length_u > 0 && length_w > 0)) return {};
  u = (1 / length_u) * u;
  w = (1 / length_w) * w;
  const double sine = norm(cross(u, w)), cosine = dot(u, w);
  const double inverse = -1 / std::max(sine, least_sine);
  const Vec3 of_u = (inverse / length_u) * (w - cosine * u), of_w = (inverse / length_w) * (u - cosine * w);
  return {math::atan2(sine, cosine), {of_u, -1.0 * (of_u + of_w), of_w}};
}

}  // namespace tessera::md::restraint
