// Compares the kernels with their references, with every instruction set that this machine has, and checks that bricks
// sum the same integers as the whole mesh.
#include "tessera/md/pme/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "tessera/base/test_support/instruction_sets.h"
#include "tessera/base/test_support/random_bricks.h"
#include "tessera/md/pme/plan.h"
#include "tessera/md/test_support/systems.h"

namespace tessera::md::pme {
namespace {

/// Returns the integers of a brick, spread by the reference or by the version that runs.
template <class Real>
std::vector<FixedCharge<Real>> spread_brick(const PmeSettings& settings, const IndexBox& brick,
                                            const std::vector<Fraction>& position, const std::vector<Real>& charge,
                                            bool reference, std::int64_t slabs) {
  const std::int64_t margin = settings.order - 1, row = brick.extent(2) + 2 * margin + 3;
  Index3 lower, extent;
  for (int d = 0; d < 3; ++d) {
    lower[static_cast<std::size_t>(d)] = brick.lower[d] - margin;
    extent[static_cast<std::size_t>(d)] = brick.extent(d) + 2 * margin;
  }
  const MeshWindow window(settings.grid, lower, extent, row, settings.order);
  std::vector<FixedCharge<Real>> mesh(static_cast<std::size_t>(extent[0] * window.stride_x + mesh_slack));
  for (std::int64_t slab = 0; slab < slabs; ++slab) {
    const std::int64_t begin = margin + brick.extent(0) * slab / slabs,
                       end = margin + brick.extent(0) * (slab + 1) / slabs;
    std::vector<std::int32_t> atoms;
    select_atoms<Real>(window, settings.order, begin, end, position, charge, atoms);
    const SpreadTarget<Real> target{window, mesh.data(), begin, end};
    if (reference)
      spread_reference(target, settings.order, atoms, position.data(), charge.data());
    else
      spread(target, settings.order, atoms, position.data(), charge.data());
  }
  std::vector<FixedCharge<Real>> result;
  for (std::int64_t x = 0; x < brick.extent(0); ++x)
    for (std::int64_t y = 0; y < brick.extent(1); ++y)
      for (std::int64_t z = 0; z < brick.extent(2); ++z)
        result.push_back(
            mesh[static_cast<std::size_t>((x + margin) * window.stride_x + (y + margin) * row + z + margin)]);
  return result;
}

/// Returns the meshes.
template <class Real>
std::vector<FixedCharge<Real>> check_bricks() {
  std::vector<FixedCharge<Real>> all;
  std::mt19937 random(5);
  for (const int order : {4, 6, 8})
    for (int trial = 0; trial < 6; ++trial) {
      const PmeSettings settings{order, 0.3, {8 + 2 * (trial % 3), 9, 30}};
      std::vector<Fraction> position;
      std::vector<Real> charge;
      for (int i = 0; i < 203; ++i) {
        position.push_back({static_cast<std::int32_t>(random()), static_cast<std::int32_t>(random()),
                            static_cast<std::int32_t>(random())});
        charge.push_back(static_cast<Real>(random() % 1000) / Real(1000) - Real(0.5));
      }
      // These positions are at the ends of the box along each direction.
      position[0] = {INT32_MIN, INT32_MIN, INT32_MIN};
      position[1] = {INT32_MAX, INT32_MAX, INT32_MAX};
      const IndexBox whole_box{{0, 0, 0}, settings.grid};
      const auto whole = spread_brick<Real>(settings, whole_box, position, charge, false, 1);
      const auto reference = spread_brick<Real>(settings, whole_box, position, charge, true, 1);
      all.insert(all.end(), whole.begin(), whole.end());
      double net = 0, expected_net = 0;
      for (std::size_t i = 0; i < whole.size(); ++i) {
        net += static_cast<double>(whole[i]) / charge_scale<Real>;
        // About 200 contributions to a point may each be rounded the other way, as weights differ in the last place.
        EXPECT_NEAR(static_cast<double>(whole[i]), static_cast<double>(reference[i]),
                    (std::is_same_v<Real, float> ? 100 : 0));
      }
      for (const Real q : charge) expected_net += static_cast<double>(q);
      EXPECT_NEAR(net, expected_net, 2e-4);
      const Index3 cells{4, 3, 5};
      const auto bricks = plan_bricks(settings.grid, cells, tessera::test::random_bricks(cells, 1 + trial, random, 1));
      for (const auto& brick : bricks) {
        const auto part = spread_brick<Real>(settings, brick, position, charge, false, 1 + trial % 3);
        std::size_t i = 0;
        for (auto x = brick.lower[0]; x < brick.upper[0]; ++x)
          for (auto y = brick.lower[1]; y < brick.upper[1]; ++y)
            for (auto z = brick.lower[2]; z < brick.upper[2]; ++z, ++i)
              EXPECT_EQ(part[i], whole[static_cast<std::size_t>(whole_box.flat({x, y, z}))]);
      }
    }
  return all;
}

/// Returns the gradients.
template <class Real>
std::vector<Real> check_gather() {
  std::vector<Real> all;
  std::mt19937 random(6);
  for (const int order : {4, 6, 8}) {
    const Index3 grid{12, 15, 10}, lower{-4, -4, -4}, extent{12 + order, 15 + order, 10 + order};
    const MeshWindow window(grid, lower, extent, extent[2], order);
    std::vector<Real> mesh(static_cast<std::size_t>(extent[0] * extent[1] * extent[2] + mesh_slack));
    for (auto& value : mesh) value = static_cast<Real>(random() % 1000) / Real(500) - Real(1);
    for (const std::int64_t n : {1, 3, 100}) {
      std::vector<Fraction> position;
      std::vector<Real> charge(static_cast<std::size_t>(n), Real(1));
      for (std::int64_t i = 0; i < n; ++i)
        position.push_back({static_cast<std::int32_t>(random()), static_cast<std::int32_t>(random()),
                            static_cast<std::int32_t>(random())});
      std::vector<Real> expected(static_cast<std::size_t>(3 * n)), found(static_cast<std::size_t>(3 * n));
      EXPECT_TRUE(gather_reference(window, mesh.data(), order, n, position.data(), charge.data(), expected.data()));
      EXPECT_TRUE(gather(window, mesh.data(), order, n, position.data(), charge.data(), found.data()));
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], 32 * std::numeric_limits<Real>::epsilon());
      all.insert(all.end(), found.begin(), found.end());
      // An atom whose spline does not fit must be reported.
      const MeshWindow small(grid, lower, {order, order, order}, order, order);
      EXPECT_FALSE(n == 100 && gather(small, mesh.data(), order, n, position.data(), charge.data(), found.data()));
    }
  }
  return all;
}

/// Returns the charges.
template <class Real>
std::vector<Real> check_convert() {
  std::vector<Real> all;
  std::mt19937 random(7);
  for (const std::int64_t n : {1, 15, 16, 100}) {
    std::vector<FixedCharge<Real>> fixed;
    for (std::int64_t i = 0; i < n; ++i) fixed.push_back(static_cast<std::int32_t>(random()));
    std::vector<Real> found(fixed.size());
    std::int64_t greatest = 0;
    for (const auto value : fixed) greatest = std::max(greatest, std::abs(static_cast<std::int64_t>(value)));
    EXPECT_EQ(convert(fixed.data(), found.data(), n), greatest);
    for (std::size_t i = 0; i < fixed.size(); ++i)
      EXPECT_NEAR(static_cast<double>(found[i]), static_cast<double>(fixed[i]) / charge_scale<Real>,
                  std::abs(static_cast<double>(found[i])) * std::numeric_limits<Real>::epsilon());
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

/// Compares the integers with those of the reference, of forces beyond the limit and of NaN, too.
template <class Real>
void check_add_forces() {
  std::mt19937 random(8);
  const Vec3 to_force[3] = {{-3.25, 0.5, 1.5}, {0, -4.125, 0.25}, {0, 0, -5.0625}};
  for (const std::int64_t n : {1, 3, 8, 15, 100}) {
    std::vector<Real> charge, gradient;
    for (std::int64_t i = 0; i < 4 * n; ++i)
      (i < n ? charge : gradient).push_back(static_cast<Real>(random() % 2001) / Real(1000) - Real(1));
    charge[static_cast<std::size_t>(n / 2)] = 0;
    gradient[0] = static_cast<Real>(1e9);
    if (n > 3) gradient[7] = std::numeric_limits<Real>::quiet_NaN();
    std::vector<std::int64_t> expected(gradient.size(), 5), found = expected;
    add_forces_reference(n, charge.data(), gradient.data(), to_force, expected.data());
    add_forces(n, charge.data(), gradient.data(), to_force, found.data());
    EXPECT_EQ(found, expected);
  }
}

template <class Real>
class PmeKernel : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(PmeKernel, Reals);

TYPED_TEST(PmeKernel, BricksSumTheSameIntegersAsTheWholeMesh) {
  tessera::test::for_instruction_sets(check_bricks<TypeParam>);
}

TYPED_TEST(PmeKernel, GatherAgreesWithItsReference) { tessera::test::for_instruction_sets(check_gather<TypeParam>); }

TYPED_TEST(PmeKernel, AddsTheSameForcesAsItsReference) {
  tessera::test::for_instruction_sets(check_add_forces<TypeParam>);
}

TYPED_TEST(PmeKernel, ConvertsTheIntegers) { tessera::test::for_instruction_sets(check_convert<TypeParam>); }

}  // namespace
}  // namespace tessera::md::pme
