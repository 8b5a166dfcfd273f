#include "core.h"

#include <fmt/format.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/threads.h"
#include "tessera/grid/choice/divide.h"
#include "tessera/grid/choice/overlap.h"
#include "tessera/grid/choice/rates.h"
#include "tessera/grid/stencil.h"
#include "tessera/machine/survey/machine_file.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tessera;
using nlohmann::json;

constexpr int most_ranks_to_explain = 65536;
using Periodic = std::array<bool, 3>;

machine::Network network_of(const std::optional<std::string>& path, int ranks) {
  if (ranks > most_ranks_to_explain)
    throw InputError(
        fmt::format("{} ranks: plans of more than {} take long; give fewer (-n)", ranks, most_ranks_to_explain));
  if (path) return machine::read_network(*path);
  return machine::one_switch({{"host", ranks, {}}}, machine::Wires::unmeasured_inside);
}

grid::HaloShape halo_of(int order) {
  return grid::HaloShape::of(grid::laplacian(order, {Vec3{1, 0, 0}, Vec3{0, 1, 0}, Vec3{0, 0, 1}}));
}

json json_of(const grid::Prediction& predicted) {
  return {{"seconds", predicted.seconds()}, {"computing", predicted.computing},
          {"packing", predicted.packing},   {"starting", predicted.starting},
          {"waiting", predicted.waiting},   {"synchronising", predicted.synchronising}};
}

json json_of(const grid::ExchangeCost& exchange) {
  return {{"latency", exchange.latency}, {"transfer", exchange.transfer}, {"starting", exchange.starting}};
}

json json_of(const grid::Choice& choice) {
  auto found = json_of(choice.predicted);
  found["approach"] = choice.approach;
  found["batch"] = choice.batch;
  found["slope"] = choice.slope;
  return found;
}

/// Predicts all approaches. Flat ones have a rank for each core, hybrid ones one for each `threads` of them.
json explain(const std::optional<std::string>& path, const Index3& shape, const Periodic& periodic, int order,
             std::int64_t bytes, int cores, int threads, std::int64_t fields, const grid::CoreRates& rates) {
  const auto network = network_of(path, cores);
  const auto halo = halo_of(order);
  json list = json::array(), left_out = json::array();
  for (const auto& approach : grid::approach_models()) {
    const bool is_hybrid = approach.name.starts_with("hybrid");
    if (is_hybrid && threads == 1) {
      left_out.push_back({{"approach", approach.name}, {"why", "with one thread a rank it is flat-optimized"}});
      continue;
    }
    const int n = is_hybrid ? cores / threads : cores, each = is_hybrid ? threads : 1;
    const auto wires = grid::wires_of_threads(network, n, each);
    const auto layout = grid::plan_layout(shape, periodic, n, std::nullopt, &wires);
    const auto cost = grid::cost_of_layout(layout, halo, bytes, wires, rates);
    auto one = json_of(grid::choose_batches(approach, cost.field, fields, each));
    one["ranks"] = n;
    one["threads"] = each;
    one["processes"] = layout.processes;
    one["messages"] = cost.messages;
    one["bytes"] = cost.bytes;
    one["hosts"] = wires.n_hosts();
    one["exchange"] = json_of(cost.field.at_once);
    one["exchanges_by_direction"] = json::array();
    for (const auto& exchange : cost.field.by_direction) one["exchanges_by_direction"].push_back(json_of(exchange));
    list.push_back(std::move(one));
  }
  std::stable_sort(list.begin(), list.end(), [](const json& a, const json& b) { return a["seconds"] < b["seconds"]; });
  return {{"shape", shape},
          {"ranks", cores},
          {"threads", threads},
          {"fields", fields},
          {"approaches", list},
          {"left_out", left_out},
          {"hosts", list.front()["hosts"]},
          {"chosen", list.front()["approach"]}};
}

/// Predicts approaches with given batches and slopes, on ranks that have so many threads each.
json predict_each(const std::optional<std::string>& path, const Index3& shape, const Periodic& periodic, int order,
                  std::int64_t bytes, int ranks, int threads, std::int64_t fields,
                  const std::vector<std::tuple<std::string, std::int64_t, int>>& configurations,
                  const grid::CoreRates& rates) {
  const auto wires = grid::wires_of_threads(network_of(path, ranks * threads), ranks, threads);
  const auto layout = grid::plan_layout(shape, periodic, ranks, std::nullopt, &wires);
  const auto cost = grid::cost_of_layout(layout, halo_of(order), bytes, wires, rates).field;
  json list = json::array();
  for (const auto& [approach, batch, slope] : configurations)
    list.push_back(json_of(grid::predict(grid::find_model(approach), cost, fields, threads, batch, slope)));
  return list;
}

json divide(const std::optional<std::string>& path, const grid::DivisionProblem& problem, int ranks,
            const grid::CoreRates& rates, const grid::IterationRates& iteration) {
  json list = json::array();
  for (const auto& one : grid::rank_divisions(problem, network_of(path, ranks), ranks, rates, iteration))
    list.push_back({{"kpt", one.kpoints},
                    {"band", one.bands},
                    {"domain", one.domain},
                    {"seconds", one.seconds()},
                    {"stencils", one.stencils},
                    {"orthogonalisation", one.orthogonalisation},
                    {"waiting", one.choice.predicted.waiting},
                    {"batch", one.choice.batch}});
  return list;
}

/// Measures on so many cores of this host, on boxes of which all faces go to other ranks.
grid::CoreRates measure(const Index3& box, int order, bool is_float, bool is_complex, int cores, int threads) {
  const auto stencil = grid::laplacian(order, {Vec3{1, 0, 0}, Vec3{0, 1, 0}, Vec3{0, 0, 1}});
  const grid::RateTrial trial{.extents = box, .components = is_complex ? 2 : 1};
  ThreadPool all(cores), of_rank(threads);
  auto found =
      is_float ? grid::measure_rates<float>(stencil, trial, all) : grid::measure_rates<double>(stencil, trial, all);
  found.synchronising = grid::measure_synchronising(of_rank);
  return found;
}

std::array<double, 3> numbers_of(const grid::CoreRates& rates) {
  return {rates.point, rates.packing, rates.synchronising};
}

grid::CoreRates rates_of(double point, double packing, double synchronising, double overlap) {
  return {point, packing, synchronising, overlap};
}

grid::FieldCost cost_of(double computing, const std::vector<std::array<double, 3>>& exchanges, double packing,
                        double synchronising, double overlap) {
  grid::FieldCost cost{computing, packing, {}, {}, synchronising, overlap};
  for (const auto& [latency, transfer, starting] : exchanges)
    cost.by_direction.push_back({latency, transfer, starting});
  cost.at_once = cost.by_direction.front();
  return cost;
}

}  // namespace

void register_grid_plans(nb::module_& module) {
  module.def(
      "measure_grid",
      [](const Index3& box, int order, bool is_float, bool is_complex, int cores, int threads) {
        return numbers_of(measure(box, order, is_float, is_complex, cores, threads));
      },
      nb::kw_only(), "box"_a, "order"_a, "is_float"_a, "is_complex"_a, "cores"_a, "threads"_a,
      nb::call_guard<nb::gil_scoped_release>(),
      "s for a point of a field, s for a byte of a face, and s until the threads of a rank have met.");
  module.def(
      "assumed_grid_rates", [] { return numbers_of({}); }, "The same where nothing is measured.");
  module.def(
      "explain_grid",
      [](const std::optional<std::string>& path, const Index3& shape, const Periodic& periodic, int order,
         std::int64_t bytes, int ranks, int threads, std::int64_t fields, double point, double packing,
         double synchronising, double overlap) {
        return explain(path, shape, periodic, order, bytes, ranks, threads, fields,
                       rates_of(point, packing, synchronising, overlap))
            .dump();
      },
      "path"_a.none(), nb::kw_only(), "shape"_a, "periodic"_a, "order"_a, "bytes"_a, "ranks"_a, "threads"_a, "fields"_a,
      "point"_a, "packing"_a, "synchronising"_a, "overlap"_a,
      "Approaches to a stencil on the machine of a map (None: one host), the quickest first (JSON text).");
  module.def(
      "divide_grid",
      [](const std::optional<std::string>& path, const Index3& shape, const Periodic& periodic, int order,
         std::int64_t bytes, int ranks, std::int64_t kpoints, std::int64_t bands, double point, double packing,
         double synchronising, double overlap, double flops) {
        return divide(path, {shape, periodic, halo_of(order), bytes, kpoints, bands}, ranks,
                      rates_of(point, packing, synchronising, overlap), {.flops = flops})
            .dump();
      },
      "path"_a.none(), nb::kw_only(), "shape"_a, "periodic"_a, "order"_a, "bytes"_a, "ranks"_a, "kpoints"_a, "bands"_a,
      "point"_a, "packing"_a, "synchronising"_a, "overlap"_a, "flops"_a,
      "Divisions of ranks over k-points, bands and domains, the quickest first (JSON text).");
  module.def(
      "predict_grids",
      [](const std::optional<std::string>& path, const Index3& shape, const Periodic& periodic, int order,
         std::int64_t bytes, int ranks, int threads, std::int64_t fields,
         const std::vector<std::tuple<std::string, std::int64_t, int>>& configurations, double point, double packing,
         double synchronising, double overlap) {
        return predict_each(path, shape, periodic, order, bytes, ranks, threads, fields, configurations,
                            rates_of(point, packing, synchronising, overlap))
            .dump();
      },
      "path"_a.none(), nb::kw_only(), "shape"_a, "periodic"_a, "order"_a, "bytes"_a, "ranks"_a, "threads"_a, "fields"_a,
      "configurations"_a, "point"_a, "packing"_a, "synchronising"_a, "overlap"_a,
      "Times of approaches with their batches and slopes on ranks with so many threads (JSON text).");
  module.def(
      "grid_overlap",
      [](double exchange, double apart, double together, std::int64_t batches) {
        return grid::overlap_of({exchange, apart, together, batches});
      },
      nb::kw_only(), "exchange"_a, "apart"_a, "together"_a, "batches"_a,
      "The share of computing during which messages progressed (choice/overlap.h), or None.");
  module.def("grid_processes", &grid::choose_processes, "shape"_a, "periodic"_a, "ranks"_a, "Ranks along each edge.");
  module.def(
      "predict_grid",
      [](const std::string& approach, double computing, const std::vector<std::array<double, 3>>& exchanges,
         double packing, double synchronising, double overlap, std::int64_t fields, int threads,
         std::optional<std::int64_t> batch, int slope) {
        const auto& model = grid::find_model(approach);
        const auto cost = cost_of(computing, exchanges, packing, synchronising, overlap);
        if (!batch) return json_of(grid::choose_batches(model, cost, fields, threads)).dump();
        return json_of(
                   grid::Choice{approach, *batch, slope, grid::predict(model, cost, fields, threads, *batch, slope)})
            .dump();
      },
      "approach"_a, nb::kw_only(), "computing"_a, "exchanges"_a, "packing"_a = 0.0, "synchronising"_a = 0.0,
      "overlap"_a = 1.0, "fields"_a, "threads"_a = 1, "batch"_a = nb::none(), "slope"_a = 0,
      "Times of fields of which each costs so much; `exchanges`: latency and s a field of all faces at once, or of "
      "each "
      "direction. Without `batch` the best one (JSON text).");
}
