#include "fft_plans.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/fft/choose.h"
#include "tessera/fft/schemes.h"
#include "tessera/machine/survey/machine_file.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tessera;
using Shape = std::array<std::int64_t, 3>;

/// As tessera.fft: the last direction is swept first, and halved.
fft::Problem problem_of(const Shape& shape, bool is_real, int ranks) {
  return {shape, is_real ? fft::Kind::real : fft::Kind::complex, {2, 1, 0}, ranks};
}

nb::ndarray<nb::numpy, std::int64_t> matrix(std::vector<std::array<std::int64_t, 3>> rows) {
  auto* kept = new std::vector<std::array<std::int64_t, 3>>(std::move(rows));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<decltype(kept)>(p); });
  return {kept->data(), {kept->size(), 3}, owner};
}

nb::ndarray<nb::numpy, std::int64_t> messages(const fft::Plan& plan, std::size_t exchange, int first, int last) {
  const auto forward = plan.forward();
  if (exchange >= forward.size() || first < 0 || last > plan.ranks() || first > last)
    throw InputError("a plan has no such exchange or ranks");
  std::vector<std::array<std::int64_t, 3>> rows;
  const auto& move = forward[exchange];
  fft::for_messages(plan.problem.grid, move, first, last, [&](const fft::Message& message) {
    rows.push_back({message.from, message.to, message.values * move.components});
  });
  return matrix(std::move(rows));
}

std::vector<std::pair<std::string, double>> rank_schemes(const std::string& path, int ranks_per_host,
                                                         const Shape& shape, bool is_real, std::int64_t real_bytes) {
  const auto file = machine::read_machine_file(path);
  if (!file.machine.network) throw InputError(path + ": holds no network, only one node");
  std::vector<int> host_of_rank;
  for (std::size_t host = 0; host < file.machine.network->hosts.size(); ++host)
    host_of_rank.insert(host_of_rank.end(), static_cast<std::size_t>(std::max(0, ranks_per_host)),
                        static_cast<int>(host));
  if (host_of_rank.empty()) throw InputError("no ranks on any host; give at least one");
  const machine::Wires wires(*file.machine.network, host_of_rank);
  std::vector<std::pair<std::string, double>> ranked;
  for (const auto& candidate : fft::rank_schemes(problem_of(shape, is_real, wires.n_ranks()), real_bytes, wires))
    ranked.emplace_back(candidate.plan.scheme, candidate.seconds);
  return ranked;
}

}  // namespace

void register_fft_plans(nb::module_& module) {
  nb::class_<fft::Plan>(module, "FftPlan")
      .def(
          "__init__",
          [](fft::Plan* self, const std::string& scheme, const Shape& shape, bool is_real, int ranks) {
            new (self) fft::Plan(fft::plan_transform(scheme, problem_of(shape, is_real, ranks)));
          },
          "scheme"_a, "shape"_a, nb::kw_only(), "is_real"_a, "ranks"_a)
      .def_prop_ro("processes", [](const fft::Plan& plan) { return plan.processes; })
      .def_prop_ro("n_exchanges", [](const fft::Plan& plan) { return plan.stages.size(); })
      .def_prop_ro(
          "largest_boxes",
          [](const fft::Plan& plan) {
            std::vector<std::int64_t> values;
            for (const auto& stage : plan.stages) {
              values.push_back(0);
              for (const auto& box : stage.swept) values.back() = std::max(values.back(), box.size());
            }
            return values;
          },
          "Values that the busiest rank holds after each stage of forward.")
      .def("messages", &messages, "exchange"_a, "first"_a, "last"_a,
           "(n, 3): sender, receiver and real numbers of what ranks [first, last) receive before stage `exchange`.");
  module.def("rank_fft_schemes", &rank_schemes, "path"_a, nb::kw_only(), "ranks_per_host"_a, "shape"_a, "is_real"_a,
             "real_bytes"_a, "Schemes with the predicted seconds of forward and backward, the quickest first.");
}
