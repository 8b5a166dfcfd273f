// How the numbers of a frame stand in a part of a segment (docs/reference/trajectory.md, "Numbers").
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

namespace tessera::io::segments {

enum class EncodingKind { float32, lossless, rounded };

struct Encoding {
  EncodingKind kind = EncodingKind::float32;
  double unit = 0;  // of rounded numbers
};

nlohmann::json to_json(const Encoding& encoding);

/// The bytes of (n,3) numbers. Throws RunError where a number is too large to be rounded to the unit.
std::vector<std::byte> encode(std::span<const float> values, const Encoding& encoding);

}  // namespace tessera::io::segments
