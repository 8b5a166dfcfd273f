// Lines that lie one after the other in memory put side by side, and back.
#pragma once

#include <cstdint>

namespace tessera::fft {

/// to[c · to_stride + r] = from[r · from_stride + c] for r < rows, c < columns, in tiles that fit into vector
/// registers. Values of 4, 8 or 16 bytes. `streams`: past the caches where tiles lie on cache lines; whoever lets other
/// threads read them calls hwy::FlushStream first.
template <class Value>
void transpose(const Value* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns, Value* to,
               std::int64_t to_stride, bool streams);

}  // namespace tessera::fft
