// Declares what the kernel reads and writes that transforms lines on a device. All pointers are to the device's memory.
#pragma once

#include <cstdint>

namespace tessera::fft {

/// What a step does with the points of lines, which are in one of two places that a block shares. Those that compute take
/// them from there and leave results in the other place.
enum class LineWork : std::int32_t {
  load_points,      // complex ones
  load_pairs,       // of real ones, 2j and 2j + 1, as complex ones
  pass,             // of radix.h
  waves_of_halves,  // n/2 complex points to n/2 + 1 waves of n real ones
  halves_of_waves,
  multiply,      // by real factors, where they are
  store_points,  // to where they were loaded from
  store_pairs
};

struct LineStep {
  LineWork work;
  std::int32_t from;                  // place of the points: 0 or 1; of loads: where they go
  std::int32_t is_backward;           // of stores: result j of n goes to n − j, as radix.h says
  std::int32_t radix, m, s, is_last;  // of a pass, as RadixPass has them
  std::int32_t first_turn;            // of a pass: in `turns`; of real points: in `turns`, (cos, sin) of −2π k/n
};

inline constexpr int most_line_steps = 16;
/// This many complex points fit into each of the places that a block shares.
inline constexpr int most_shared_points = 3072;

/// Tells where lines are. Point j of line l is at (l / inner)·outer + l % inner + j·stride.
struct Lines {
  std::int32_t count, inner, outer, stride;
};

struct LineArguments {
  Lines lines;
  std::int32_t n;         // complex points of a line that are transformed
  std::int32_t waves;     // complex points of a line in memory: n, or the waves of 2n real points
  std::int32_t together;  // lines of a block
  std::int32_t n_steps;
  LineStep steps[most_line_steps];
  const float* turns;    // (cos, sin), of all steps
  float *re, *im;        // complex points
  float* real;           // real points
  const float* factors;  // of multiply, by point
};

}  // namespace tessera::fft
