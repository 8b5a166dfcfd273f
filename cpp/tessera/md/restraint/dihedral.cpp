// φ of the planes through r₀ r₁ r₂ and r₁ r₂ r₃, with f = r₀ − r₁, g = r₁ − r₂, h = r₃ − r₂, a = f×g, b = h×g:
//
//   φ = atan2((b×a)·g/|g|, a·b)
//   ∂φ/∂r₀ = −|g| a/a²,  ∂φ/∂r₃ = |g| b/b²,  ∂φ/∂r₁ = −∂φ/∂r₀ + s,  ∂φ/∂r₂ = −∂φ/∂r₃ − s,
//   s = (f·g) a/(a²|g|) − (h·g) b/(b²|g|)
//
// Source: A. Blondel, M. Karplus, J. Comput. Chem. 17, 1132 (1996). Where three centres lie on a line there is no
// plane: there the gradient is left out.
#include <cmath>

#include "tessera/base/math/elementary.h"
#include "tessera/md/restraint/coordinates.h"

namespace tessera::md::restraint {

Coordinate dihedral(std::span<const Vec3> places) {
  const Vec3 f = places[0] - places[1], g = places[1] - places[2], h = places[3] - places[2];
  const Vec3 a = cross(f, g), b = cross(h, g);
  const double aa = norm2(a), bb = norm2(b), length = norm(g);
  constexpr double least = 1e-12;  // Å⁴
  if (!(aa > least && bb > least)) return {};
  const Vec3 first = (-length / aa) * a, last = (length / bb) * b;
  const Vec3 s = (dot(f, g) / (aa * length)) * a - (dot(h, g) / (bb * length)) * b;
  return {math::atan2(dot(cross(b, a), g) / length, dot(a, b)), {first, s - first, -1.0 * (s + last), last}};
}

}  // namespace tessera::md::restraint
