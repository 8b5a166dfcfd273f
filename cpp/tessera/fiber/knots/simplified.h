// Closed curves with fewer corners, and the same knot.
#pragma once

#include <span>
#include <vector>

#include "tessera/base/vec3.h"

namespace tessera::fiber::knots {

/// Returns a closed curve of the same knot with fewer corners: each goes where the triangle that it makes with its
/// neighbours is free of the rest of the curve, small ones first (Koniaris and Muthukumar 1991). Ends with fewer than
/// `few` corners, or where none can go. Points are finite.
std::vector<Vec3> simplified(std::span<const Vec3> points, std::size_t few);

}  // namespace tessera::fiber::knots
