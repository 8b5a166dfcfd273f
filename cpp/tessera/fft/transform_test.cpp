// Compares transforms on one rank with the defining sum; ranks_test.cpp tests several ranks.
#include "tessera/fft/transform.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

#include "tessera/base/math/double_double.h"
#include "tessera/base/test_support/instruction_sets.h"
#include "tessera/fft/blocks.h"
#include "tessera/fft/lines/radix.h"
#include "tessera/fft/lines/transpose.h"
#include "tessera/fft/schemes.h"

namespace tessera::fft {
namespace {

template <class Real>
std::vector<Real> random_values(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Real> values(static_cast<std::size_t>(n));
  for (auto& value : values) value = static_cast<Real>(uniform(random));
  return values;
}

/// Returns F(k) for kx ∈ [0, nx/2], z fastest, one direction after the other in double.
template <class Real>
std::vector<std::complex<double>> naive(const std::vector<Real>& mesh, const Index3& n) {
  std::vector<std::complex<double>> values(mesh.begin(), mesh.end());
  Index3 stride = {n[1] * n[2], n[2], 1};
  for (std::size_t d = 0; d < 3; ++d) {
    auto next = values;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(values.size()); ++i) {
      const std::int64_t k = i / stride[d] % n[d], base = i - k * stride[d];
      std::complex<double> sum = 0;
      for (std::int64_t j = 0; j < n[d]; ++j)
        sum += values[static_cast<std::size_t>(base + j * stride[d])] *
               std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(j * k % n[d]) / static_cast<double>(n[d]));
      next[static_cast<std::size_t>(i)] = sum;
    }
    values = next;
  }
  values.resize(static_cast<std::size_t>((n[0] / 2 + 1) * n[1] * n[2]));
  return values;
}

template <class Real>
class FftTransform : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(FftTransform, Reals);

TYPED_TEST(FftTransform, AgreesWithTheDefiningSumParsevalAndRoundTrip) {
  using Real = TypeParam;
  const auto comm = comm::Communicator::world();
  for (const int size : {1, 2, 3})
    for (const Index3 n :
         {Index3{8, 6, 10}, Index3{5, 7, 3}, Index3{12, 14, 15}, Index3{1, 20, 21}, Index3{36, 2, 9}}) {
      ThreadPool threads(size);
      const IndexBox whole{{0, 0, 0}, n};
      IndexBox out = whole;  // leaves the mesh, and spans the smallest more than once
      for (std::size_t d = 0; d < 3; ++d) out.lower[d] -= 2, out.upper[d] += 3;
      Transform<Real> transform(plan_transform("pencil", {n, TransformKind::real, {0, 1, 2}, 1, {whole}, {out}}), comm,
                                threads);
      const auto mesh = random_values<Real>(whole.size(), 3);
      std::vector<std::complex<Real>> spectrum(static_cast<std::size_t>(transform.spectrum_box().size()));
      transform.forward(mesh, spectrum);
      const auto expected = naive(mesh, n);
      ASSERT_EQ(spectrum.size(), expected.size());
      // Rounding grows as √log N, and sums are of size √N.
      const double tolerance = 8 * std::numeric_limits<Real>::epsilon() * std::sqrt(static_cast<double>(whole.size()));
      double power = 0, mesh_power = 0;
      for (std::size_t i = 0; i < spectrum.size(); ++i) {
        EXPECT_LT(std::abs(std::complex<double>(spectrum[i]) - expected[i]), tolerance);
        const auto kx = static_cast<std::int64_t>(i) / (n[1] * n[2]);
        power += (kx == 0 || 2 * kx == n[0] ? 1.0 : 2.0) * std::norm(std::complex<double>(spectrum[i]));
      }
      for (const Real value : mesh) mesh_power += static_cast<double>(value) * static_cast<double>(value);
      EXPECT_NEAR(power / static_cast<double>(whole.size()) / mesh_power, 1.0,
                  8 * std::numeric_limits<Real>::epsilon());
      std::vector<Real> back(static_cast<std::size_t>(out.size()));
      transform.backward(spectrum, back);
      for (auto x = out.lower[0]; x < out.upper[0]; ++x)
        for (auto y = out.lower[1]; y < out.upper[1]; ++y)
          for (auto z = out.lower[2]; z < out.upper[2]; ++z) {
            const auto wrap = [](std::int64_t i, std::int64_t k) { return ((i % k) + k) % k; };
            const Real value =
                mesh[static_cast<std::size_t>(whole.flat({wrap(x, n[0]), wrap(y, n[1]), wrap(z, n[2])}))];
            EXPECT_NEAR(back[static_cast<std::size_t>(out.flat({x, y, z}))] / static_cast<double>(whole.size()), value,
                        16 * std::numeric_limits<Real>::epsilon());
          }
    }
}

TYPED_TEST(FftTransform, ThreadsDoNotChangeBits) {
  using Real = TypeParam;
  const auto comm = comm::Communicator::world();
  const Index3 n{20, 18, 14};
  const IndexBox whole{{0, 0, 0}, n};
  const auto mesh = random_values<Real>(whole.size(), 5);
  std::vector<std::complex<Real>> first;
  for (const int size : {1, 2, 4, 7}) {
    ThreadPool threads(size);
    Transform<Real> transform(plan_transform("pencil", {n}), comm, threads);
    std::vector<std::complex<Real>> spectrum(static_cast<std::size_t>(transform.spectrum_box().size()));
    transform.forward(mesh, spectrum);
    if (first.empty()) first = spectrum;
    EXPECT_EQ(spectrum, first);
  }
}

/// Transforms the same line in all lanes but the last, and another line in that: bits must depend neither on the lane
/// nor on its neighbours. Returns the results, and compares them with the defining sum if requested.
template <class Real>
std::vector<Real> check_line(LineKind kind, std::int64_t n, bool streams, bool by_definition) {
  constexpr std::int64_t width = lanes<Real>;
  const bool is_real_in = kind == LineKind::real_forward, is_real_out = kind == LineKind::real_backward;
  const std::int64_t half = n / 2 + 1, in_points = is_real_out ? half : n, out_points = is_real_in ? half : n;
  const std::int64_t in_parts = is_real_in ? 1 : 2, out_parts = is_real_out ? 1 : 2;
  const auto line = random_values<Real>(in_points * in_parts, 7), other = random_values<Real>(in_points * in_parts, 8);
  // Only writes past the caches need aligned arrays; the caller's arrays need not be aligned.
  const std::int64_t off_edge = streams ? 0 : 1;
  const AlignedBuffer<Real> in(in_points * in_parts * width + 1), out(out_points * out_parts * width + 1);
  std::vector<const Real*> from(static_cast<std::size_t>(n + 2));
  std::vector<Real*> to(static_cast<std::size_t>(n + 2));
  for (std::int64_t j = 0; j < in_points; ++j) {
    Real* row = in.data() + off_edge + j * in_parts * width;
    from[static_cast<std::size_t>(j)] = row;
    for (std::int64_t l = 0; l < width; ++l)
      for (std::int64_t part = 0; part < in_parts; ++part)
        row[l * in_parts + part] = (l == width - 1 ? other : line)[static_cast<std::size_t>(j * in_parts + part)];
  }
  for (std::int64_t j = 0; j < out_points; ++j)
    to[static_cast<std::size_t>(j)] = out.data() + off_edge + j * out_parts * width;
  const auto plan = plan_lines<Real>(kind, n);
  const AlignedBuffer<Real> scratch(plan.scratch_size());
  const Real scale = 2;
  const auto past = std::make_unique<bool[]>(static_cast<std::size_t>(n + 2));
  for (std::int64_t j = 0; j < n; ++j) past[static_cast<std::size_t>(j)] = j % 3 != 0;
  transform_lines<Real>(plan, from.data(), to.data(), scale, streams ? past.get() : nullptr, scratch.data());
  std::vector<Real> results;
  for (std::int64_t k = 0; k < out_points; ++k) {
    const Real* row = to[static_cast<std::size_t>(k)];
    results.insert(results.end(), row, row + out_parts);
    for (std::int64_t l = 0; l < width - 1; ++l)
      for (std::int64_t part = 0; part < out_parts; ++part) EXPECT_EQ(row[l * out_parts + part], row[part]) << n;
  }
  if (!by_definition) return results;

  const auto value = [&](std::int64_t j) -> std::complex<long double> {
    const std::int64_t k = is_real_out && j >= half ? n - j : j;
    const auto at = static_cast<std::size_t>(k * in_parts);
    if (is_real_in) return static_cast<long double>(line[at]);
    // The spectrum of real points is Hermitian, so the first and the last wave are real.
    const bool is_real = is_real_out && (k == 0 || 2 * k == n);
    const std::complex<long double> x(static_cast<long double>(line[at]),
                                      is_real ? 0 : static_cast<long double>(line[at + 1]));
    return k == j ? x : std::conj(x);
  };
  const long double sign = kind == LineKind::forward || is_real_in ? -1 : 1;
  std::vector<std::complex<long double>> values, roots;
  for (std::int64_t j = 0; j < n; ++j) {
    values.push_back(value(j));
    roots.push_back(std::polar(
        1.0L, sign * 2 * std::numbers::pi_v<long double> * static_cast<long double>(j) / static_cast<long double>(n)));
  }
  // Rounding grows as log n, and sums are of size √n.
  const double tolerance = 4 * std::numeric_limits<Real>::epsilon() * std::sqrt(static_cast<double>(n)) *
                           (1 + std::log2(static_cast<double>(n)));
  for (std::int64_t k = 0; k < out_points; ++k) {
    std::complex<long double> sum = 0;
    for (std::int64_t j = 0; j < n; ++j)
      sum += values[static_cast<std::size_t>(j)] * roots[static_cast<std::size_t>(j * k % n)];
    const Real* row = to[static_cast<std::size_t>(k)];
    EXPECT_NEAR(static_cast<double>(row[0]), static_cast<double>(2 * sum.real()), tolerance) << n << ", wave " << k;
    if (!is_real_out) {
      EXPECT_NEAR(static_cast<double>(row[1]), static_cast<double>(2 * sum.imag()), tolerance) << n << ", wave " << k;
    }
  }
  return results;
}

/// Checks a length with the first instruction set, and that all have the same bits.
template <class Real>
void check_length(std::int64_t n) {
  for (const auto kind : {LineKind::real_forward, LineKind::real_backward, LineKind::forward, LineKind::backward})
    for (const bool streams : {false, true}) {
      if (streams && kind != LineKind::forward && kind != LineKind::backward) continue;
      bool is_first = true;
      test::for_instruction_sets([&] { return check_line<Real>(kind, n, streams, std::exchange(is_first, false)); });
    }
}

// All factors from 1 to 61 and their products, and lengths that are convolutions: 67, 79 and multiples.
TYPED_TEST(FftTransform, LinesAgreeWithTheDefiningSumInEveryLane) {
  for (std::int64_t n = 1; n <= 256; ++n)
    if (n <= 68 || n % 2 == 0 || n % 11 == 0) check_length<TypeParam>(n);
  for (const std::int64_t n : {79, 134, 335, 361, 512, 1001, 1009, 1056, 2018}) check_length<TypeParam>(n);
}

// Lengths up to 4096 are too long for the defining sum of every wave: a wave's transform is a peak, and back.
TYPED_TEST(FftTransform, LongLines) {
  using Real = TypeParam;
  for (const std::int64_t n : {1440, 2000, 2187, 2310, 3125, 3600, 4096, 4099, 6561, 8192}) {
    const AlignedBuffer<Real> values(2 * n * lanes<Real>);
    std::vector<Real*> rows;
    for (std::int64_t j = 0; j < n; ++j) {
      rows.push_back(values.data() + 2 * j * lanes<Real>);
      const auto turn = math::sincos_of_turn(3 * j, n);
      for (std::int64_t lane = 0; lane < lanes<Real>; ++lane) {
        rows.back()[2 * lane] = static_cast<Real>(turn.cos);
        rows.back()[2 * lane + 1] = static_cast<Real>(turn.sin);
      }
    }
    rows.resize(rows.size() + 2);
    const auto run = [&](LineKind kind, Real scale) {
      const auto plan = plan_lines<Real>(kind, n);
      const AlignedBuffer<Real> scratch(plan.scratch_size());
      transform_lines<Real>(plan, rows.data(), rows.data(), scale, nullptr, scratch.data());
    };
    const double tolerance = 4 * std::numeric_limits<Real>::epsilon() * (1 + std::log2(static_cast<double>(n)));
    run(LineKind::forward, 1 / static_cast<Real>(n));
    for (std::int64_t k = 0; k < n; ++k) {
      ASSERT_NEAR(static_cast<double>(rows[static_cast<std::size_t>(k)][0]), k == 3 ? 1 : 0, tolerance)
          << n << ", " << k;
      ASSERT_NEAR(static_cast<double>(rows[static_cast<std::size_t>(k)][1]), 0, tolerance) << n << ", " << k;
    }
    run(LineKind::backward, 1);
    for (std::int64_t j = 0; j < n; ++j)
      ASSERT_NEAR(static_cast<double>(rows[static_cast<std::size_t>(j)][0]), math::sincos_of_turn(3 * j, n).cos,
                  tolerance * std::sqrt(static_cast<double>(n)));
  }
}

template <class Value>
void expect_transpose(bool streams) {
  const auto line = static_cast<std::int64_t>(64 / sizeof(Value)), off_edge = streams ? std::int64_t{0} : 1;
  for (const std::int64_t rows : {1, 3, 8, 16, 21})
    for (const std::int64_t columns : {1, 4, 7, 16, 33}) {
      const std::int64_t from_stride = columns + 1, to_stride = streams ? (rows + line) / line * line : rows + 2;
      const AlignedBuffer<Value> from(rows * from_stride + 1), to(columns * to_stride + 1);
      for (std::int64_t i = 0; i <= rows * from_stride; ++i) from.data()[i] = Value(static_cast<float>(i));
      std::fill_n(to.data(), columns * to_stride + 1, Value(-1));
      transpose(from.data() + 1, from_stride, rows, columns, to.data() + off_edge, to_stride, streams);
      EXPECT_EQ(to.data()[off_edge == 1 ? 0 : columns * to_stride], Value(-1));
      for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t r = 0; r < to_stride; ++r)
          ASSERT_EQ(to.data()[off_edge + c * to_stride + r],
                    r < rows ? from.data()[1 + r * from_stride + c] : Value(-1));
    }
}

TYPED_TEST(FftTransform, TransposesAnyRectangle) {
  test::for_instruction_sets([] {
    for (const bool streams : {false, true}) {
      expect_transpose<TypeParam>(streams);
      expect_transpose<std::complex<TypeParam>>(streams);
    }
  });
}

TEST(FftBundles, HoldEveryLineOnceAndLieSideBySideWhereTheyCan) {
  constexpr int width = 8;
  for (const std::int64_t rows : {1, 3, 8, 9, 20})
    for (const std::int64_t columns : {1, 7, 8, 9, 24, 33}) {
      const Bundles<width> bundles(rows, columns);
      std::vector<int> seen(static_cast<std::size_t>(rows * columns));
      std::int64_t n_aligned = 0;
      for (std::int64_t i = 0; i < bundles.count(); ++i) {
        const Bundle bundle = bundles[i];
        ASSERT_TRUE(bundle.n >= 1 && bundle.n <= width);
        for (auto line = bundle.first; line < bundle.first + bundle.n; ++line)
          ++seen[static_cast<std::size_t>(line / bundle.width * columns + bundle.v_begin + line % bundle.width)];
        const std::int64_t column = bundle.v_begin + bundle.first % bundle.width;
        n_aligned += bundle.n == width && column % width == 0 && column + width <= columns;
      }
      EXPECT_EQ(seen, std::vector<int>(seen.size(), 1)) << rows << " rows of " << columns;
      EXPECT_GE(n_aligned, rows * (columns / width));
      EXPECT_LE(bundles.count(), (rows * columns + width - 1) / width + rows / width + 1);
      EXPECT_EQ(bundles[0].moved_by(2).first, bundles[0].first + 2 * bundles[0].width);
    }
}

}  // namespace
}  // namespace tessera::fft
