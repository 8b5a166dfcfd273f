// Tests transfers between grids against their definition in plain loops, and on several ranks (threads of this process)
// against one, bit for bit; and relaxation against plain loops.
#include "tessera/grid/levels/transfer.h"

#include <gtest/gtest.h>

#include <random>

#include "tessera/base/error.h"
#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/grid/levels/relaxation.h"

namespace tessera::grid {
namespace {

using Complex = std::complex<double>;

struct Case {
  Index3 coarse{};
  std::array<bool, 3> is_periodic{true, true, true};
  std::array<bool, 3> is_halved{true, true, true};
  int order = 1;
  bool is_complex = false;
  std::array<Complex, 3> phases{1, 1, 1};
  std::int64_t fields = 1;
  int ranks = 1, threads = 1;

  Index3 fine() const {
    Index3 shape{};
    for (std::size_t d = 0; d < 3; ++d) shape[d] = is_halved[d] ? 2 * coarse[d] + (is_periodic[d] ? 0 : 1) : coarse[d];
    return shape;
  }
  std::size_t components() const { return is_complex ? 2 : 1; }
};

template <class Real>
std::vector<Real> random_values(std::size_t n) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Real> values(n);
  for (auto& value : values) value = static_cast<Real>(uniform(random));
  return values;
}

std::size_t points_of(const Index3& shape) { return static_cast<std::size_t>(shape[0] * shape[1] * shape[2]); }

/// Copies a rank's box of fields out of whole ones, or back.
template <class Real>
void copy_box(const Case& one, const Index3& shape, const IndexBox& box, std::vector<Real>& whole,
              std::vector<Real>& part, bool out) {
  const IndexBox all{{0, 0, 0}, shape};
  const auto c = static_cast<std::int64_t>(one.components());
  for (std::int64_t f = 0; f < one.fields; ++f)
    for (auto x = box.lower[0]; x < box.upper[0]; ++x)
      for (auto y = box.lower[1]; y < box.upper[1]; ++y) {
        Real* in_whole = whole.data() + (f * all.size() + all.flat({x, y, box.lower[2]})) * c;
        Real* in_part = part.data() + (f * box.size() + box.flat({x, y, box.lower[2]})) * c;
        if (out)
          std::copy_n(in_whole, box.extent(2) * c, in_part);
        else
          std::copy_n(in_part, box.extent(2) * c, in_whole);
      }
}

template <class Real>
std::vector<Real> run(const Case& one, TransferKind kind, std::vector<Real> whole) {
  const bool halves = kind == TransferKind::restriction;
  const auto coarse = plan_layout(one.coarse, one.is_periodic, one.ranks);
  auto fine = plan_layout(one.fine(), one.is_periodic, one.ranks, coarse.processes);
  const auto& from = halves ? fine : coarse;
  const auto& to = halves ? coarse : fine;
  std::vector<Real> result(points_of(to.shape) * one.components() * static_cast<std::size_t>(one.fields));
  comm::run_ranks(one.ranks, [&](const comm::Communicator& comm) {
    const auto rank = static_cast<std::size_t>(comm.rank());
    ThreadPool threads(one.threads);
    Transfer<Real> transfer(kind, one.order, from, to, one.is_complex, comm, threads);
    const auto numbers = [&](const IndexBox& box) {
      return static_cast<std::size_t>(box.size() * one.fields) * one.components();
    };
    std::vector<Real> mine(numbers(from.boxes[rank])), made(numbers(to.boxes[rank]), Real{99});
    copy_box(one, from.shape, from.boxes[rank], whole, mine, true);
    for (int again = 0; again < 2; ++again) transfer.apply(mine, made, one.fields, one.phases);
    copy_box(one, to.shape, to.boxes[rank], result, made, false);
  });
  return result;
}

/// Returns the weight of the fine point at a distance from a coarse one.
double weight_of(int order, std::int64_t distance) {
  if (distance == 0) return 1;
  if (distance % 2 == 0 || std::abs(distance) > 2 * order - 1) return 0;
  double weight = 1;  // of the point at −distance/2 in the polynomial through ±½ … ±(order − ½), at 0
  for (std::int64_t other = -(2 * order - 1); other <= 2 * order - 1; other += 2)
    if (other != distance) weight *= static_cast<double>(-other) / static_cast<double>(distance - other);
  return weight;
}

/// Computes a transfer by its definition: each pair of points whose distance is within reach.
std::vector<Complex> by_loops(const Case& one, TransferKind kind, const std::vector<Complex>& from) {
  const bool halves = kind == TransferKind::restriction;
  const IndexBox coarse{{0, 0, 0}, one.coarse}, fine{{0, 0, 0}, one.fine()};
  std::vector<Complex> to(static_cast<std::size_t>((halves ? coarse : fine).size() * one.fields));
  std::array<std::vector<std::pair<std::int64_t, double>>, 3> near;  // distances and weights
  std::array<std::int64_t, 3> times{};
  double scale = 1;  // of restriction
  for (std::size_t d = 0; d < 3; ++d) {
    times[d] = one.is_halved[d] ? 2 : 1;
    scale /= static_cast<double>(times[d]);
    for (std::int64_t n = 1 - 2 * one.order; n < 2 * one.order; ++n)
      if (const double weight = weight_of(one.order, n); weight != 0 && (n == 0 || one.is_halved[d]))
        near[d].emplace_back(n, weight);
  }
  for (std::int64_t f = 0; f < one.fields; ++f)
    for (std::int64_t i = 0; i < coarse.size(); ++i) {
      const Index3 at{i / (one.coarse[1] * one.coarse[2]), i / one.coarse[2] % one.coarse[1], i % one.coarse[2]};
      for (const auto& [x, in_x] : near[0])
        for (const auto& [y, in_y] : near[1])
          for (const auto& [z, in_z] : near[2]) {
            Index3 point{times[0] * at[0] + x, times[1] * at[1] + y, times[2] * at[2] + z};
            Complex phase = in_x * in_y * in_z;
            bool is_inside = true;
            for (std::size_t d = 0; d < 3; ++d) {
              const auto n = fine.upper[d];
              if (!one.is_periodic[d] && one.is_halved[d]) ++point[d];
              for (; point[d] < 0; point[d] += n) phase *= std::conj(one.phases[d]), is_inside &= one.is_periodic[d];
              for (; point[d] >= n; point[d] -= n) phase *= one.phases[d], is_inside &= one.is_periodic[d];
            }
            if (!is_inside) continue;
            const auto in_coarse = static_cast<std::size_t>(f * coarse.size() + i);
            const auto in_fine = static_cast<std::size_t>(f * fine.size() + fine.flat(point));
            if (halves)
              to[in_coarse] += scale * phase * from[in_fine];
            else
              to[in_fine] += std::conj(phase) * from[in_coarse];
          }
    }
  return to;
}

template <class Real>
void check(const Case& one, TransferKind kind) {
  const auto shape = kind == TransferKind::restriction ? one.fine() : one.coarse;
  const auto values = random_values<Real>(points_of(shape) * one.components() * static_cast<std::size_t>(one.fields));
  auto alone = one;
  alone.ranks = alone.threads = 1;
  const auto found = run<Real>(alone, kind, values);
  if (one.ranks * one.threads > 1) {
    EXPECT_EQ(run<Real>(one, kind, values), found) << one.ranks << " ranks, order " << one.order;
    return;
  }
  const auto c = one.components();
  std::vector<Complex> from(values.size() / c);
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = {static_cast<double>(values[c * i]), c == 2 ? static_cast<double>(values[2 * i + 1]) : 0.0};
  const auto expected = by_loops(one, kind, from);
  const double tolerance = sizeof(Real) == 4 ? 2e-6 : 4e-15;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(found[c * i]), expected[i].real(), tolerance) << i << ", order " << one.order;
    if (c == 2) {
      ASSERT_NEAR(static_cast<double>(found[2 * i + 1]), expected[i].imag(), tolerance) << i;
    }
  }
}

TEST(GridTransfer, IsItsDefinition) {
  for (int order = 1; order <= 4; ++order)
    for (const bool is_complex : {false, true})
      for (const int edges : {7, 5, 0, 2})
        for (const Index3 coarse : {Index3{6, 5, 7}, Index3{3, 4, 17}}) {
          Case one{.coarse = coarse, .order = order, .is_complex = is_complex, .fields = 2};
          for (std::size_t d = 0; d < 3; ++d) {
            one.is_periodic[d] = (edges >> d & 1) != 0;
            if (is_complex && one.is_periodic[d]) one.phases[d] = std::polar(1.0, 0.7 + static_cast<double>(d));
          }
          for (const auto kind : {TransferKind::restriction, TransferKind::interpolation}) {
            check<double>(one, kind);
            check<float>(one, kind);
          }
        }
}

TEST(GridTransfer, HalvesSomeEdgesAlone) {
  for (const int halved : {0, 1, 2, 4, 6})
    for (const int ranks : {1, 3, 4}) {
      Case one{.coarse = {6, 5, 7}, .is_periodic = {true, false, true}, .order = 2, .fields = 2, .ranks = ranks};
      for (std::size_t d = 0; d < 3; ++d) one.is_halved[d] = (halved >> d & 1) != 0;
      for (const auto kind : {TransferKind::restriction, TransferKind::interpolation}) check<double>(one, kind);
      one.is_complex = true;
      one.phases = {std::polar(1.0, 0.7), 1, std::polar(1.0, -0.3)};
      for (const auto kind : {TransferKind::restriction, TransferKind::interpolation}) check<float>(one, kind);
    }
}

TEST(GridTransfer, RanksAndThreadsDoNotChangeABit) {
  for (const int ranks : {2, 3, 4, 6, 8})
    for (int order = 1; order <= 4; ++order)
      for (const int edges : {7, 2}) {
        Case one{.coarse = {9, 8, 13}, .order = order, .is_complex = order % 2 == 0, .fields = 9, .ranks = ranks};
        one.threads = 1 + order % 2;
        for (std::size_t d = 0; d < 3; ++d) {
          one.is_periodic[d] = (edges >> d & 1) != 0;
          if (one.is_complex && one.is_periodic[d]) one.phases[d] = std::polar(1.0, 0.7);
        }
        check<double>(one, TransferKind::restriction);
        check<double>(one, TransferKind::interpolation);
      }
}

TEST(GridTransfer, RefusesShapesThatDoNotFit) {
  comm::run_ranks(1, [](const comm::Communicator& comm) {
    ThreadPool threads(1);
    const auto coarse = plan_layout({8, 8, 8}, {true, true, true}, 1);
    const auto fine = plan_layout({16, 16, 17}, {true, true, true}, 1);
    EXPECT_THROW(Transfer<double>(TransferKind::restriction, 1, fine, coarse, false, comm, threads), InputError);
    EXPECT_THROW(Transfer<double>(TransferKind::restriction, 5, fine, coarse, false, comm, threads), InputError);
  });
}

/// Returns the sum of a stencil without its first term at a point of one rank's grid.
double others(const Stencil& stencil, const GridLayout& layout, const std::vector<double>& values, const Index3& at) {
  double sum = 0;
  for (std::size_t k = 1; k < stencil.offsets.size(); ++k) {
    Index3 point = at;
    bool is_inside = true;
    for (std::size_t d = 0; d < 3; ++d) {
      point[d] += stencil.offsets[k][d];
      const auto n = layout.shape[d];
      if (point[d] < 0 || point[d] >= n) is_inside &= layout.is_periodic[d];
      point[d] = (point[d] % n + n) % n;
    }
    if (is_inside) sum += stencil.coefficients[k] * values[static_cast<std::size_t>(layout.boxes[0].flat(point))];
  }
  return sum;
}

TEST(GridRelaxation, IsItsDefinition) {
  const auto layout = plan_layout({7, 6, 11}, {true, false, true}, 1);
  const auto stencil = laplacian(4, {Vec3{0.3, 0, 0}, Vec3{0.1, 0.3, 0}, Vec3{0, 0, 0.4}});
  // Here the neighbours of a row are also read beyond its ends before they are new: the halo is of the sweep before.
  const auto start = random_values<double>(points_of(layout.shape)), source = random_values<double>(start.size());
  for (const auto method : {RelaxationMethod::gauss_seidel, RelaxationMethod::jacobi}) {
    auto expected = start;
    const auto halo = start;
    const IndexBox box = layout.boxes[0];
    for (std::int64_t i = 0; i < box.size(); ++i) {
      const Index3 at{i / 66, i / 11 % 6, i % 11};
      // Periodic images are old in both methods.
      double sum = 0;
      for (std::size_t k = 1; k < stencil.offsets.size(); ++k) {
        Stencil single{{Index3{}, stencil.offsets[k]}, {1, stencil.coefficients[k]}};
        Index3 point = at;
        for (std::size_t d = 0; d < 3; ++d) point[d] += stencil.offsets[k][d];
        const bool is_new = method == RelaxationMethod::gauss_seidel && box.contains(point);
        sum += others(single, layout, is_new ? expected : halo, at);
      }
      const auto n = static_cast<std::size_t>(i);
      const double solved = (source[n] - sum) / stencil.coefficients[0];
      expected[n] = method == RelaxationMethod::gauss_seidel ? solved : 0.25 * halo[n] + 0.75 * solved;
    }
    comm::run_ranks(1, [&](const comm::Communicator& comm) {
      ThreadPool threads(2);
      Relaxation relaxation(stencil, layout, comm, threads);
      auto found = start;
      relaxation.sweep(method, found, source, 1, 0.75);
      for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-14) << i;
    });
  }
}

TEST(GridRelaxation, JacobiIsTheSameOnAnyRanks) {
  const auto stencil = laplacian(6, {Vec3{0.3, 0, 0}, Vec3{0, 0.3, 0}, Vec3{0, 0, 0.4}});
  const auto start = random_values<double>(8UL * 9 * 10);
  std::vector<double> alone;
  for (const int ranks : {1, 2, 3, 4, 6, 8}) {
    const auto layout = plan_layout({8, 9, 10}, {true, false, true}, ranks);
    Case one{.coarse = layout.shape};
    std::vector<double> result(start.size());
    comm::run_ranks(ranks, [&](const comm::Communicator& comm) {
      ThreadPool threads(1);
      Relaxation relaxation(stencil, layout, comm, threads);
      const auto& box = layout.boxes[static_cast<std::size_t>(comm.rank())];
      std::vector<double> mine(static_cast<std::size_t>(box.size()));
      auto whole = start;
      copy_box(one, layout.shape, box, whole, mine, true);
      const auto source = mine;
      relaxation.sweep(RelaxationMethod::jacobi, mine, source, 3, 0.6);
      copy_box(one, layout.shape, box, result, mine, false);
    });
    if (ranks == 1)
      alone = result;
    else
      EXPECT_EQ(result, alone) << ranks;
  }
}

TEST(GridRelaxation, RefusesAStencilWithoutItsPoint) {
  comm::run_ranks(1, [](const comm::Communicator& comm) {
    ThreadPool threads(1);
    const auto layout = plan_layout({8, 8, 8}, {true, true, true}, 1);
    const Stencil stencil{{{1, 0, 0}, {0, 0, 0}}, {1, 2}};
    EXPECT_THROW(Relaxation(stencil, layout, comm, threads), InputError);
  });
}

}  // namespace
}  // namespace tessera::grid
