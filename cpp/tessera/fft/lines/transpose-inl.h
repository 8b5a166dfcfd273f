// Contains the tiles of transpose.h; transpose.cpp includes it once for each instruction set. Arrays of vectors stay in
// registers only if their loops are unrolled early.
#undef TESSERA_UNROLL
#define TESSERA_UNROLL _Pragma("GCC unroll 16")

HWY_BEFORE_NAMESPACE();
namespace tessera::fft {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<std::uint64_t, 8>;
using HalfWords = hn::Repartition<std::uint32_t, Words>;

/// A vector has this number of 16-byte blocks. Vectors of unknown length do not use tiles.
#if HWY_HAVE_SCALABLE || HWY_TARGET == HWY_SCALAR
constexpr int n_blocks = 0;
#else
constexpr int n_blocks = static_cast<int>(hn::MaxLanes(Words()) / 2);
#endif

/// Exchanges block i of vector j with block j of vector i.
HWY_INLINE void transpose_blocks(hn::Vec<Words>* v) {
#if !HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SCALAR
  const Words d;
  if constexpr (n_blocks == 2) {
    const auto first = v[0];
    v[0] = hn::ConcatLowerLower(d, v[1], first);
    v[1] = hn::ConcatUpperUpper(d, v[1], first);
  } else if constexpr (n_blocks == 4) {
    const auto a = hn::ConcatLowerLower(d, v[2], v[0]), b = hn::ConcatLowerLower(d, v[3], v[1]);
    const auto c = hn::ConcatUpperUpper(d, v[2], v[0]), e = hn::ConcatUpperUpper(d, v[3], v[1]);
    v[0] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
    v[1] = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
    v[2] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(e), c);
    v[3] = hn::OddEvenBlocks(e, hn::SwapAdjacentBlocks(c));
  }
#endif
}

/// Transposes a square tile of values of `size` bytes, with as many values per side as a vector holds.
template <int size, class Load, class Store>
HWY_INLINE void transpose_tile(const Load& load, const Store& store) {
  const Words d;
  if constexpr (size == 16) {
    hn::Vec<Words> v[n_blocks];
    TESSERA_UNROLL
    for (int i = 0; i < n_blocks; ++i) v[i] = load(i);
    transpose_blocks(v);
    TESSERA_UNROLL
    for (int i = 0; i < n_blocks; ++i) store(v[i], i);
  } else if constexpr (size == 8) {
    hn::Vec<Words> even[n_blocks], odd[n_blocks];
    TESSERA_UNROLL
    for (int i = 0; i < n_blocks; ++i) {
      const auto a = load(2 * i), b = load(2 * i + 1);
      even[i] = hn::InterleaveLower(d, a, b);
      odd[i] = hn::InterleaveUpper(d, a, b);
    }
    transpose_blocks(even);
    transpose_blocks(odd);
    TESSERA_UNROLL
    for (int i = 0; i < n_blocks; ++i) {
      store(even[i], 2 * i);
      store(odd[i], 2 * i + 1);
    }
  } else {
    const HalfWords h;
    hn::Vec<Words> part[4][n_blocks];
    TESSERA_UNROLL
    for (int i = 0; i < n_blocks; ++i) {
      const auto a = hn::BitCast(h, load(4 * i)), b = hn::BitCast(h, load(4 * i + 1));
      const auto c = hn::BitCast(h, load(4 * i + 2)), e = hn::BitCast(h, load(4 * i + 3));
      const auto low = hn::BitCast(d, hn::InterleaveLower(h, a, b)),
                 next_low = hn::BitCast(d, hn::InterleaveLower(h, c, e));
      const auto high = hn::BitCast(d, hn::InterleaveUpper(h, a, b)),
                 next_high = hn::BitCast(d, hn::InterleaveUpper(h, c, e));
      part[0][i] = hn::InterleaveLower(d, low, next_low);
      part[1][i] = hn::InterleaveUpper(d, low, next_low);
      part[2][i] = hn::InterleaveLower(d, high, next_high);
      part[3][i] = hn::InterleaveUpper(d, high, next_high);
    }
    TESSERA_UNROLL
    for (int f = 0; f < 4; ++f) {
      transpose_blocks(part[f]);
      TESSERA_UNROLL
      for (int i = 0; i < n_blocks; ++i) store(part[f][i], 4 * i + f);
    }
  }
}

template <int size, bool streams>
HWY_INLINE void transpose_values(const std::byte* from, std::int64_t from_stride, std::int64_t rows,
                                 std::int64_t columns, std::byte* to, std::int64_t to_stride) {
  constexpr std::int64_t edge = n_blocks * 16 / size;
  const auto one_by_one = [&](std::int64_t row_begin, std::int64_t row_end, std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c)
      for (std::int64_t r = row_begin; r < row_end; ++r)
        std::memcpy(to + (c * to_stride + r) * size, from + (r * from_stride + c) * size, size);
  };
  std::int64_t done = 0, whole = 0;
  if constexpr (edge > 0) {
    const Words d;
    whole = rows / edge * edge;
    for (; done + edge <= columns; done += edge)
      for (std::int64_t row = 0; row < whole; row += edge)
        transpose_tile<size>(
            [&](int i) HWY_ATTR {
              return hn::LoadU(d,
                               reinterpret_cast<const std::uint64_t*>(from + ((row + i) * from_stride + done) * size));
            },
            [&](hn::Vec<Words> v, int i) HWY_ATTR {
              auto* at = reinterpret_cast<std::uint64_t*>(to + ((done + i) * to_stride + row) * size);
              if constexpr (streams)
                hn::Stream(v, d, at);
              else
                hn::StoreU(v, d, at);
            });
    one_by_one(whole, rows, 0, done);
  }
  one_by_one(0, rows, done, columns);
}

template <bool streams>
HWY_INLINE void transpose_sized(int size, const std::byte* from, std::int64_t from_stride, std::int64_t rows,
                                std::int64_t columns, std::byte* to, std::int64_t to_stride) {
  if (size == 16)
    transpose_values<16, streams>(from, from_stride, rows, columns, to, to_stride);
  else if (size == 8)
    transpose_values<8, streams>(from, from_stride, rows, columns, to, to_stride);
  else
    transpose_values<4, streams>(from, from_stride, rows, columns, to, to_stride);
}

void Transpose(int size, const std::byte* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
               std::byte* to, std::int64_t to_stride, bool streams) {
  // Writing past the caches is only efficient for whole cache lines.
  constexpr std::uintptr_t line = 64;
  if (streams && n_blocks * 16 == line && (reinterpret_cast<std::uintptr_t>(to) | to_stride * size) % line == 0)
    transpose_sized<true>(size, from, from_stride, rows, columns, to, to_stride);
  else
    transpose_sized<false>(size, from, from_stride, rows, columns, to, to_stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::fft
HWY_AFTER_NAMESPACE();
