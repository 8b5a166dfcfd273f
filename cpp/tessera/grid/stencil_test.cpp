#include "tessera/grid/stencil.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tessera/base/error.h"

namespace tessera::grid {
namespace {

using Function = std::function<double(const Vec3&)>;

double apply_at(const Stencil& stencil, const std::array<Vec3, 3>& steps, const Function& function) {
  double sum = 0;
  for (std::size_t k = 0; k < stencil.offsets.size(); ++k) {
    const auto& [i, j, l] = stencil.offsets[k];
    sum += stencil.coefficients[k] * function(static_cast<double>(i) * steps[0] + static_cast<double>(j) * steps[1] +
                                              static_cast<double>(l) * steps[2]);
  }
  return sum;
}

const std::array<Vec3, 3> straight{Vec3{0.3, 0, 0}, Vec3{0, 0.4, 0}, Vec3{0, 0, 0.5}};
const std::array<Vec3, 3> oblique{Vec3{0.3, 0, 0}, Vec3{0.1, 0.4, 0}, Vec3{-0.05, 0.12, 0.5}};

TEST(Stencil, KnowsTheFormulasOfTables) {
  EXPECT_EQ(central_differences(1, 2), (std::vector<double>{-0.5, 0, 0.5}));
  EXPECT_EQ(central_differences(2, 2), (std::vector<double>{1, -2, 1}));
  const auto fourth = central_differences(2, 4);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(fourth[i], (std::array{-1., 16., -30., 16., -1.}[i] / 12), 1e-15);
  const auto sixth = central_differences(1, 6);
  for (std::size_t i = 0; i < 7; ++i)
    EXPECT_NEAR(sixth[i], (std::array{-1., 9., -45., 0., 45., -9., 1.}[i] / 60), 1e-15);
  for (const int order : {0, 1, 3, 14}) EXPECT_THROW(central_differences(2, order), InputError);
}

TEST(Stencil, HasThirteenPointsInThePaper) {
  const auto stencil = laplacian(4, straight);
  EXPECT_EQ(stencil.offsets.size(), 13U);
  EXPECT_TRUE(stencil.is_on_axes());
  EXPECT_EQ(stencil.reach(), (std::array<Index3, 2>{Index3{2, 2, 2}, Index3{2, 2, 2}}));
  EXPECT_FALSE(laplacian(4, oblique).is_on_axes());
}

/// A formula of order n is exact for polynomials of degree n + 1 (first) and n + 1 (second derivatives).
TEST(Stencil, IsExactForPolynomials) {
  for (const auto& steps : {straight, oblique})
    for (int order = 2; order <= most_order; order += 2) {
      const auto power = [&](double x) { return std::pow(x + 0.2, order); };
      const double n = order, value = std::pow(0.2, order), slope = n * std::pow(0.2, order - 1),
                   curve = n * (n - 1) * std::pow(0.2, order - 2);
      const Function along_x = [&](const Vec3& r) { return power(r.x); };
      EXPECT_NEAR(apply_at(laplacian(order, steps), steps, along_x), curve, 1e-9 * order * order);
      EXPECT_NEAR(apply_at(gradient(order, 0, steps), steps, along_x), slope, 1e-9 * order);
      EXPECT_NEAR(apply_at(gradient(order, 1, steps), steps, along_x), 0, 1e-9 * order);
      const Function mixed = [&](const Vec3& r) { return (r.y + 0.2) * (r.z - 0.7) + power(0); };
      EXPECT_NEAR(apply_at(gradient(order, 1, steps), steps, mixed), -0.7, 1e-9);
      EXPECT_NEAR(apply_at(gradient(order, 2, steps), steps, mixed), 0.2, 1e-9);
      EXPECT_NEAR(apply_at(laplacian(order, steps), steps, mixed), 0, 1e-9) << value;
    }
  EXPECT_THROW(laplacian(2, {Vec3{1, 0, 0}, Vec3{0, 1, 0}, Vec3{1, 1, 0}}), InputError);
}

}  // namespace
}  // namespace tessera::grid
