#include "tessera/io/segments/encoding.h"

#include <blosc.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tessera/base/error.h"
#include "tessera/io/segments/packing.h"

namespace tessera::io::segments {

namespace {

constexpr std::size_t chunk_rows = 65'536;
constexpr std::uint32_t most_period = 5;  // of the molecules that liquids have
using Integers = std::vector<std::uint32_t>;

/// Turns the bits of numbers into integers that have the order of the numbers.
void to_integers(std::span<const float> values, Integers& integers) {
  integers.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = std::bit_cast<std::int32_t>(values[i]);
    integers[i] = static_cast<std::uint32_t>(bits ^ ((bits >> 31) & 0x7fffffff));
  }
}

/// Maps a difference modulo 2³² to a number that is small where the difference is small, whatever its sign.
std::uint32_t folded(std::uint32_t difference) { return (difference << 1) ^ (0U - (difference >> 31)); }

/// Estimates the bits a row of differences whose widths have this distribution: a plane of bits is left out where all
/// are zero, and compressed where most are.
double estimated_bits(const std::array<int, 33>& counts) {
  int n = 0, wider = 0;
  for (const auto count : counts) n += count;
  double bits = 0;
  for (std::size_t width = 32; width > 0; --width) {
    wider += counts[width];
    bits += std::min(1.0, 4.0 * wider / std::max(1, n));
  }
  return bits;
}

/// Finds the period with the fewest bits in a sample of groups.
std::uint32_t best_period(const Integers& integers) {
  constexpr std::size_t sample = 512;
  const auto n_rows = integers.size() / 3;
  std::uint32_t best = 1;
  double fewest = std::numeric_limits<double>::max();
  for (std::uint32_t period = 1; period <= most_period; ++period) {
    const auto groups = n_rows / period;
    std::array<std::array<int, 33>, most_period> counts{};  // of widths, by place in the group
    // A step that shares no factor with the atoms of molecules meets all places in them.
    const auto step = groups / sample / 12 * 12 + 1;
    for (std::size_t g = 1; g < groups; g += step) {
      const auto* first = integers.data() + 3 * g * period;
      for (std::size_t k = 0; k < period; ++k)
        for (std::size_t c = 0; c < 3; ++c)
          ++counts[k][static_cast<std::size_t>(std::bit_width(
              folded(k == 0 ? first[c] - integers[3 * (g - 1) * period + c] : first[3 * k + c] - first[c])))];
    }
    double bits = 0;
    for (std::size_t k = 0; k < period; ++k) bits += estimated_bits(counts[k]) / period;
    if (groups < 2 || bits >= fewest) continue;
    fewest = bits;
    best = period;
  }
  return best;
}

/// Computes the differences of rows, followed by zeros up to a multiple of eight, as Blosc shuffles the bits of eight
/// integers together.
void to_differences(const Integers& integers, std::size_t period, Integers& differences) {
  const auto n_rows = integers.size() / 3, groups = n_rows / period;
  differences.assign((integers.size() + 7) / 8 * 8, 0);
  auto* to = differences.data();
  for (std::size_t k = 0; k < period; ++k)
    for (std::size_t c = 0; c < 3; ++c) {
      const auto* from = integers.data() + c;
      const auto stride = 3 * period;
      if (k > 0) {
        for (std::size_t g = 0; g < groups; ++g) *to++ = folded(from[g * stride + 3 * k] - from[g * stride]);
      } else if (groups > 0) {
        *to++ = folded(from[0]);
        for (std::size_t g = 1; g < groups; ++g) *to++ = folded(from[g * stride] - from[(g - 1) * stride]);
      }
    }
  for (std::size_t row = groups * period; row < n_rows; ++row)
    for (std::size_t c = 0; c < 3; ++c)
      *to++ = folded(integers[3 * row + c] - (row > 0 ? integers[3 * (row - 1) + c] : 0));
}

}  // namespace

nlohmann::json to_json(const Encoding& encoding) {
  switch (encoding.kind) {
    case EncodingKind::float32:
      return {{"kind", "float32"}};
    case EncodingKind::lossless:
      return {{"kind", "lossless"}};
    case EncodingKind::packed:
      return {{"kind", "packed"}, {"unit", encoding.unit}};
    case EncodingKind::moved:
      return {{"kind", "moved"}, {"distance", encoding.distance}, {"key_every", key_every}};
  }
  return {};
}

std::vector<std::byte> encode(std::span<const float> values, const Encoding& encoding) {
  if (encoding.kind == EncodingKind::packed) {
    try {
      return pack(values, encoding.unit);
    } catch (const std::invalid_argument& error) {
      throw RunError(
          fmt::format("a frame holds {} Å: choose a greater output.precision or output.compression = "
                      "\"lossless\"",
                      error.what()));
    }
  }
  TESSERA_CHECK(encoding.kind == EncodingKind::lossless);
  const auto n_chunks = (values.size() / 3 + chunk_rows - 1) / chunk_rows;
  Integers table, integers, differences;
  std::vector<std::byte> bytes(2 * n_chunks * sizeof(std::uint32_t));
  for (std::size_t first = 0; first < values.size(); first += 3 * chunk_rows) {
    to_integers(values.subspan(first, std::min(3 * chunk_rows, values.size() - first)), integers);
    const auto period = best_period(integers);
    to_differences(integers, period, differences);
    const auto raw = 4 * differences.size(), before = bytes.size();
    bytes.resize(before + raw + BLOSC_MAX_OVERHEAD);
    // LZ4 leaves almost all of exact numbers.
    const int size = blosc_compress_ctx(3, BLOSC_BITSHUFFLE, 4, raw, differences.data(), bytes.data() + before,
                                        raw + BLOSC_MAX_OVERHEAD, "zstd", 0, 1);
    TESSERA_CHECK(size > 0);
    bytes.resize(before + static_cast<std::size_t>(size));
    table.push_back(static_cast<std::uint32_t>(size));
    table.push_back(period);
  }
  std::memcpy(bytes.data(), table.data(), table.size() * sizeof(std::uint32_t));
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
