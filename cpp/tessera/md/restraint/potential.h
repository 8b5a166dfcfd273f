// E = k·e², where e = |d| − flat is what the distance d has beyond the flat part; 0 within it.
#pragma once

#include <algorithm>

namespace tessera::md::restraint {

struct Potential {
  double k, flat;

  double excess(double distance) const { return std::max(0.0, distance - flat); }
  double energy(double distance) const { return k * excess(distance) * excess(distance); }
  /// Returns dE/d|d|.
  double slope(double distance) const { return 2 * k * excess(distance); }
};

}  // namespace tessera::md::restraint
