// Transforms on one rank against the defining sum; several ranks: ranks_test.cpp.
#include "tessera/fft/transform.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>
#include <random>
#include <vector>

#include "tessera/fft/lines.h"
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

/// F(k) for kx ∈ [0, nx/2], z fastest, one direction after the other in double.
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
      IndexBox out = whole;  // sticks out of the mesh, more than once round for the smallest
      for (std::size_t d = 0; d < 3; ++d) out.lower[d] -= 2, out.upper[d] += 3;
      Transform<Real> transform(plan_transform("pencil", {n, Kind::real, {0, 1, 2}, 1, {whole}, {out}}), comm, threads);
      const auto mesh = random_values<Real>(whole.size(), 3);
      std::vector<std::complex<Real>> spectrum(static_cast<std::size_t>(transform.spectrum_box().size()));
      transform.forward(mesh, spectrum);
      const auto expected = naive(mesh, n);
      ASSERT_EQ(spectrum.size(), expected.size());
      // Rounding grows as √log N; sums are of size √N.
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

// The constructor checks that a line's bits do not depend on its lane; every length that meshes have must pass.
TYPED_TEST(FftTransform, LanesAreAlikeForEveryMeshLength) {
  constexpr int lanes = static_cast<int>(64 / sizeof(TypeParam));
  for (std::int64_t n = 1; n <= 512; ++n) {
    std::int64_t rest = n;
    for (const std::int64_t prime : {2, 3, 5, 7})
      while (rest % prime == 0) rest /= prime;
    if (rest > 1 && n > 40) continue;
    LinePlan<TypeParam>(LineKind::real_forward, n, lanes);
    LinePlan<TypeParam>(LineKind::real_backward, n, lanes);
    LinePlan<TypeParam>(LineKind::forward, n, lanes / 2);
    LinePlan<TypeParam>(LineKind::backward, n, lanes / 2);
  }
}

}  // namespace
}  // namespace tessera::fft
