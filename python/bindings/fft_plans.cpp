#include "fft_plans.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
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
fft::Problem problem_of(const Shape& shape, bool is_real, int ranks, const std::optional<Boxes>& input,
                        const std::optional<Boxes>& output) {
  fft::Problem problem{shape, is_real ? fft::Kind::real : fft::Kind::complex, {2, 1, 0}, ranks};
  for (const auto& [given, list] : {std::pair(&input, &problem.input), {&output, &problem.output}}) {
    if (!*given) continue;
    if (static_cast<int>((*given)->shape(0)) != ranks) throw InputError("input and output: a box for each rank");
    *list = boxes_of(**given);
  }
  return problem;
}

Rows messages(const fft::Plan& plan, std::size_t exchange, int first, int last, bool backward) {
  const auto moves = backward ? plan.backward() : plan.forward();
  if (exchange >= moves.size() || first < 0 || last > plan.ranks() || first > last)
    throw InputError("a plan has no such exchange or ranks");
  std::vector<std::array<std::int64_t, 3>> rows;
  std::vector<int> receivers(static_cast<std::size_t>(last - first));
  std::iota(receivers.begin(), receivers.end(), first);
  const auto& move = moves[exchange];
  fft::for_messages(plan.problem.grid, move, receivers, [&](const fft::Message& message) {
    rows.push_back({message.from, message.to, message.values * move.components});
  });
  return matrix(std::move(rows));
}

std::vector<std::pair<std::string, double>> rank_schemes(const std::string& path, int ranks_per_host,
                                                         const Shape& shape, bool is_real, std::int64_t real_bytes,
                                                         const std::optional<Boxes>& input,
                                                         const std::optional<Boxes>& output) {
  const auto file = machine::read_machine_file(path);
  if (!file.machine.network) throw InputError(path + ": holds no network, only one node");
  std::vector<int> host_of_rank;
  for (std::size_t host = 0; host < file.machine.network->hosts.size(); ++host)
    host_of_rank.insert(host_of_rank.end(), static_cast<std::size_t>(std::max(0, ranks_per_host)),
                        static_cast<int>(host));
  if (host_of_rank.empty()) throw InputError("no ranks on any host; give at least one");
  const machine::Wires wires(*file.machine.network, host_of_rank);
  std::vector<std::pair<std::string, double>> ranked;
  for (const auto& candidate :
       fft::rank_schemes(problem_of(shape, is_real, wires.n_ranks(), input, output), real_bytes, wires))
    ranked.emplace_back(candidate.plan.scheme, candidate.seconds);
  return ranked;
}

}  // namespace

void register_fft_plans(nb::module_& module) {
  nb::class_<fft::Plan>(module, "FftPlan")
      .def(
          "__init__",
          [](fft::Plan* self, const std::string& scheme, const Shape& shape, bool is_real, int ranks,
             const std::optional<Boxes>& input, const std::optional<Boxes>& output) {
            new (self) fft::Plan(fft::plan_transform(scheme, problem_of(shape, is_real, ranks, input, output)));
          },
          "scheme"_a, "shape"_a, nb::kw_only(), "is_real"_a, "ranks"_a, "input"_a = nb::none(), "output"_a = nb::none(),
          "`input`, `output`: (ranks, 2, 3) first point and end of each rank's box; none: as the scheme likes best.")
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
      .def("messages", &messages, "exchange"_a, "first"_a, "last"_a, nb::kw_only(), "backward"_a = false,
           "(n, 3): sender, receiver and real numbers of what ranks [first, last) receive in exchange `exchange` of "
           "forward or backward.");
  module.def("rank_fft_schemes", &rank_schemes, "path"_a, nb::kw_only(), "ranks_per_host"_a, "shape"_a, "is_real"_a,
             "real_bytes"_a, "input"_a = nb::none(), "output"_a = nb::none(),
             "Schemes with the predicted seconds of forward and backward, the quickest first.");
}
