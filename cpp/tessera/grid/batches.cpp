#include "tessera/grid/batches.h"

#include <algorithm>
#include <cmath>

namespace tessera::grid {

std::vector<std::int64_t> plan_batches(std::int64_t fields, std::int64_t batch, int slope) {
  std::vector<std::int64_t> sizes;
  for (auto size = std::max<std::int64_t>(1, batch >> slope); fields > 0; size = std::min(batch, 2 * size)) {
    sizes.push_back(std::min(size, fields));
    fields -= sizes.back();
  }
  return sizes;
}

std::int64_t choose_batch(const std::vector<Face>& faces, const machine::Wires& wires, std::int64_t most,
                          double times) {
  double fields = 1;
  for (const auto& face : faces) {
    const double latency = wires.latency(face.from, face.to);
    const double a_field = wires.time(face.from, face.to, face.bytes) - latency;
    if (a_field > 0) fields = std::max(fields, times * latency / a_field);
  }
  return std::min(most, static_cast<std::int64_t>(std::ceil(fields)));
}

}  // namespace tessera::grid
