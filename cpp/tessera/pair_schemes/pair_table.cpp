#include "tessera/pair_schemes/pair_table.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera::pair_schemes {

PairTable make_pair_table(const PairSettings& settings, double density) {
  PairTable table;
  const double scale = density * settings.cutoff * settings.cutoff;
  table.scale = static_cast<float>(scale);
  const auto last = static_cast<std::size_t>(std::ceil(scale / (shortest_in_table * shortest_in_table))) + 1;
  table.n_points = static_cast<std::int32_t>(last) + 1;
  std::vector<std::array<double, 3>> at(last + 1);
  for (std::size_t point = 1; point <= last; ++point) {
    // Points up to each cut-off take the value inside it; the point beyond continues the line.
    const auto inside = [&](double cutoff) {
      return std::min(scale / static_cast<double>(point), cutoff * cutoff * (1 - 1e-12));
    };
    const double r2 = inside(settings.cutoff);
    at[point] = {lennard_jones(settings, 1, 0, r2).force_over_r / 12,
                 lennard_jones(settings, 0, -1, r2).force_over_r / 6,
                 coulomb(settings, inside(settings.range())).force_over_r};
  }
  table.force.assign((last + 1) * PairTable::stride, 0);
  for (std::size_t point = 1; point < last; ++point)
    for (std::size_t f = 0; f < 3; ++f) {
      table.force[point * PairTable::stride + 2 * f] = static_cast<float>(at[point][f]);
      table.force[point * PairTable::stride + 2 * f + 1] = static_cast<float>(at[point + 1][f] - at[point][f]);
    }
  return table;
}

}  // namespace tessera::pair_schemes
