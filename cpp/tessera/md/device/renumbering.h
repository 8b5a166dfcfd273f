// Says how atoms have been sorted into other slots on a device. All pointers are to its memory.
#pragma once

#include <cstdint>

namespace tessera::md {

struct Renumbering {
  std::int32_t n_slots = 0;              // now
  const std::int32_t* source = nullptr;  // by slot: where its atom was before; −1: padding
  const std::int32_t* slot = nullptr;    // by slot before: where its atom is now
};

}  // namespace tessera::md
