#include "tessera/md/state.h"

namespace tessera::md {

std::size_t State::bytes() const {
  std::size_t n = id.capacity() * sizeof(id[0]) + (position.capacity() + reference.capacity()) * sizeof(Fraction) +
                  (molecule.capacity() + local.capacity()) * sizeof(std::int32_t) +
                  velocity.capacity() * sizeof(Velocity);
  for (const auto& field : fields) n += field.values.capacity() * sizeof(double);
  return n;
}

}  // namespace tessera::md
