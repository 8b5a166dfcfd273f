// Declares what the kernels read and write that follow atoms to other slots. All pointers are to the device's memory.
#pragma once

#include <cstdint>

namespace tessera::md {

/// Moves values, of some words of 32 bits each, to the slots of their atoms.
struct MoveArguments {
  std::int32_t n_slots;
  const std::int32_t* source;  // by slot (Renumbering)
  std::int32_t words;          // of a value
  std::uint32_t padding;       // all words of the values of padding
  const std::uint32_t* from;
  std::uint32_t* to;
};

/// Changes slots to those where their atoms are now.
struct RenumberArguments {
  std::int32_t n;
  const std::int32_t* slot;  // by slot before (Renumbering)
  std::int32_t* values;
};

}  // namespace tessera::md
