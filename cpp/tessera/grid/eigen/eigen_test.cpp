// Tests what the eigensolver is made of on ranks that are threads of this process.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/grid/eigen/hamiltonian.h"
#include "tessera/grid/eigen/preconditioner.h"

namespace tessera::grid {
namespace {

struct Case {
  Index3 shape{};
  std::array<bool, 3> is_periodic{true, true, true};
  std::array<std::complex<double>, 3> phases{1, 1, 1};
  bool is_complex = false;
};

const std::array<Vec3, 3> steps{Vec3{0.5, 0, 0}, Vec3{0, 0.4, 0}, Vec3{0, 0, 0.45}};

double potential_at(const Index3& r) { return std::sin(0.3 * static_cast<double>(r[0] + 2 * r[1])) + 0.05 * r[2]; }

struct Found {
  std::vector<double> noise, image, residual, correction;  // of all points, one field
  std::array<double, 2> sums{};
};

/// Applies everything to one field of noise.
Found run(const Case& one, int ranks, int threads) {
  const auto layout = plan_layout(one.shape, one.is_periodic, ranks);
  const std::size_t components = one.is_complex ? 2 : 1;
  const IndexBox whole{{0, 0, 0}, one.shape};
  Found found;
  for (auto* values : {&found.noise, &found.image, &found.residual, &found.correction})
    values->resize(static_cast<std::size_t>(whole.size()) * components);
  comm::run_ranks(ranks, [&](const comm::Communicator& comm) {
    ThreadPool pool(threads);
    const auto& box = layout.boxes[static_cast<std::size_t>(comm.rank())];
    std::vector<double> potential(static_cast<std::size_t>(box.size()));
    const auto for_points = [&](auto&& visit) {
      Index3 r{};
      for (r[0] = box.lower[0]; r[0] < box.upper[0]; ++r[0])
        for (r[1] = box.lower[1]; r[1] < box.upper[1]; ++r[1])
          for (r[2] = box.lower[2]; r[2] < box.upper[2]; ++r[2]) visit(r, static_cast<std::size_t>(box.flat(r)));
    };
    for_points([&](const Index3& r, std::size_t i) { potential[i] = potential_at(r); });
    const WaveGrid grid{layout, steps, one.is_complex, one.phases, comm, pool};
    Hamiltonian hamiltonian(grid, 4, potential);
    std::vector<double> noise(potential.size() * components), image(noise), residual(noise);
    hamiltonian.fill_with_noise(noise, 3);
    hamiltonian.apply(noise, image, 1);
    std::array<std::array<double, 2>, 1> sums{};
    const double eigenvalue = 0.7;
    hamiltonian.find_residuals(noise, std::span(&eigenvalue, 1), residual, sums);
    WavePreconditioner preconditioner(grid);
    preconditioner.set_potential(potential, -0.2, 0.3);
    // The same among other fields, of which more than one message's go through the cycle.
    constexpr std::size_t others = 11;
    std::vector<double> among(others * noise.size());
    hamiltonian.fill_with_noise(among, 5);
    std::copy(noise.begin(), noise.end(), among.begin() + static_cast<std::ptrdiff_t>(9 * noise.size()));
    preconditioner.apply(among, others);
    auto correction = noise;
    preconditioner.apply(correction, 1);
    EXPECT_TRUE(std::equal(correction.begin(), correction.end(),
                           among.begin() + static_cast<std::ptrdiff_t>(9 * noise.size())));
    if (comm.is_root()) found.sums = sums[0];
    const auto keep = [&](const std::vector<double>& part, std::vector<double>& all) {
      for_points([&](const Index3& r, std::size_t i) {
        for (std::size_t c = 0; c < components; ++c)
          all[static_cast<std::size_t>(whole.flat(r)) * components + c] = part[i * components + c];
      });
    };
    keep(noise, found.noise);
    keep(image, found.image);
    keep(residual, found.residual);
    keep(correction, found.correction);
  });
  return found;
}

const std::vector<Case> cases = {{{31, 15, 9}, {false, false, false}},
                                 {{32, 16, 12}, {true, true, true}},
                                 {{16, 15, 12}, {true, false, true}, {std::polar(1.0, 0.4), 1, -1}, true}};

TEST(Eigen, TheSameBitsOnAnyRanksAndThreads) {
  for (const auto& one : cases) {
    const auto alone = run(one, 1, 1);
    for (const auto& [ranks, threads] : {std::pair(1, 2), std::pair(3, 1), std::pair(4, 2)}) {
      const auto found = run(one, ranks, threads);
      EXPECT_EQ(found.noise, alone.noise);
      EXPECT_EQ(found.image, alone.image);
      EXPECT_EQ(found.residual, alone.residual);
      EXPECT_EQ(found.correction, alone.correction);
      if (ranks == 1) {
        EXPECT_EQ(found.sums, alone.sums);
      }
      for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(found.sums[i], alone.sums[i], 1e-12 * std::abs(alone.sums[i]));
    }
  }
}

TEST(Eigen, ResidualsAndTheirSumsFollowFromTheImage) {
  for (const auto& one : cases) {
    const auto found = run(one, 2, 1);
    const std::size_t components = one.is_complex ? 2 : 1;
    double squares = 0, energy = 0;
    for (std::size_t i = 0; i < found.noise.size(); ++i) {
      const double expected = found.image[i] - 0.7 * found.noise[i];
      EXPECT_NEAR(found.residual[i], expected, 1e-13);
      squares += expected * expected;
      const auto at = static_cast<std::int64_t>(i / components), plane = one.shape[1] * one.shape[2];
      energy +=
          potential_at({at / plane, at % plane / one.shape[2], at % one.shape[2]}) * found.noise[i] * found.noise[i];
    }
    EXPECT_NEAR(found.sums[0], squares, 1e-10 * squares);
    EXPECT_NEAR(found.sums[1], energy, 1e-10 * std::abs(energy) + 1e-9);
  }
}

/// (−½∇² + v) after the cycle is near the identity: what is left of noise after it is small.
TEST(Eigen, TheCycleIsAnApproximateInverse) {
  for (const auto& one : cases) {
    if (one.is_complex) continue;
    const auto layout = plan_layout(one.shape, one.is_periodic, 1);
    const auto comm = comm::Communicator::world();
    ThreadPool threads(1);
    const WaveGrid grid{layout, steps, false, {1, 1, 1}, comm, threads};
    const auto n = static_cast<std::size_t>(layout.boxes[0].size());
    std::vector<double> v(n), potential(n), noise(n), correction, image(n);
    for (std::size_t i = 0; i < n; ++i) {
      potential[i] = 40 * std::sin(0.01 * static_cast<double>(i));  // far above and below the kinetic energies
      v[i] = 0.3 + std::max(potential[i] + 0.2, 0.0);
    }
    Hamiltonian hamiltonian(grid, 2, v);
    hamiltonian.fill_with_noise(noise, 0);
    correction = noise;
    WavePreconditioner preconditioner(grid);
    preconditioner.set_potential(potential, -0.2, 0.3);
    preconditioner.apply(correction, 1);
    hamiltonian.apply(correction, image, 1);
    double left = 0, all = 0;
    for (std::size_t i = 0; i < n; ++i) {
      left += (image[i] - noise[i]) * (image[i] - noise[i]);
      all += noise[i] * noise[i];
    }
    EXPECT_LT(std::sqrt(left / all), 0.25);
  }
}

}  // namespace
}  // namespace tessera::grid
