#include "tessera/md/pme/splits.h"

#include "tessera/md/pme/plan.h"

namespace tessera::md::pme {

std::vector<Split> coarser_splits(const Split& first, const std::array<double, 3>& edges, double greatest) {
  constexpr double finest_step = 1.02;  // smaller steps are not worth a trial
  const double first_spacing = widest_spacing(edges, first.grid);
  std::vector<Split> splits;
  double last = first_spacing;
  for (double wanted = finest_step * last; first.cutoff * wanted / first_spacing <= greatest; wanted *= 1.01) {
    const auto grid = grid_from_spacing(edges, wanted);
    const double spacing = widest_spacing(edges, grid);
    if (spacing < finest_step * last) continue;
    splits.push_back({first.cutoff * spacing / first_spacing, grid});
    last = spacing;
  }
  return splits;
}

}  // namespace tessera::md::pme
