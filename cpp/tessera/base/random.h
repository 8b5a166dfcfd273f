// Counter-based random numbers: a pure function of (seed, stream, id, step), the same on any rank and thread.
// Philox4x32-10: J. K. Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC'11, doi:10.1145/2063384.2063405
#pragma once

#include <Random123/philox.h>

#include <array>
#include <cmath>
#include <cstdint>

#include "tessera/base/math/elementary.h"

namespace tessera {

enum class RandomStream : std::uint32_t {
  velocity = 1,
  thermostat = 2,
  barostat = 3,
  builder = 4,
  minimisation = 5,
  field = 6
};

/// Returns four uniform 32-bit words for this seed, stream, atom id and step.
inline std::array<std::uint32_t, 4> random_words(std::uint64_t seed, RandomStream stream, std::uint64_t id,
                                                 std::uint64_t step, std::uint32_t draw = 0) {
  const auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  const auto high = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
  const r123::Philox4x32::ctr_type counter = {
      {low(id), high(id), low(step), high(step) ^ (static_cast<std::uint32_t>(stream) << 16) ^ (draw << 24)}};
  const r123::Philox4x32::key_type key = {{low(seed), high(seed)}};
  const auto words = r123::Philox4x32{}(counter, key);
  return {words[0], words[1], words[2], words[3]};
}

/// Returns four standard normal deviates (Box–Muller).
inline std::array<double, 4> random_normals(std::uint64_t seed, RandomStream stream, std::uint64_t id,
                                            std::uint64_t step) {
  const auto words = random_words(seed, stream, id, step);
  const auto uniform = [](std::uint32_t word) { return (word + 0.5) / 4294967296.0; };  // (0, 1)
  std::array<double, 4> normals{};
  for (std::size_t pair = 0; pair < 2; ++pair) {
    const double radius = std::sqrt(-2.0 * math::log(uniform(words[2 * pair])));
    const auto angle = math::sincos_of_turn(2 * std::int64_t{words[2 * pair + 1]} + 1, std::int64_t{1} << 33);
    normals[2 * pair] = radius * angle.cos;
    normals[2 * pair + 1] = radius * angle.sin;
  }
  return normals;
}

}  // namespace tessera
