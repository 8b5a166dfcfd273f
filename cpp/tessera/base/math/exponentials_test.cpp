#include "tessera/base/math/exponentials.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tessera/base/math/elementary.h"
#include "tessera/base/test_support/instruction_sets.h"

namespace tessera {
namespace {

std::vector<double> arguments() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> x = {0,     -0.0, 1,      -1,   1e-300, -5e-324, 709.8, 710,
                           710.1, -708, -745.2, -746, -746.1, 1e300,   -1e300};
  x.insert(x.end(), {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()});
  for (int i = 0; i < 3000; ++i) {
    x.push_back(0.49999 * (i - 1500));
    x.push_back(std::ldexp(1 + 0.0003 * i, i % 60 - 52));
    x.push_back(-std::ldexp(1 + 0.0003 * i, i % 60 - 52));
  }
  return x;
}

TEST(Exponentials, HaveTheBitsOfOneAtATime) {
  const auto x = arguments();
  test::for_instruction_sets([&] {
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{18}, x.size()}) {
      std::vector<double> values(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(n));
      math::exponentiate(values);
      for (std::size_t i = 0; i < n; ++i) {
        if (std::isnan(x[i]))
          ASSERT_TRUE(std::isnan(values[i]));
        else
          ASSERT_EQ(std::bit_cast<std::uint64_t>(values[i]), std::bit_cast<std::uint64_t>(math::exp(x[i]))) << x[i];
      }
    }
  });
}

}  // namespace
}  // namespace tessera
