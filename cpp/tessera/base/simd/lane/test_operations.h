// Declares what test_operations-inl.h reads and writes.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace tessera::simd::test {

inline constexpr std::size_t step = 32;  // a multiple of the lanes of every register

/// Operands of every kind; as many of each, a multiple of `step`.
struct Inputs {
  std::vector<float> f32[3], f32_that_fits;  // into an int32
  std::vector<double> f64[3], f64_that_fits;
  std::size_t size() const { return f32_that_fits.size(); }
};

/// Bits of results by the name of the operation and the type.
using Results = std::map<std::string, std::vector<std::uint64_t>>;

template <class T>
inline constexpr const char* name_of = std::is_floating_point_v<T> ? sizeof(T) == 4 ? " f32" : " f64"
                                       : sizeof(T) == 4            ? " i32"
                                                                   : " i64";
template <class T>
std::uint64_t bits_of(T value) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(value)) return ~std::uint64_t{0};
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

/// Records the operations of lanes of a device; lane_results_test.cpp.
void record_lanes(const Inputs& in, Results& results);

}  // namespace tessera::simd::test
