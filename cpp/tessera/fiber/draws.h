// Random numbers of one move: a pure function of the seed and the number of the move.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "tessera/base/math/elementary.h"
#include "tessera/base/random.h"
#include "tessera/base/vec3.h"

namespace tessera::fiber {

class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t move) : seed_(seed), move_(move) {}

  /// Returns a number in (0, 1).
  double uniform() {
    if (left_ == 0) {
      words_ = random_words(seed_, RandomStream::builder, move_, block_++);
      left_ = words_.size();
    }
    return (words_[--left_] + 0.5) / 4294967296.0;
  }

  /// Returns a number in (-size, size).
  double within(double size) { return size * (2 * uniform() - 1); }

  /// Returns a whole number from 0 to n - 1.
  std::size_t below(std::size_t n) {
    const auto found = static_cast<std::size_t>(uniform() * static_cast<double>(n));
    return found < n ? found : n - 1;
  }

  /// Returns a whole number from 1 to n whose logarithm is spread evenly.
  std::size_t by_logarithm(std::size_t n) {
    const auto found = static_cast<std::size_t>(math::exp(uniform() * math::log(static_cast<double>(n) + 1)));
    return found < 1 ? 1 : found > n ? n : found;
  }

  /// Returns a unit vector of any direction.
  Vec3 direction() {
    const double height = 2 * uniform() - 1, ring = std::sqrt(1 - height * height),
                 angle = uniform() * 6.283185307179586;
    return {ring * math::cos(angle), ring * math::sin(angle), height};
  }

  /// Returns a standard normal deviate (Box and Muller 1958).
  double normal() {
    const double size = std::sqrt(-2 * math::log(uniform()));
    return size * math::cos(uniform() * 6.283185307179586);
  }

 private:
  std::uint64_t seed_, move_, block_ = 0;
  std::array<std::uint32_t, 4> words_{};
  std::size_t left_ = 0;
};

}  // namespace tessera::fiber
