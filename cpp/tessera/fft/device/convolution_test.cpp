// Compares convolutions by a device, as a host runs them, with Transform: every bit must be the same.
#include "tessera/fft/device/convolution.h"

#include <gtest/gtest.h>

#include <bit>
#include <complex>
#include <random>
#include <string>
#include <vector>

#include "tessera/base/index.h"
#include "tessera/device/test_support/device_of_host.h"
#include "tessera/fft/schemes.h"
#include "tessera/fft/transform.h"

namespace tessera::fft {
namespace {

using device::test::DeviceOfHost;

std::vector<float> random_values(std::int64_t n, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(at(n));
  for (auto& value : values) value = uniform(random);
  return values;
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

/// Holds the points that are left, and the spectrum before factors: real parts, then imaginary ones.
struct Found {
  std::vector<float> points, spectrum;
};

Found by_host(const Index3& n, std::vector<float> points, const std::vector<float>& factors) {
  const auto comm = comm::Communicator::world();
  ThreadPool threads(1);
  Transform<float> transform(plan_transform("slab", {n}), comm, threads);
  std::vector<std::complex<float>> waves(factors.size());
  transform.forward(points, waves);
  Found found;
  for (const auto& wave : waves) found.spectrum.push_back(wave.real());
  for (const auto& wave : waves) found.spectrum.push_back(wave.imag());
  for (std::size_t k = 0; k < waves.size(); ++k)
    waves[k] = {waves[k].real() * factors[k], waves[k].imag() * factors[k]};
  transform.backward(waves, points);
  found.points = points;
  return found;
}

Found by_device(const device::DeviceInUse& in_use, const Index3& n, std::vector<float> points,
                const std::vector<float>& factors, bool keeps_spectrum) {
  const device::Stream stream(in_use.device());
  const DeviceConvolution convolution(n, in_use);
  EXPECT_EQ(convolution.n_waves(), std::ssize(factors));
  const device::DeviceArray<float> mesh(in_use.device(), points.size()), table(in_use.device(), factors.size());
  mesh.start_copy_from(points, stream);
  table.start_copy_from(factors, stream);
  Found found;
  if (keeps_spectrum) found.spectrum.resize(2 * factors.size());
  convolution.start(mesh.data(), table.data(), found.spectrum, stream);
  mesh.start_copy_to(points, stream);
  stream.wait();
  found.points = points;
  return found;
}

TEST(DeviceConvolution, HasTheBitsOfTransforms) {
  TESSERA_NEEDS_HOST_LANES();
  DeviceOfHost device;
  std::mt19937 random(5);
  std::uint64_t seed = 0;
  // All radices of passes; lines of one, two and three passes; blocks of 2, 8 and 32 lines, and with few left.
  for (const Index3 n :
       {Index3{2, 1, 1}, Index3{4, 3, 2}, Index3{12, 9, 7}, Index3{10, 16, 12}, Index3{36, 5, 35}, Index3{32, 20, 50},
        Index3{98, 1, 8}, Index3{6, 256, 3}, Index3{4, 2, 343}, Index3{1024, 3, 2}, Index3{24, 30, 54}}) {
    SCOPED_TRACE(std::to_string(n[0]) + " x " + std::to_string(n[1]) + " x " + std::to_string(n[2]));
    ASSERT_TRUE(DeviceConvolution::serves({n}));
    DeviceOfHost::set("seed=" + std::to_string(++seed % 3 + 1));
    const auto points = random_values(n[0] * n[1] * n[2], random);
    const auto factors = random_values((n[0] / 2 + 1) * n[1] * n[2], random);
    const auto expected = by_host(n, points, factors);
    for (const bool keeps : {false, true}) {
      const auto found = by_device(device.get(), n, points, factors, keeps);
      EXPECT_EQ(bits_of(found.points), bits_of(expected.points));
      if (!keeps) continue;
      EXPECT_EQ(bits_of(found.spectrum), bits_of(expected.spectrum));
    }
  }
}

TEST(DeviceConvolution, SaysWhatItServes) {
  const auto serves = [](Index3 n, int ranks = 1, std::array<int, 3> order = {0, 1, 2}) {
    TransformProblem problem{n};
    problem.ranks = ranks;
    problem.order = order;
    return DeviceConvolution::serves(problem);
  };
  EXPECT_TRUE(serves({108, 108, 80}));
  EXPECT_FALSE(serves({1024, 1024, 1024}));  // more points than are numbered
  EXPECT_FALSE(serves({107, 108, 80}));      // odd
  EXPECT_FALSE(serves({22, 108, 80}));       // 11
  EXPECT_FALSE(serves({64, 67, 80}));        // 67
  EXPECT_FALSE(serves({64, 64, 4096}));      // longer lines than fit
  EXPECT_FALSE(serves({64, 64, 64}, 2));
  EXPECT_FALSE(serves({64, 64, 64}, 1, {2, 1, 0}));
}

}  // namespace
}  // namespace tessera::fft
