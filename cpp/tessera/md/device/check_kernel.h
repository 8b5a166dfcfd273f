// Declares what a device tells of where atoms are, and what its kernel reads. All pointers are to the device's memory.
#pragma once

#include <cstdint>

#include "tessera/base/box.h"

namespace tessera::md {

/// Tells in a step whether a search or a pair list is due.
struct AtomCheck {
  std::int64_t displacement2;  // the greatest since the last search: the bits of its square, Å²
  std::int32_t n_beyond;       // atoms that have moved further than their pair list allows
};

struct DisplacementArguments {
  Triangular to_length;
  std::int32_t n_slots;
  const Fraction *position, *reference;  // by slot
  AtomCheck* check;
};

}  // namespace tessera::md
