#include "tessera/grid/batches.h"

#include <algorithm>

namespace tessera::grid {

std::vector<std::int64_t> plan_batches(std::int64_t fields, std::int64_t batch, int slope) {
  std::vector<std::int64_t> sizes;
  for (auto size = std::max<std::int64_t>(1, batch >> slope); fields > 0; size = std::min(batch, 2 * size)) {
    sizes.push_back(std::min(size, fields));
    fields -= sizes.back();
  }
  return sizes;
}

}  // namespace tessera::grid
