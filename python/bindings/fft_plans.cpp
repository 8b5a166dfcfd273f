#include "core.h"

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "tessera/base/error.h"
#include "tessera/fft/choice/choose.h"
#include "tessera/fft/schemes.h"
#include "tessera/machine/orders.h"
#include "tessera/machine/survey/machine_file.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tessera;
using nlohmann::json;
using Shape = std::array<std::int64_t, 3>;

/// Returns the problem with the order of tessera.fft: the last direction is transformed first, and halved.
fft::TransformProblem problem_of(const Shape& shape, bool is_real, int ranks, const std::optional<Boxes>& input = {},
                                 const std::optional<Boxes>& output = {}) {
  fft::TransformProblem problem{
      shape, is_real ? fft::TransformKind::real : fft::TransformKind::complex, {2, 1, 0}, ranks};
  for (const auto& [given, list] : {std::pair(&input, &problem.input), {&output, &problem.output}}) {
    if (!*given) continue;
    if (static_cast<int>((*given)->shape(0)) != ranks) throw InputError("input and output: a box for each rank");
    *list = boxes_of(**given);
  }
  return problem;
}

Rows messages(const fft::TransformPlan& plan, std::size_t exchange, int first, int last, bool backward) {
  const auto moves = backward ? plan.backward() : plan.forward();
  if (exchange >= moves.size() || first < 0 || last > plan.ranks() || first > last)
    throw InputError("a plan has no such exchange or ranks");
  std::vector<std::array<std::int64_t, 3>> rows;
  std::vector<int> receivers(static_cast<std::size_t>(last - first));
  std::iota(receivers.begin(), receivers.end(), first);
  const auto& move = moves[exchange];
  fft::for_messages(plan.problem.grid, move, receivers, [&](const fft::RedistributionMessage& message) {
    rows.push_back({message.from, message.to, message.values * move.components});
  });
  return matrix(std::move(rows));
}

std::vector<std::pair<fft::TransformPlan, double>> rank_schemes(const std::string& path, int ranks_per_host,
                                                                const Shape& shape, bool is_real,
                                                                std::int64_t real_bytes,
                                                                const std::optional<Boxes>& input,
                                                                const std::optional<Boxes>& output) {
  const auto network = machine::read_network(path);
  std::vector<int> host_of_rank;
  for (std::size_t host = 0; host < network.hosts.size(); ++host)
    host_of_rank.insert(host_of_rank.end(), static_cast<std::size_t>(std::max(0, ranks_per_host)),
                        static_cast<int>(host));
  if (host_of_rank.empty()) throw InputError("no ranks on any host; give at least one");
  const machine::Wires wires(network, host_of_rank);
  std::vector<std::pair<fft::TransformPlan, double>> ranked;
  for (auto& candidate :
       fft::rank_schemes(problem_of(shape, is_real, wires.n_ranks(), input, output), real_bytes, wires))
    ranked.emplace_back(std::move(candidate.plan), candidate.predicted.seconds());
  return ranked;
}

// Of so many ranks every message is counted, of more those of `counted_ranks`, spread evenly.
constexpr int most_ranks_to_count = 16384, counted_ranks = 1024;

/// Describes the exchanges of forward in which anything moves. Of many ranks what some send stands for all: "messages"
/// is then an estimate.
json exchanges_of(const fft::TransformPlan& plan, std::int64_t real_bytes) {
  const int n_ranks = plan.ranks();
  std::vector<int> senders;
  if (n_ranks <= most_ranks_to_count) {
    senders.resize(static_cast<std::size_t>(n_ranks));
    std::iota(senders.begin(), senders.end(), 0);
  } else {
    for (std::int64_t i = 0; i < counted_ranks; ++i) senders.push_back(static_cast<int>(i * n_ranks / counted_ranks));
  }
  json list = json::array();
  for (const auto& move : plan.forward()) {
    std::int64_t n = 0, partners = 0, bytes = 0, most_partners = 0, most_bytes = 0;
    int sender = -1;
    // The way back is received by who sent the way there.
    fft::for_messages(plan.problem.grid, {move.to, move.from, move.components}, senders,
                      [&](const fft::RedistributionMessage& message) {
                        if (message.to != sender) partners = bytes = 0;
                        sender = message.to;
                        ++n;
                        most_partners = std::max(most_partners, ++partners);
                        most_bytes = std::max(most_bytes, bytes += message.values * move.components * real_bytes);
                      });
    if (n > 0)
      list.push_back({{"messages", static_cast<std::int64_t>(static_cast<double>(n) * n_ranks /
                                                             static_cast<double>(senders.size()))},
                      {"partners", most_partners},
                      {"bytes", most_bytes}});
  }
  return list;
}

constexpr int most_ranks_to_explain = 262144;

json explain(const std::optional<std::string>& path, const Shape& shape, bool is_real, int ranks,
             std::int64_t real_bytes) {
  if (ranks > most_ranks_to_explain)
    throw InputError(
        fmt::format("{} ranks: plans of more than {} take minutes; give fewer (-n)", ranks, most_ranks_to_explain));
  const auto problem = problem_of(shape, is_real, ranks);
  (void)fft::plan_transform("pencil", problem);  // says what is wrong with it
  const auto wires = path ? machine::wires_of_job(machine::read_network(*path), ranks) : fft::wires_of_one_host(ranks);
  json list = json::array();
  for (const auto& [plan, order, predicted] : fft::rank_schemes(problem, real_bytes, wires))
    list.push_back({{"scheme", plan.scheme},
                    {"processes", plan.processes},
                    {"order", order},
                    {"seconds", predicted.seconds()},
                    {"exchange_seconds", predicted.exchanges},
                    {"pass_seconds", predicted.passes},
                    {"exchanges", exchanges_of(plan, real_bytes)}});
  json left_out = json::array();
  for (const auto& scheme : fft::schemes())
    if (std::ranges::none_of(list, [&](const json& one) { return one["scheme"] == scheme.name; }))
      left_out.push_back({{"scheme", scheme.name}, {"why", scheme.restrictions}});
  return {{"shape", shape},
          {"ranks", ranks},
          {"hosts", wires.n_hosts()},
          {"estimated", ranks > most_ranks_to_count},
          {"schemes", list},
          {"left_out", left_out},
          {"chosen", list.front()["scheme"]}};
}

}  // namespace

void register_fft_plans(nb::module_& module) {
  nb::class_<fft::TransformPlan>(module, "FftPlan")
      .def(
          "__init__",
          [](fft::TransformPlan* self, const std::string& scheme, const Shape& shape, bool is_real, int ranks,
             const std::optional<Boxes>& input, const std::optional<Boxes>& output) {
            new (self)
                fft::TransformPlan(fft::plan_transform(scheme, problem_of(shape, is_real, ranks, input, output)));
          },
          "scheme"_a, "shape"_a, nb::kw_only(), "is_real"_a, "ranks"_a, "input"_a = nb::none(), "output"_a = nb::none(),
          "`input`, `output`: (ranks, 2, 3) first point and end of each rank's box; none: as the scheme likes best.")
      .def_ro("scheme", &fft::TransformPlan::scheme)
      .def_prop_ro(
          "is_ordered", [](const fft::TransformPlan& plan) { return !plan.problem.places.empty(); },
          "Whether ranks stand otherwise than numbered.")
      .def_prop_ro("processes", [](const fft::TransformPlan& plan) { return plan.processes; })
      .def_prop_ro("n_exchanges", [](const fft::TransformPlan& plan) { return plan.stages.size(); })
      .def_prop_ro(
          "largest_boxes",
          [](const fft::TransformPlan& plan) {
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
             "Plans, one a scheme, with the predicted seconds of forward and backward, the quickest first.");
  module.def(
      "explain_fft",
      [](const std::optional<std::string>& path, const Shape& shape, bool is_real, int ranks, std::int64_t real_bytes) {
        return explain(path, shape, is_real, ranks, real_bytes).dump();
      },
      "path"_a.none(), nb::kw_only(), "shape"_a, "is_real"_a, "ranks"_a, "real_bytes"_a,
      "Schemes of a transform on the machine of a map (None: one host), the quickest first (JSON text).");
}
