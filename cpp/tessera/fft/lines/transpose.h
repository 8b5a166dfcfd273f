// Transposes lines that are stored one after the other to lines side by side, and back.
#pragma once

#include <cstdint>

namespace tessera::fft {

/// Sets to[c · to_stride + r] = from[r · from_stride + c] for r < rows, c < columns, in tiles that fit into vector
/// registers. Values have 4, 8 or 16 bytes. With `streams`, tiles aligned to cache lines are written past the caches;
/// the caller must call hwy::FlushStream before other threads read them.
template <class Value>
void transpose(const Value* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns, Value* to,
               std::int64_t to_stride, bool streams);

}  // namespace tessera::fft
