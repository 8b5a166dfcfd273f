// Tests transforms on several ranks (threads of this process) with each scheme, exchange, kind and batch, any boxes,
// more ranks than can have work, and ranks on one host or on many. Points and spectra must be those of one rank, bit
// for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <numbers>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/comm/wires_of_ranks.h"
#include "tessera/fft/exchange.h"
#include "tessera/fft/schemes.h"
#include "tessera/fft/test_support.h"
#include "tessera/fft/transform.h"

namespace tessera::fft {
namespace {

template <class Value>
struct Field {
  IndexBox box;  // per field
  int fields = 1;
  std::vector<Value> values = std::vector<Value>(static_cast<std::size_t>(box.size() * fields));

  Value& at(int field, const Index3& point) {
    return values[static_cast<std::size_t>(field * box.size() + box.flat(point))];
  }
};

template <class Function>
void for_points(const IndexBox& box, Function&& function) {
  for (auto x = box.lower[0]; x < box.upper[0]; ++x)
    for (auto y = box.lower[1]; y < box.upper[1]; ++y)
      for (auto z = box.lower[2]; z < box.upper[2]; ++z) function(Index3{x, y, z});
}

template <class Value>
Field<Value> random_field(const Index3& grid, int fields) {
  Field<Value> field{{{0, 0, 0}, grid}, fields};
  std::mt19937 random(11);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (auto& value : field.values) {
    if constexpr (std::is_floating_point_v<Value>)
      value = uniform(random);
    else
      value = {uniform(random), uniform(random)};
  }
  return field;
}

/// Holds the results of all ranks together: the spectrum, and each rank's output box after backward.
template <class Real, class Points>
struct Outcome {
  Field<std::complex<Real>> spectrum;
  std::vector<Field<Points>> output;
};

template <class Real, class Points>
Outcome<Real, Points> run(const TransformPlan& plan, const std::vector<std::string>& hosts, Field<Points> points,
                          const std::string& exchange = "pairwise") {
  Outcome<Real, Points> outcome{{{{0, 0, 0}, plan.problem.spectrum_grid()}, points.fields}, {}};
  for (const auto& box : plan.problem.output) outcome.output.push_back({box, points.fields});
  comm::run_ranks(hosts, [&](const comm::Communicator& comm) {
    ThreadPool threads(comm.size() == 3 ? 2 : 1);
    TransformOptions options;
    options.fields = points.fields;
    options.exchange = exchange;
    options.wires = comm::wires_of_ranks(comm, "").wires;
    Transform<Real> transform(plan, comm, threads, options);
    const auto names = transform.exchanges();
    const auto reads_from = [&](int peer) {
      return hosts[static_cast<std::size_t>(peer)] == hosts[static_cast<std::size_t>(comm.rank())];
    };
    if (std::all_of(names.begin(), names.end(),
                    [](const auto& name) { return name == "pairwise" || name == "alltoall"; })) {
      EXPECT_EQ(planned_bytes<Real>(plan, comm.rank(), reads_from, options),
                static_cast<std::int64_t>(transform.bytes()));
    }
    Field<Points> input{transform.input_box(), points.fields};
    Field<std::complex<Real>> spectrum{transform.spectrum_box(), points.fields};
    for (int field = 0; field < points.fields; ++field)
      for_points(input.box, [&](const Index3& at) { input.at(field, at) = points.at(field, at); });
    transform.forward(input.values, spectrum.values);
    for (int field = 0; field < points.fields; ++field)
      for_points(spectrum.box, [&](const Index3& at) { outcome.spectrum.at(field, at) = spectrum.at(field, at); });
    transform.backward(spectrum.values, outcome.output[static_cast<std::size_t>(comm.rank())].values);
  });
  return outcome;
}

template <class Real, class Points>
void expect_as_on_one_rank(TransformKind kind) {
  std::mt19937 random(12);
  int turn = 0;
  for (const Index3 grid : {Index3{12, 10, 9}, Index3{3, 2, 7}, Index3{1, 16, 5}})
    for (const auto& [ranks, fields] : {std::pair{3, 3}, {12, 1}}) {
      const auto points = random_field<Points>(grid, fields);
      auto alone = run<Real>(plan_transform("pencil", {grid, kind}), {"host"}, points);
      for (const auto& scheme : schemes()) {
        TransformProblem problem{grid, kind, {0, 1, 2}, ranks};
        std::vector<std::string> hosts;
        ++turn;
        for (int rank = 0; rank < ranks; ++rank) hosts.push_back("n" + std::to_string(rank % (1 + turn % 4)));
        if (turn % 3 > 0) {
          problem.input = random_bricks(grid, ranks, random);
          problem.output = padded(problem.input, 2);
        }
        const auto plan = plan_transform(scheme.name, problem);
        SCOPED_TRACE(plan.summary());
        const auto& exchange = exchanges()[static_cast<std::size_t>(turn) % exchanges().size()];
        SCOPED_TRACE(exchange);
        auto found = run<Real>(plan, hosts, points, exchange);
        EXPECT_EQ(found.spectrum.values, alone.spectrum.values);
        for (auto& output : found.output)
          for (int field = 0; field < fields; ++field)
            for_points(output.box, [&](const Index3& at) {
              Index3 inside;
              for (std::size_t d = 0; d < 3; ++d) inside[d] = ((at[d] % grid[d]) + grid[d]) % grid[d];
              ASSERT_EQ(output.at(field, at), alone.output[0].at(field, inside));
            });
      }
    }
}

TEST(FftRanks, RealSingle) { expect_as_on_one_rank<float, float>(TransformKind::real); }
TEST(FftRanks, RealDouble) { expect_as_on_one_rank<double, double>(TransformKind::real); }
TEST(FftRanks, ComplexSingle) { expect_as_on_one_rank<float, std::complex<float>>(TransformKind::complex); }
TEST(FftRanks, ComplexDouble) { expect_as_on_one_rank<double, std::complex<double>>(TransformKind::complex); }

// A rank may be slow to read what others have left for it. The values of each transform are twice those of the last,
// and so must the results be, to the bit.
TEST(FftRanks, TransformsInAnyOrder) {
  auto points = random_field<std::complex<double>>({12, 10, 9}, 1);
  const std::string order = "fbffbbfbfffbbbfb";
  for (const auto& scheme : schemes()) {
    const auto plan = plan_transform(scheme.name, {{12, 10, 9}, TransformKind::complex, {2, 1, 0}, 4});
    SCOPED_TRACE(plan.summary());
    comm::run_ranks({"host", "host", "host", "host"}, [&](const comm::Communicator& comm) {
      ThreadPool threads(1);
      Transform<double> transform(plan, comm, threads);
      Field<std::complex<double>> input{transform.input_box()}, output{transform.output_box()};
      Field<std::complex<double>> spectrum{transform.spectrum_box()};
      for_points(input.box, [&](const Index3& at) { input.at(0, at) = points.at(0, at); });
      transform.forward(input.values, spectrum.values);
      auto first = spectrum;
      transform.backward(first.values, output.values);
      const auto first_spectrum = spectrum.values, first_output = output.values;
      const auto times = [](std::vector<std::complex<double>> values, double factor) {
        for (auto& value : values) value *= factor;
        return values;
      };
      double factor = 2;
      for (std::size_t i = 0; i < order.size(); ++i, factor *= 2) {
        if (static_cast<std::size_t>(comm.rank()) == i % 4) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (order[i] == 'f') {
          transform.forward(times(input.values, factor), spectrum.values);
          EXPECT_EQ(spectrum.values, times(first_spectrum, factor));
        } else {
          auto given = times(first_spectrum, factor);
          transform.backward(given, output.values);
          EXPECT_EQ(output.values, times(first_output, factor));
        }
      }
    });
  }
}

// One rank is compared with the defining sum: complex points, a batch, directions swept in NumPy's order.
TEST(FftRanks, ComplexBatchIsTheDefiningSum) {
  const Index3 grid{4, 3, 5};
  auto points = random_field<std::complex<double>>(grid, 2);
  auto found = run<double>(plan_transform("slab", {grid, TransformKind::complex, {2, 1, 0}}), {"host"}, points);
  const auto phase = [&](const Index3& k, const Index3& r) {
    double turns = 0;
    for (std::size_t d = 0; d < 3; ++d) turns += static_cast<double>(k[d] * r[d]) / static_cast<double>(grid[d]);
    return std::polar(1.0, -2 * std::numbers::pi * turns);
  };
  for (int field = 0; field < 2; ++field) {
    for_points(points.box, [&](const Index3& k) {
      std::complex<double> sum = 0;
      for_points(points.box, [&](const Index3& r) { sum += points.at(field, r) * phase(k, r); });
      EXPECT_LT(std::abs(found.spectrum.at(field, k) - sum), 1e-13);
    });
    for_points(points.box, [&](const Index3& r) {
      EXPECT_LT(std::abs(found.output[0].at(field, r) / 60.0 - points.at(field, r)), 1e-14);
    });
  }
}

}  // namespace
}  // namespace tessera::fft
