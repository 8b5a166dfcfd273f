// Finds points near a place: space without bounds is cut into cubes, which a hash table holds.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/base/vec3.h"

namespace tessera::fiber {

class Cells {
 public:
  /// Makes room for n points, none of which is there yet. Those within `reach` Å of a place are found.
  Cells(double reach, std::size_t n) : reach_(reach), key_(n, none) {
    while ((std::size_t{1} << bits_) < 2 * n) ++bits_;
    buckets_.resize(std::size_t{1} << bits_);
  }

  /// Puts a point where it is now.
  void place(std::size_t point, const Vec3& at) {
    const std::uint64_t key = key_of(whole(at.x), whole(at.y), whole(at.z));
    if (key == key_[point]) return;
    remove(point);
    key_[point] = key;
    bucket(key).push_back(static_cast<std::uint32_t>(point));
  }

  void remove(std::size_t point) {
    if (key_[point] == none) return;
    auto& found = bucket(key_[point]);
    for (auto& entry : found)
      if (entry == point) {
        entry = found.back();
        found.pop_back();
        break;
      }
    key_[point] = none;
  }

  /// Calls visit(point) for all within reach of a place, and some beyond, until it returns false. Returns whether it
  /// never did.
  template <class Visit>
  bool all_near(const Vec3& at, Visit visit) const {
    const std::int64_t x = whole(at.x), y = whole(at.y), z = whole(at.z);
    for (std::int64_t i = x - 1; i <= x + 1; ++i)
      for (std::int64_t j = y - 1; j <= y + 1; ++j)
        for (std::int64_t k = z - 1; k <= z + 1; ++k) {
          const std::uint64_t key = key_of(i, j, k);
          for (const std::uint32_t point : buckets_[row(key)])
            if (key_[point] == key && !visit(std::size_t{point})) return false;
        }
    return true;
  }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  std::int64_t whole(double x) const { return static_cast<std::int64_t>(std::floor(x / reach_)); }
  static std::uint64_t key_of(std::int64_t i, std::int64_t j, std::int64_t k) {  // 2²⁰ cells either way
    constexpr std::uint64_t mask = (std::uint64_t{1} << 21) - 1;
    return (static_cast<std::uint64_t>(i) & mask) << 42 | (static_cast<std::uint64_t>(j) & mask) << 21 |
           (static_cast<std::uint64_t>(k) & mask);
  }
  std::size_t row(std::uint64_t key) const {  // Fibonacci hashing (Knuth 1998)
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> (64 - bits_));
  }
  std::vector<std::uint32_t>& bucket(std::uint64_t key) { return buckets_[row(key)]; }

  double reach_;
  unsigned bits_ = 1;
  std::vector<std::uint64_t> key_;  // of each point's cell
  std::vector<std::vector<std::uint32_t>> buckets_;
};

}  // namespace tessera::fiber
