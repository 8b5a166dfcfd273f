#include "tessera/md/minimize/lbfgs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include "tessera/md/minimize/product_sum.h"

namespace tessera::md::minimize {
namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
void add(Vector& sum, double factor, const Vector& v) {
  for (std::size_t i = 0; i < v.size(); ++i) sum[i] += factor * v[i];
}

struct Pair {
  Vector s, y;
};

/// Computes the two-loop recursion on vectors, as published. The newest pair is the first.
Vector two_loops(const std::deque<Pair>& pairs, const Vector& g) {
  Vector q = g;
  std::vector<double> alpha;
  for (const auto& [s, y] : pairs) {
    alpha.push_back(dot(s, q) / dot(s, y));
    add(q, -alpha.back(), y);
  }
  const double scale = dot(pairs[0].s, pairs[0].y) / dot(pairs[0].y, pairs[0].y);
  for (double& value : q) value *= -scale;
  for (std::size_t i = pairs.size(); i-- > 0;)
    add(q, -alpha[i] - dot(pairs[i].y, q) / dot(pairs[i].s, pairs[i].y), pairs[i].s);
  return q;
}

TEST(Lbfgs, DirectionsAreThoseOfTwoLoopsOnVectors) {
  constexpr std::size_t n = 40;
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  const auto any = [&] {
    Vector v(n);
    std::generate(v.begin(), v.end(), [&] { return normal(random); });
    return v;
  };
  Lbfgs lbfgs;
  std::vector<Vector> basis(Lbfgs::n_basis, Vector(n, 0));
  std::deque<Pair> pairs;
  for (int iteration = 0; iteration < 30; ++iteration) {
    if (iteration == 21) lbfgs.clear(), pairs.clear();
    const auto place = lbfgs.next_place();
    auto& s = basis[place] = any();
    auto& y = basis[Lbfgs::y_of(place)] = any();
    add(y, 2, s);
    const bool is_concave = iteration % 7 == 6;
    if (is_concave)
      for (double& value : y) value = -value;
    basis[Lbfgs::g] = any();
    const auto products = [&](std::size_t i) {
      Lbfgs::Row row{};
      for (std::size_t j = 0; j < Lbfgs::n_basis; ++j) row[j] = dot(basis[i], basis[j]);
      return row;
    };
    lbfgs.add(products(place), products(Lbfgs::y_of(place)), products(Lbfgs::g));
    if (!is_concave) pairs.push_front({s, y});
    if (pairs.size() > Lbfgs::memory || (is_concave && pairs.size() == Lbfgs::memory)) pairs.pop_back();
    ASSERT_EQ(lbfgs.size(), pairs.size());
    const auto coefficients = lbfgs.direction();
    Vector direction(n, 0);
    for (std::size_t j = 0; j < Lbfgs::n_basis; ++j) add(direction, coefficients[j], basis[j]);
    const auto expected = two_loops(pairs, basis[Lbfgs::g]);
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(direction[i], expected[i], 1e-10) << iteration;
  }
}

TEST(ProductSums, OrderChangesNothing) {
  using Sums = ProductSums<2>;
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> exponent(-16, 12);
  std::vector<double> values(10000);
  for (double& v : values) v = (random() % 2 == 0 ? 1 : -1) * std::pow(10, exponent(random));
  const auto sum = [&](std::size_t parts) {
    std::vector<Sums> of_part(parts);
    for (std::size_t i = 0; i < values.size(); ++i) of_part[i % parts].add({values[i], -2 * values[i]});
    for (std::size_t p = 1; p < parts; ++p) of_part[0].merge(of_part[p]);
    const auto digits = of_part[0].digits();
    return std::pair(of_part[0], std::vector(digits.begin(), digits.end()));
  };
  auto [forwards, digits] = sum(1);
  std::shuffle(values.begin(), values.end(), random);
  EXPECT_EQ(sum(1).second, digits);
  EXPECT_EQ(sum(3).second, digits);
  long double exact = 0;
  for (const double v : values) exact += v;
  EXPECT_NEAR(forwards.value(0), static_cast<double>(exact), 1e-3);  // long double has 64 bits of 1e15
  EXPECT_NEAR(forwards.value(1), static_cast<double>(-2 * exact), 2e-3);
}

TEST(ProductSums, SmallAndLargeProductsCount) {
  ProductSums<1> sum;
  sum.add({1e-12});
  sum.add({-3e-12});
  EXPECT_NEAR(sum.value(0), -2e-12, 2e-18);
  sum.add({5e14});
  sum.add({5e14});
  EXPECT_EQ(sum.value(0), 1e15);
  sum.add({std::nan("")});
  EXPECT_EQ(sum.value(0), 1e15 + 0x1p49);  // a limit, so that it shows
}

TEST(ProductSums, ManyOfTheLargestAreExact) {
  ProductSums<1> sum;
  for (int i = 0; i < 1000; ++i) sum.add({1e300});
  for (int i = 0; i < 999; ++i) sum.add({-1e300});
  sum.add({0x1p-60});
  EXPECT_EQ(sum.digits()[0], std::int64_t{1} << 49);
  EXPECT_EQ(sum.digits()[2], 1);
}

}  // namespace
}  // namespace tessera::md::minimize
