// How the numbers of a frame stand in a part of a segment (docs/reference/trajectory.md, "Numbers").
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

namespace tessera::io::segments {

enum class EncodingKind { float32, lossless, packed, moved };

struct Encoding {
  EncodingKind kind = EncodingKind::float32;
  double unit = 0;      // of packed numbers
  double distance = 0;  // of atoms that moved
};

nlohmann::json to_json(const Encoding& encoding);

/// Where frames hold the atoms that moved, one frame in so many holds all atoms.
inline constexpr std::int64_t key_every = 64;

/// Returns the bytes of (n,3) numbers, in all encodings but that of atoms that moved. Throws RunError where a number is
/// too large to be rounded to the unit.
std::vector<std::byte> encode(std::span<const float> values, const Encoding& encoding);

/// Makes frames that hold only the rows that have moved further than a distance since they were written last.
class MovedRows {
 public:
  explicit MovedRows(double distance) : square_(static_cast<float>(distance * distance)) {}
  /// Returns the bytes of the next frame of (n,3) numbers.
  std::vector<std::byte> encode(std::span<const float> values);

 private:
  float square_;
  std::int64_t n_frames_ = 0;
  std::vector<float> written_;  // (n,3)
};

}  // namespace tessera::io::segments
