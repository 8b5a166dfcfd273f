// Tests that fields on several ranks (threads of this process) come out as those of one rank, bit for bit, with each
// approach, batch, number of threads and kind of edge; and what one rank gets against sums in plain loops.
#include "tessera/grid/operator.h"

#include <gtest/gtest.h>

#include <random>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"
#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/grid/batches.h"

namespace tessera::grid {
namespace {

struct Case {
  Index3 shape{};
  std::array<bool, 3> is_periodic{true, true, true};
  std::int64_t fields = 1;
  int ranks = 1, threads = 1;
  bool has_one_host = true;
  double addend = 0;  // times the fields themselves
  OperatorOptions options;
};

template <class Real>
std::vector<Real> random_fields(const Case& one) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<Real> values(static_cast<std::size_t>(one.shape[0] * one.shape[1] * one.shape[2] * one.fields *
                                                    (one.options.is_complex ? 2 : 1)));
  for (auto& value : values) value = static_cast<Real>(uniform(random));
  return values;
}

/// Calls visit(offset in the whole fields, offset in the rank's, numbers) for rows of a box.
template <class Visit>
void for_rows(const Case& one, const IndexBox& box, Visit&& visit) {
  const std::int64_t c = one.options.is_complex ? 2 : 1;
  const IndexBox whole{{0, 0, 0}, one.shape};
  for (std::int64_t f = 0; f < one.fields; ++f)
    for (auto x = box.lower[0]; x < box.upper[0]; ++x)
      for (auto y = box.lower[1]; y < box.upper[1]; ++y)
        visit((f * whole.size() + whole.flat({x, y, box.lower[2]})) * c,
              (f * box.size() + box.flat({x, y, box.lower[2]})) * c, box.extent(2) * c);
}

template <class Real>
std::vector<Real> run(const Case& one, const Stencil& stencil, const std::vector<Real>& fields) {
  std::vector<Real> result(fields.size());
  const auto layout = plan_layout(one.shape, one.is_periodic, one.ranks);
  std::vector<std::string> hosts(static_cast<std::size_t>(one.ranks), "here");
  for (std::size_t rank = 1; rank < hosts.size() && !one.has_one_host; rank += 2) hosts[rank] = "there";
  comm::run_ranks(hosts, [&](const comm::Communicator& comm) {
    ThreadPool threads(one.threads);
    StencilOperator<Real> apply(stencil, layout, one.options, comm, threads);
    std::vector<Real> from(static_cast<std::size_t>(apply.values_of_field() * one.fields)), to(from.size());
    const auto& box = apply.box();
    for_rows(one, box, [&](std::int64_t whole, std::int64_t own, std::int64_t n) {
      std::copy_n(fields.data() + whole, n, from.data() + own);
    });
    const Addend<Real> addend{one.addend == 0 ? nullptr : from.data(), static_cast<Real>(one.addend)};
    for (int again = 0; again < 2; ++again) apply.apply(from, to, one.fields, addend);
    for_rows(one, box, [&](std::int64_t whole, std::int64_t own, std::int64_t n) {
      std::copy_n(to.data() + own, n, result.data() + whole);
    });
  });
  return result;
}

/// Computes the result by the definition of the stencil.
std::vector<std::complex<double>> by_loops(const Case& one, const Stencil& stencil,
                                           const std::vector<std::complex<double>>& fields) {
  const IndexBox whole{{0, 0, 0}, one.shape};
  std::vector<std::complex<double>> result(fields.size());
  for (std::int64_t f = 0; f < one.fields; ++f)
    for (std::int64_t i = 0; i < whole.size(); ++i) {
      const Index3 at{i / (one.shape[1] * one.shape[2]), i / one.shape[2] % one.shape[1], i % one.shape[2]};
      const auto its = static_cast<std::size_t>(f * whole.size() + i);
      result[its] = one.addend * fields[its];
      for (std::size_t k = 0; k < stencil.offsets.size(); ++k) {
        auto from = at;
        std::complex<double> phase = stencil.coefficients[k];
        bool is_inside = true;
        for (std::size_t d = 0; d < 3; ++d) {
          from[d] += stencil.offsets[k][d];
          for (; from[d] < 0; from[d] += one.shape[d])
            phase *= std::conj(one.options.phases[d]), is_inside &= one.is_periodic[d];
          for (; from[d] >= one.shape[d]; from[d] -= one.shape[d])
            phase *= one.options.phases[d], is_inside &= one.is_periodic[d];
        }
        if (is_inside) result[its] += phase * fields[static_cast<std::size_t>(f * whole.size() + whole.flat(from))];
      }
    }
  return result;
}

Stencil random_stencil(std::mt19937& random, bool on_axes) {
  Stencil stencil;
  std::uniform_int_distribution<std::int64_t> near(-2, 3);
  std::uniform_real_distribution<float> coefficient(-1, 1);
  for (int k = 0; k < 9; ++k) {
    Index3 offset{near(random), near(random), near(random)};
    if (on_axes)
      for (std::size_t d = 0; d < 3; ++d)
        if (d != static_cast<std::size_t>(k % 3)) offset[d] = 0;
    stencil.offsets.push_back(offset);
    stencil.coefficients.push_back(coefficient(random));
  }
  return stencil;
}

template <class Real>
void check(const Case& one, const Stencil& stencil) {
  auto alone = one;
  alone.ranks = alone.threads = 1;
  alone.has_one_host = true;
  alone.options.approach = "flat-original";
  const auto fields = random_fields<Real>(one);
  const auto expected = run<Real>(alone, stencil, fields);
  const auto found = run<Real>(one, stencil, fields);
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(found[i], expected[i]) << i << ": " << one.options.approach << ", " << one.ranks << " ranks, "
                                     << one.threads << " threads, shape " << one.shape[0] << " " << one.shape[1] << " "
                                     << one.shape[2] << (one.options.is_complex ? ", complex" : "");
  const std::size_t c = one.options.is_complex ? 2 : 1;
  std::vector<std::complex<double>> values(fields.size() / c);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = {static_cast<double>(fields[c * i]), c == 2 ? static_cast<double>(fields[2 * i + 1]) : 0.0};
  const auto defined = by_loops(one, stencil, values);
  const double most = std::is_same_v<Real, float> ? 1e-5 : 1e-13;
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(expected[c * i]), defined[i].real(), most) << i;
    if (c == 2) {
      ASSERT_NEAR(static_cast<double>(expected[2 * i + 1]), defined[i].imag(), most) << i;
    }
  }
}

TEST(GridOperator, IsTheSameOnAnyRanks) {
  std::mt19937 random(3);
  const auto pick = [&](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random);
  };
  for (int i = 0; i < 90; ++i) {
    Case one;
    for (auto& n : one.shape) n = pick(1, i % 5 == 0 ? 40 : 9);
    for (auto& periodic : one.is_periodic) periodic = pick(0, 2) > 0;
    // Some with as many fields as users have, in as large batches.
    const bool has_many = i % 9 == 1;
    one.fields = has_many ? pick(20, 64) : pick(1, 7);
    one.ranks = std::array{1, 2, 3, 4, 5, 6, 7, 8}[static_cast<std::size_t>(pick(0, 7))];
    one.threads = static_cast<int>(pick(1, 2));
    one.options.approach = approaches()[static_cast<std::size_t>(pick(0, 3))].name;
    one.has_one_host = pick(0, 1) == 1;
    one.addend = pick(0, 1) == 1 ? -0.75 : 0;
    one.options.batch = has_many ? pick(5, 32) : pick(1, 4);
    one.options.slope = static_cast<int>(pick(0, 2));
    one.options.is_complex = pick(0, 1) == 1;
    if (one.options.is_complex)
      for (std::size_t d = 0; d < 3; ++d)
        if (one.is_periodic[d] && pick(0, 1) == 1)
          one.options.phases[d] = std::polar(1.0, 0.1 * static_cast<double>(i));
    const auto stencil = random_stencil(random, i % 3 > 0);
    if (i % 2 == 0)
      check<double>(one, stencil);
    else
      check<float>(one, stencil);
  }
}

TEST(GridOperator, ExchangesWithoutComputing) {
  const auto stencil = laplacian(4, {Vec3{1, 0, 0}, Vec3{0, 1, 0}, Vec3{0, 0, 1}});
  for (const auto& approach : approaches())
    comm::run_ranks({"a", "a", "b"}, [&](const comm::Communicator& comm) {
      const auto layout = plan_layout({12, 8, 8}, {true, true, true}, 3);
      ThreadPool threads(2);
      StencilOperator<double> apply(stencil, layout, {.approach = std::string(approach.name), .batch = 2}, comm,
                                    threads);
      EXPECT_TRUE(apply.sends_messages()) << "each rank has a neighbour on the other host";
      const std::vector<double> from(static_cast<std::size_t>(7 * apply.values_of_field()), 1.0);
      auto to = from;
      for (int turn = 0; turn < 2; ++turn) {
        apply.apply_apart(from, {}, 7);
        EXPECT_EQ(apply.seconds()[static_cast<std::size_t>(GridPhase::computing)] > 0, turn > 0);
        apply.apply_apart(from, to, 7);
        for (const double value : to) ASSERT_NEAR(value, 0, 1e-13) << "of a constant";
        apply.apply(from, to, 7);
        for (const double value : to) ASSERT_NEAR(value, 0, 1e-13) << "of a constant";
      }
      StencilOperator<double> repeats(stencil, layout, {.batch = 2, .repeats_one = true}, comm, threads);
      const auto one = std::span(from).first(static_cast<std::size_t>(repeats.values_of_field()));
      repeats.apply_apart(one, {}, 7);
      repeats.apply(one, std::span(to).first(one.size()), 7);
    });
}

TEST(GridOperator, RefusesWhatItCanNotDo) {
  const auto layout = plan_layout({4, 4, 4}, {true, true, false}, 1);
  ThreadPool threads;
  const auto refusal = [&](const OperatorOptions& options) -> std::string {
    return test::message_of<InputError>([&] {
      comm::run_ranks({"here"}, [&](const comm::Communicator& comm) {
        (void)StencilOperator<double>({{{0, 0, 0}}, {1.0}}, layout, options, comm, threads);
      });
    });
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({.approach = "round"}),
            "approach \"round\"; expected flat-original, flat-optimized, hybrid-master-only, hybrid-multiple");
  EXPECT_EQ(refusal({.batch = 0}), "batch = 0; expected at least 1");
  EXPECT_EQ(refusal({.phases = {-1, 1, 1}}), "phases go with complex fields; expected 1 for real ones");
  EXPECT_EQ(refusal({.is_complex = true, .phases = {1, 1, -1}}),
            "a phase along z, where the grid is not periodic; expected 1");
}

TEST(GridBatches, Slope) {
  EXPECT_EQ(plan_batches(32, 8, 0), (std::vector<std::int64_t>{8, 8, 8, 8}));
  EXPECT_EQ(plan_batches(32, 8, 2), (std::vector<std::int64_t>{2, 4, 8, 8, 8, 2}));
  EXPECT_EQ(plan_batches(3, 8, 9), (std::vector<std::int64_t>{1, 2}));
}

TEST(GridLayout, HasLeastSurface) {
  constexpr std::array<bool, 3> periodic{true, true, true};
  EXPECT_EQ(choose_processes({64, 64, 64}, periodic, 27), (Index3{3, 3, 3}));
  // As large a surface as 2 × 2 × 2, with fewer neighbours.
  EXPECT_EQ(choose_processes({64, 64, 64}, periodic, 8), (Index3{4, 2, 1}));
  EXPECT_EQ(choose_processes({64, 8, 8}, periodic, 4), (Index3{4, 1, 1}));
  EXPECT_EQ(choose_processes({4, 4, 4}, periodic, 7), (Index3{3, 2, 1})) << "no edge can be cut into 7";
  EXPECT_EQ(choose_processes({1, 1, 1}, periodic, 5), (Index3{1, 1, 1}));
  // Along an edge that is not periodic there is a face less.
  EXPECT_EQ(choose_processes({64, 64, 64}, {true, true, false}, 2), (Index3{1, 1, 2}));
  const auto layout = plan_layout({7, 5, 3}, periodic, 6);
  std::int64_t points = 0;
  for (const auto& box : layout.boxes) points += box.size();
  EXPECT_EQ(points, 7 * 5 * 3);
  EXPECT_THROW(plan_layout({4, 4, 4}, periodic, 3, Index3{2, 2, 1}), InputError);
  EXPECT_THROW(plan_layout({4, 4, 4}, periodic, 8, Index3{8, 1, 1}), InputError);
  // A plan for many ranks.
  EXPECT_EQ(choose_processes({4096, 4096, 4096}, periodic, 65536), (Index3{64, 32, 32}));
}

}  // namespace
}  // namespace tessera::grid
