// Tests solvers of Poisson's equation on ranks that are threads of this process.
#include "tessera/grid/poisson/poisson.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <tuple>

#include "tessera/base/error.h"
#include "tessera/base/test_support/instruction_sets.h"
#include "tessera/base/test_support/messages.h"
#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/grid/poisson/levels.h"
#include "tessera/grid/poisson/real_lines.h"

namespace tessera::grid {
namespace {

struct Case {
  Index3 shape{};
  std::array<bool, 3> is_periodic{true, true, true};
  std::array<double, 3> steps{1, 1, 1};
  int ranks = 1, threads = 1;
  PoissonOptions options;
};

struct Solved {
  std::vector<double> potential;
  PoissonResult result;
};

void for_rows(const Index3& shape, const IndexBox& box, auto&& visit) {
  const IndexBox whole{{0, 0, 0}, shape};
  for (auto x = box.lower[0]; x < box.upper[0]; ++x)
    for (auto y = box.lower[1]; y < box.upper[1]; ++y)
      visit(whole.flat({x, y, box.lower[2]}), box.flat({x, y, box.lower[2]}), box.extent(2));
}

Solved solve(const Case& one, const std::vector<double>& density, bool has_guess = false,
             const std::vector<double>& guess = {}) {
  const auto layout = plan_layout(one.shape, one.is_periodic, one.ranks);
  Solved solved{std::vector<double>(density.size()), {}};
  comm::run_ranks(one.ranks, [&](const comm::Communicator& comm) {
    ThreadPool threads(one.threads);
    PoissonSolver solver({layout, one.steps, comm, threads}, one.options);
    const auto& box = layout.boxes[static_cast<std::size_t>(comm.rank())];
    std::vector<double> from(static_cast<std::size_t>(box.size())), to(from.size());
    for_rows(one.shape, box, [&](std::int64_t whole, std::int64_t own, std::int64_t n) {
      std::copy_n(density.data() + whole, n, from.data() + own);
      if (has_guess) std::copy_n(guess.data() + whole, n, to.data() + own);
    });
    const auto result = solver.solve(from, to, has_guess);
    if (comm.is_root()) solved.result = result;
    for_rows(one.shape, box, [&](std::int64_t whole, std::int64_t own, std::int64_t n) {
      std::copy_n(to.data() + own, n, solved.potential.data() + whole);
    });
  });
  return solved;
}

std::vector<double> random_density(const Index3& shape) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]));
  for (auto& value : values) value = uniform(random);
  return values;
}

template <class Real>
void check_lines(std::int64_t n, bool is_periodic) {
  const RealLines<Real> lines(n, is_periodic);
  auto scratch = lines.scratch();
  constexpr auto lanes = RealLines<Real>::lanes;
  fft::AlignedBuffer<Real> values(n * lanes);
  std::vector<Real> before;
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (std::int64_t i = 0; i < n * lanes; ++i) before.push_back(values.data()[i] = static_cast<Real>(uniform(random)));
  lines.forward(values.data(), lanes, values.data(), lanes, scratch);
  const double most = 16 * std::numeric_limits<Real>::epsilon() * static_cast<double>(n);
  for (std::int64_t k = 0; k < n; ++k) {
    double sum = 0;
    for (std::int64_t r = 0; r < n; ++r) {
      const double angle = is_periodic
                               ? 2 * std::numbers::pi * static_cast<double>((k + 1) / 2 * r) / static_cast<double>(n)
                               : std::numbers::pi * static_cast<double>((k + 1) * (r + 1)) / static_cast<double>(n + 1);
      const double wave = !is_periodic ? std::sin(angle) : k > 0 && k % 2 == 0 ? -std::sin(angle) : std::cos(angle);
      sum += wave * static_cast<double>(before[static_cast<std::size_t>(r * lanes + 1)]);
    }
    ASSERT_NEAR(static_cast<double>(values.data()[k * lanes + 1]), sum, most) << n << ", wave " << k;
  }
  lines.backward(values.data(), lanes, values.data(), lanes, scratch);
  for (std::int64_t i = 0; i < n * lanes; ++i)
    ASSERT_NEAR(static_cast<double>(values.data()[i]), static_cast<double>(before[static_cast<std::size_t>(i)]), most);
}

TEST(GridPoisson, LinesAreSumsOfWaves) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 31, 66, 127, 128})
    for (const bool is_periodic : {true, false}) {
      check_lines<double>(n, is_periodic);
      check_lines<float>(n, is_periodic);
    }
}

TEST(GridPoisson, MethodsAgreeOnAnyShape) {
  std::mt19937 random(11);
  const auto pick = [&](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random);
  };
  for (int i = 0; i < 16; ++i) {
    Case one;
    for (auto& n : one.shape) n = pick(1, i % 4 == 0 ? 33 : 12);
    for (auto& periodic : one.is_periodic) periodic = pick(0, 1) == 1;
    for (auto& step : one.steps) step = static_cast<double>(pick(2, 5)) / 10;
    one.options.order = static_cast<int>(2 * pick(1, 6));
    one.ranks = std::array{1, 2, 3, 4, 6, 8}[static_cast<std::size_t>(pick(0, 5))];
    one.threads = static_cast<int>(pick(1, 2));
    one.options.tolerance = 1e-11;
    const auto density = random_density(one.shape);
    std::vector<Solved> all;
    for (const auto* method : {"fft", "multigrid"}) {
      one.options.method = method;
      auto alone = one;
      alone.ranks = alone.threads = 1;
      all.push_back(solve(alone, density));
      EXPECT_LE(all.back().result.residual, 1e-11);
      const auto several = solve(one, density);
      EXPECT_EQ(several.potential, all.back().potential) << method << ", " << one.ranks << " ranks";
      EXPECT_EQ(several.result.residual, all.back().result.residual);
    }
    double most = 0, size = 0;
    for (std::size_t p = 0; p < density.size(); ++p) {
      most = std::max(most, std::abs(all[0].potential[p] - all[1].potential[p]));
      size = std::max(size, std::abs(all[0].potential[p]));
    }
    EXPECT_LE(most, 1e-9 * size);
  }
}

TEST(GridPoisson, IsTheSameOnAnyProcessor) {
  for (const auto* method : {"fft", "multigrid"}) {
    Case one{{16, 18, 15}, {true, true, false}, {0.3, 0.3, 0.3}, 1, 1, {.method = method, .order = 6}};
    test::for_instruction_sets([&] { return solve(one, random_density(one.shape)).potential; });
  }
}

TEST(GridPoisson, CyclesConverge) {
  for (const auto& [shape, is_periodic, steps, order] :
       {std::tuple{Index3{32, 32, 32}, std::array{true, true, true}, std::array{1.0, 1.0, 1.0}, 2},
        {Index3{32, 32, 32}, {true, true, true}, {1.0, 1.0, 1.0}, 8},
        {Index3{31, 31, 31}, {false, false, false}, {1.0, 1.0, 1.0}, 4},
        {Index3{48, 40, 31}, {true, true, false}, {1.0, 1.3, 1.0}, 4},
        {Index3{48, 40, 15}, {true, true, false}, {1.0, 1.5, 2.5}, 6}}) {
    Case one{shape, is_periodic, steps, 2, 1, {}};
    one.options.order = order;
    one.options.tolerance = 1e-10;
    EXPECT_LE(solve(one, random_density(shape)).result.iterations, 13) << order;
  }
}

TEST(GridPoisson, LevelsArePlannedForManyRanks) {
  const auto levels = plan_levels(plan_layout({1024, 1024, 1024}, {true, true, true}, 4096), {0.1, 0.1, 0.1}, 4);
  ASSERT_EQ(levels.size(), 8u);
  EXPECT_EQ(levels.back().layout.shape, (Index3{8, 8, 8}));
  EXPECT_EQ(levels.back().layout.processes, (Index3{1, 1, 1}));
  for (const auto& level : levels) {
    std::int64_t points = 0;
    for (const auto& box : level.layout.boxes) points += box.size();
    EXPECT_EQ(points, level.layout.shape[0] * level.layout.shape[1] * level.layout.shape[2]);
  }
  EXPECT_EQ(levels[1].layout.boxes[0].upper, (Index3{32, 32, 32})) << "a rank keeps its part";
  // Edges that can't be halved, and those whose points are farther apart.
  const auto shapes = [](const Index3& shape, const std::array<bool, 3>& is_periodic,
                         const std::array<double, 3>& steps) {
    std::vector<Index3> found;
    for (const auto& level : plan_levels(plan_layout(shape, is_periodic, 1), steps, 2))
      found.push_back(level.layout.shape);
    return found;
  };
  using Shapes = std::vector<Index3>;
  EXPECT_EQ(shapes({32, 32, 33}, {true, true, true}, {1, 1, 1}), (Shapes{{32, 32, 33}}));
  EXPECT_EQ(shapes({32, 32, 31}, {true, true, false}, {1, 1, 1}), (Shapes{{32, 32, 31}, {16, 16, 15}, {8, 8, 7}}));
  EXPECT_EQ(shapes({32, 32, 9}, {true, true, true}, {1, 1, 4}), (Shapes{{32, 32, 9}, {16, 16, 9}, {8, 8, 9}}));
}

TEST(GridPoisson, SaysWhatIsWrong) {
  const auto refusal = [](const PoissonOptions& options, double value) -> std::string {
    Case one{{8, 8, 8}, {true, true, false}, {1, 1, 1}, 3, 1, options};
    auto density = random_density(one.shape);
    density[100] = value;
    try {
      (void)solve(one, density);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({}, 1), "");
  EXPECT_EQ(refusal({.method = "fast"}, 1), "no method is called \"fast\"; did you mean \"fft\"?");
  EXPECT_EQ(refusal({.order = 3}, 1), "a stencil of order 3; expected 2, 4, 6, 8, 10 or 12");
  EXPECT_EQ(refusal({.tolerance = 0}, 1), "tolerance is 0; expected a number between 0 and 1");
  EXPECT_EQ(refusal({.max_iterations = 0}, 1), "max_iterations is 0; expected at least 1");
  EXPECT_EQ(refusal({}, std::numeric_limits<double>::quiet_NaN()),
            "the density has values that are not finite; expected numbers");
  test::expect_says(refusal({.max_iterations = 2}, 1), "more max_iterations");
  test::expect_says(refusal({.tolerance = 1e-18}, 1), "falls no more");
}

TEST(GridPoisson, GuessesSaveIterations) {
  Case one{{24, 24, 24}, {true, true, true}, {0.3, 0.3, 0.3}, 2, 1, {}};
  const auto density = random_density(one.shape);
  auto first = solve(one, density);
  EXPECT_EQ(solve(one, density, true, first.potential).result.iterations, 0);
  for (auto& value : first.potential) value *= 1 + 1e-6;
  const auto again = solve(one, density, true, first.potential).result.iterations;
  EXPECT_LT(again, first.result.iterations);
  EXPECT_GT(again, 0);
}

TEST(GridPoisson, AConstantDensityIsNeutralised) {
  for (const auto* method : {"fft", "multigrid"}) {
    Case one{{9, 10, 12}, {true, true, true}, {0.3, 0.3, 0.3}, 2, 1, {.method = method}};
    const auto solved = solve(one, std::vector<double>(9 * 10 * 12, 0.7));
    EXPECT_EQ(solved.potential, std::vector<double>(9 * 10 * 12, 0.0));
    EXPECT_EQ(solved.result.iterations, 0);
  }
}

}  // namespace
}  // namespace tessera::grid
