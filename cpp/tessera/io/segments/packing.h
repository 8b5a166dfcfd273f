// Rounded numbers of a frame, packed (docs/reference/trajectory.md, "Packed numbers").
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tessera::io::segments {

/// Returns the bytes of (n,3) numbers, rounded to multiples of a unit. Throws std::invalid_argument where a number is
/// not finite, or where its multiple does not fit an integer of 4 bytes.
std::vector<std::byte> pack(std::span<const float> values, double unit);

/// Unpacks the (n,3) numbers of these bytes into `values`. Throws std::invalid_argument where the bytes are not of n
/// rows; other damage gives other numbers.
void unpack(std::span<const std::byte> bytes, double unit, std::span<float> values);

}  // namespace tessera::io::segments
