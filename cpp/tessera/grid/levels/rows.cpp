// Compiles the kernels of rows once for each instruction set.
#include "tessera/grid/levels/rows.h"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/grid/levels/rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/grid/levels/rows-inl.h"

#if HWY_ONCE

namespace tessera::grid {

HWY_EXPORT(SumFloats);
HWY_EXPORT(SumDoubles);
HWY_EXPORT(HalveFloats);
HWY_EXPORT(HalveDoubles);
HWY_EXPORT(DoubleFloats);
HWY_EXPORT(DoubleDoubles);
HWY_EXPORT(FollowRow);

template <>
void sum_rows(std::span<const float* const> rows, std::span<const float> weights, float* to, std::int64_t length) {
  HWY_DYNAMIC_DISPATCH(SumFloats)(rows, weights, to, length);
}
template <>
void sum_rows(std::span<const double* const> rows, std::span<const double> weights, double* to, std::int64_t length) {
  HWY_DYNAMIC_DISPATCH(SumDoubles)(rows, weights, to, length);
}
template <>
void halve_row(std::span<const float> weights, int components, std::span<const RowPart<float>> parts, float* to,
               std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(HalveFloats)(weights, components, parts, to, n);
}
template <>
void halve_row(std::span<const double> weights, int components, std::span<const RowPart<double>> parts, double* to,
               std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(HalveDoubles)(weights, components, parts, to, n);
}
template <>
void double_row(std::span<const float> weights, int components, const float* from, float* to, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(DoubleFloats)(weights, components, from, to, n);
}
template <>
void double_row(std::span<const double> weights, int components, const double* from, double* to, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(DoubleDoubles)(weights, components, from, to, n);
}

void follow_row(std::span<const double> weights, std::span<const std::int64_t> steps, const double* sums, double* row,
                std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(FollowRow)(weights, steps, sums, row, n);
}

}  // namespace tessera::grid

#endif
