// Compiles the tiles once for each instruction set.
#include "tessera/fft/lines/transpose.h"

#include <complex>
#include <cstddef>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/fft/lines/transpose.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/fft/lines/transpose-inl.h"

#if HWY_ONCE

namespace tessera::fft {

HWY_EXPORT(Transpose);

template <class Value>
void transpose(const Value* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns, Value* to,
               std::int64_t to_stride, bool streams) {
  HWY_DYNAMIC_DISPATCH(Transpose)
  (static_cast<int>(sizeof(Value)), reinterpret_cast<const std::byte*>(from), from_stride, rows, columns,
   reinterpret_cast<std::byte*>(to), to_stride, streams);
}

template void transpose(const float*, std::int64_t, std::int64_t, std::int64_t, float*, std::int64_t, bool);
template void transpose(const double*, std::int64_t, std::int64_t, std::int64_t, double*, std::int64_t, bool);
template void transpose(const std::complex<float>*, std::int64_t, std::int64_t, std::int64_t, std::complex<float>*,
                        std::int64_t, bool);
template void transpose(const std::complex<double>*, std::int64_t, std::int64_t, std::int64_t, std::complex<double>*,
                        std::int64_t, bool);

}  // namespace tessera::fft

#endif
