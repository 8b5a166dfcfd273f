#include "tessera/md/pme/kernel.h"

namespace tessera::md::pme {

void spread(const SpreadTarget<float>& target, int order, std::span<const std::int32_t> atoms, const Fraction* position,
            const float* charge) {
  spread_reference(target, order, atoms, position, charge);
}
bool gather(const MeshWindow& window, const float* mesh, int order, std::int64_t n, const Fraction* position,
            const float* charge, float* gradient) {
  return gather_reference(window, mesh, order, n, position, charge, gradient);
}
std::int64_t convert(const std::int32_t* fixed, float* charge, std::int64_t n) {
  return convert_reference<float>(fixed, charge, n);
}

}  // namespace tessera::md::pme
