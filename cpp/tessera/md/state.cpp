#include "tessera/md/state.h"

namespace tessera::md {

std::size_t State::bytes() const {
  std::size_t n = id.capacity() * sizeof(id[0]) + (position.capacity() + reference.capacity()) * sizeof(Fraction) +
                  (molecule.capacity() + local.capacity()) * sizeof(std::int32_t) +
                  velocity.capacity() * sizeof(Velocity);
  for (const auto& field : fields) n += field.values.capacity() * sizeof(double);
  return n;
}

std::size_t State::planned_bytes(std::int64_t slots, std::int64_t owned_slots) {
  constexpr auto a_slot = sizeof(std::int64_t) + sizeof(Fraction) + 2 * sizeof(std::int32_t) + sizeof(Velocity);
  return static_cast<std::size_t>(slots) * a_slot + static_cast<std::size_t>(owned_slots) * sizeof(Fraction);
}

}  // namespace tessera::md
