#include "tessera/io/segments/encoding.h"

#include <blosc.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"

namespace tessera::io::segments {

namespace {

constexpr std::size_t chunk_atoms = 65'536;
// Of Blosc's compressors at their levels, Zstandard's first is the fastest that makes positions at 0.01 Å smaller than
// an XTC has them (bench/io/trajectory.py).
constexpr const char* compressor = "zstd";
constexpr int level = 1;

/// The integers of some rows: rounded numbers, or the bits of exact ones.
void to_integers(std::span<const float> values, const Encoding& encoding, std::vector<std::uint32_t>& integers) {
  integers.resize(values.size());
  if (encoding.kind == EncodingKind::lossless) {
    std::memcpy(integers.data(), values.data(), values.size_bytes());
    return;
  }
  const double per_unit = 1 / encoding.unit;
  constexpr double most = std::numeric_limits<std::int32_t>::max();
  double greatest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double rounded = std::nearbyint(values[i] * per_unit);
    greatest = std::max(greatest, std::abs(rounded));
    integers[i] = static_cast<std::uint32_t>(static_cast<std::int64_t>(rounded));
  }
  if (!(greatest <= most))
    throw RunError(
        fmt::format("a frame holds {} Å, which is too large to be rounded to {} Å: choose a greater "
                    "output.precision or output.compression = \"lossless\"",
                    greatest * encoding.unit, encoding.unit));
}

}  // namespace

nlohmann::json to_json(const Encoding& encoding) {
  switch (encoding.kind) {
    case EncodingKind::float32:
      return {{"kind", "float32"}};
    case EncodingKind::lossless:
      return {{"kind", "lossless"}};
    case EncodingKind::rounded:
      return {{"kind", "rounded"}, {"unit", encoding.unit}};
    case EncodingKind::moved:
      return {{"kind", "moved"}, {"distance", encoding.distance}, {"key_every", key_every}};
  }
  return {};
}

std::vector<std::byte> encode(std::span<const float> values, const Encoding& encoding) {
  TESSERA_CHECK(encoding.kind == EncodingKind::lossless || encoding.kind == EncodingKind::rounded);
  const auto n_chunks = (values.size() / 3 + chunk_atoms - 1) / chunk_atoms;
  std::vector<std::uint32_t> sizes, integers, differences;
  std::vector<std::byte> bytes(n_chunks * sizeof(std::uint32_t));
  for (std::size_t first = 0; first < values.size(); first += 3 * chunk_atoms) {
    to_integers(values.subspan(first, std::min(3 * chunk_atoms, values.size() - first)), encoding, integers);
    differences.resize(integers.size());
    std::copy_n(integers.begin(), 3, differences.begin());
    for (std::size_t i = 3; i < integers.size(); ++i) differences[i] = integers[i] - integers[i - 3];
    const auto raw = 4 * differences.size(), before = bytes.size();
    bytes.resize(before + raw + BLOSC_MAX_OVERHEAD);
    const int size = blosc_compress_ctx(level, BLOSC_BITSHUFFLE, 4, raw, differences.data(), bytes.data() + before,
                                        raw + BLOSC_MAX_OVERHEAD, compressor, 0, 1);
    TESSERA_CHECK(size > 0);
    bytes.resize(before + static_cast<std::size_t>(size));
    sizes.push_back(static_cast<std::uint32_t>(size));
  }
  std::memcpy(bytes.data(), sizes.data(), sizes.size() * sizeof(std::uint32_t));
  return bytes;
}

std::vector<std::byte> MovedRows::encode(std::span<const float> values) {
  const auto n = values.size() / 3;
  const bool has_all = n_frames_++ % key_every == 0;
  if (has_all) written_.assign(values.begin(), values.end());
  std::vector<std::uint32_t> rows;
  std::vector<float> moved;
  for (std::size_t i = 0; i < n && !has_all; ++i) {
    const auto* now = values.data() + 3 * i;
    auto* before = written_.data() + 3 * i;
    const float dx = now[0] - before[0], dy = now[1] - before[1], dz = now[2] - before[2];
    if (dx * dx + dy * dy + dz * dz <= square_) continue;
    rows.push_back(static_cast<std::uint32_t>(i));
    moved.insert(moved.end(), now, now + 3);
    std::copy_n(now, 3, before);
  }
  // Where all rows are there, their numbers are not.
  const auto count = static_cast<std::uint32_t>(has_all ? n : rows.size());
  if (count == n) {
    rows.clear();
    moved.assign(values.begin(), values.end());
  }
  std::vector<std::byte> bytes(4 + 4 * rows.size() + 4 * moved.size());
  std::memcpy(bytes.data(), &count, 4);
  if (!rows.empty()) std::memcpy(bytes.data() + 4, rows.data(), 4 * rows.size());
  if (!moved.empty()) std::memcpy(bytes.data() + 4 + 4 * rows.size(), moved.data(), 4 * moved.size());
  return bytes;
}

}  // namespace tessera::io::segments
