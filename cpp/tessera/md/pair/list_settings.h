// Decides how far atoms may go before the next pair list.
#pragma once

#include <algorithm>
#include <cmath>

#include "tessera/base/math/elementary.h"

namespace tessera::md::pair {

/// Decides how long a pair list lasts. Each atom is given a reach according to its speed; a new list is made once an
/// atom has moved further.
struct ListSettings {
  double steps = 4;         // about how many steps a list lasts; with more, lists are longer and made less often
  double timestep = 0.002;  // ps
  double most_reach = 1.5;  // Å
};

inline constexpr float part_of_stride = 0.8f, part_of_change = 2.0f;
/// Returns how far an atom may go from where it was listed, Å, by its last step (Å) and by how much its velocity may
/// turn out different: `typical` is the root mean square of all steps, `mobility` is by mass (hydrogen 1). Figures:
/// docs/design/pairs.md#lists.
inline float reach_of(const ListSettings& list, float stride, float typical, float mobility) {
  return std::min(static_cast<float>(list.most_reach),
                  static_cast<float>(list.steps) * (part_of_stride * stride + part_of_change * typical * mobility));
}
/// Returns the mobility of a mass, amu.
inline float mobility_of(double mass) { return static_cast<float>(std::min(1.0, 1 / math::pow(mass, 1.0 / 3))); }

}  // namespace tessera::md::pair
