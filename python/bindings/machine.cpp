#include "core.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "arrays.h"
#include "errors.h"
#include "tessera/base/error.h"
#include "tessera/collectives/choose.h"
#include "tessera/collectives/predict.h"
#include "tessera/machine/hostfile.h"
#include "tessera/machine/machine.h"
#include "tessera/machine/network_json.h"
#include "tessera/machine/orders.h"
#include "tessera/machine/partition.h"
#include "tessera/machine/routes/find_routes.h"
#include "tessera/machine/survey/machine_file.h"
#include "tessera/machine/survey/rtt_csv.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tessera;
using nlohmann::json;

constexpr int n_operations = static_cast<int>(collectives::Operation::exscan) + 1;

machine::MachineFile map_of(const std::string& path) {
  auto file = machine::read_machine_file(path);
  if (!file.machine.network)
    throw InputError(path + ": holds no network, only one node; measure one with `tessera machine measure`");
  return file;
}

/// Returns hosts, their subnets by Figure 2 of Lowekamp and Beguelin (1995), and the whole tree with the least time
/// between the parts of each.
json partition_of(const std::string& path) {
  const auto [hosts, times] = machine::read_rtt_csv(path);
  machine::Network network;
  for (const auto& name : hosts) network.hosts.push_back({name, 1, std::nullopt});
  network.subnets = machine::hierarchy(times);
  json subnets = json::array();
  for (const auto& group : machine::partition(times)) {
    json names = json::array();
    for (const int host : group) names.push_back(hosts[static_cast<std::size_t>(host)]);
    subnets.push_back(std::move(names));
  }
  json tree = json::array();
  for (int s = 0; s < static_cast<int>(network.subnets.size()); ++s) {
    const auto& subnet = network.subnets[static_cast<std::size_t>(s)];
    std::vector<std::vector<int>> parts;
    for (const int host : subnet.hosts) parts.push_back({host});
    for (const int part : subnet.subnets) parts.push_back(network.hosts_of(part));
    double least = std::numeric_limits<double>::infinity();
    for (const auto& one : parts)
      for (const auto& other : parts) {
        if (&one == &other) continue;
        for (const int a : one)
          for (const int b : other) least = std::fmin(least, times.between(a, b));
      }
    tree.push_back({{"parent", subnet.parent},
                    {"subnets", subnet.subnets},
                    {"hosts", subnet.hosts},
                    {"least", std::isfinite(least) ? json(least) : json()}});
  }
  return {{"hosts", hosts}, {"subnets", std::move(subnets)}, {"tree", std::move(tree)}};
}

std::vector<Rows> route_patterns(int n_hosts) {
  std::vector<Rows> patterns;
  for (const auto& flows : machine::route_patterns(n_hosts)) {
    std::vector<std::array<std::int64_t, 3>> rows;
    for (const auto& flow : flows) rows.push_back({flow.from, flow.to, 1});
    patterns.push_back(matrix(std::move(rows)));
  }
  return patterns;
}

/// Finds the routes of a network. `slowdowns`: of the slowest flow of each pattern, beside one alone.
json find_routes(const std::string& path, const std::vector<double>& slowdowns) {
  auto network = machine::read_network(path);
  const auto patterns = machine::route_patterns(static_cast<int>(network.hosts.size()));
  if (slowdowns.size() != patterns.size()) throw InputError("a slowdown for each pattern");
  std::vector<machine::Experiment> experiments;
  for (std::size_t i = 0; i < patterns.size(); ++i)
    experiments.push_back({patterns[i], 1, std::vector<double>(patterns[i].size(), 1.0),
                           std::vector<double>(patterns[i].size(), slowdowns[i])});
  network.routes = machine::find_routes(network, experiments);
  return network.routes ? machine::to_json(network)["routes"] : json();
}

/// Returns the number of ranks on each host: the same on all, or one for each.
std::vector<int> ranks_on_hosts(const machine::Network& network, const std::vector<int>& given) {
  std::vector<int> ranks;
  if (given.empty())
    for (const auto& host : network.hosts) ranks.push_back(host.slots);
  else if (given.size() == 1)
    ranks.assign(network.hosts.size(), given.front());
  else
    ranks = given;
  if (ranks.size() != network.hosts.size())
    throw InputError(fmt::format("ranks are given for {} hosts, the map has {}; give one number, or one for each",
                                 ranks.size(), network.hosts.size()));
  for (const int n : ranks)
    if (n < 0) throw InputError(fmt::format("{} ranks on a host; expected 0 or more", n));
  return ranks;
}

// A line each, and an order of them all in memory.
constexpr std::int64_t most_ranks_in_host_file = 10'000'000;

std::string host_file(const std::string& path, const std::string& format, const std::string& order,
                      const std::vector<int>& dims, std::optional<int> n_ranks) {
  const auto map = map_of(path);
  const auto& network = *map.machine.network;
  std::int64_t n = n_ranks.value_or(0);
  if (!n_ranks)
    for (const auto& host : network.hosts) n += host.slots;
  if (n > most_ranks_in_host_file)
    throw InputError(fmt::format("{}: {} ranks, more than the {} that a host file may hold; give fewer (-n)", path, n,
                                 most_ranks_in_host_file));
  const auto ranks = machine::fill_slots(network, static_cast<int>(n));
  machine::RankOrder ranks_to_hosts;
  if (order == "ring")
    ranks_to_hosts = machine::ring_order(network, ranks);
  else if (order == "cartesian")
    ranks_to_hosts = machine::cartesian_order(network, ranks, dims);
  else
    ranks_to_hosts = machine::hypercube_order(network, ranks);
  return machine::host_file(network, ranks_to_hosts, machine::host_file_format(format));
}

/// Returns the wire that a plan keeps busy longest, and for how long (s).
std::pair<std::string, double> bound_of(const collectives::PlanPrediction& prediction, const machine::Wires& wires) {
  const auto most = std::ranges::max_element(prediction.wire_busy);
  if (most == prediction.wire_busy.end()) return {"", 0};
  return {wires.wires()[static_cast<std::size_t>(most - prediction.wire_busy.begin())].name, *most};
}

collectives::Operation operation_of(const std::string& name) {
  for (int i = 0; i < n_operations; ++i)
    if (const auto operation = static_cast<collectives::Operation>(i); name == collectives::name_of(operation))
      return operation;
  throw InputError(fmt::format("unknown operation {}", name));
}

/// Returns a problem as benchmarks of MPI libraries count bytes: the whole vector, of which every rank has an equal
/// share where the operation has shares; in an all-to-all the block of one pair.
collectives::CollectiveProblem problem_of(collectives::Operation operation, std::int64_t bytes, int n_ranks) {
  using collectives::Operation;
  collectives::CollectiveProblem problem;
  problem.operation = operation;
  problem.n_ranks = n_ranks;
  problem.element_bytes = problem.reduces() ? 8 : 1;  // double
  const std::int64_t elements = (bytes + problem.element_bytes - 1) / problem.element_bytes;
  switch (operation) {
    case Operation::barrier:
      problem.blocks = {1};
      problem.element_bytes = 0;
      break;
    case Operation::scatter:
    case Operation::gather:
    case Operation::all_gather:
    case Operation::reduce_scatter:
      for (int rank = 0; rank < n_ranks; ++rank)
        problem.blocks.push_back(elements / n_ranks + (rank < elements % n_ranks ? 1 : 0));
      break;
    default:
      problem.blocks = {elements};
  }
  return problem;
}

// Plans of so many take minutes.
constexpr std::int64_t most_ranks_to_explain = 65536;

json explain(const std::string& path, const std::string& operation, std::int64_t bytes, const std::vector<int>& given) {
  auto map = map_of(path);
  const auto& network = *map.machine.network;
  auto& trials = map.trials;
  const std::string library = trials.empty() ? "" : trials.back().library;  // the one that was tried last
  std::erase_if(trials, [&](const machine::Trial& trial) { return trial.library != library; });
  std::vector<int> host_of_rank;
  const auto ranks = ranks_on_hosts(network, given);
  if (const auto n = std::accumulate(ranks.begin(), ranks.end(), std::int64_t{0}); n > most_ranks_to_explain)
    throw InputError(fmt::format("{} ranks in all; give at most {} (--ranks-per-host)", n, most_ranks_to_explain));
  for (std::size_t host = 0; host < ranks.size(); ++host)
    host_of_rank.insert(host_of_rank.end(), static_cast<std::size_t>(ranks[host]), static_cast<int>(host));
  if (host_of_rank.empty()) throw InputError("no ranks on any host; give at least one (--ranks-per-host)");
  const machine::Wires wires(network, host_of_rank);
  const auto problem = problem_of(operation_of(operation), bytes, wires.n_ranks());
  const auto choice = collectives::choose_by_class(problem, wires, trials);
  json candidates = json::array();
  for (const auto& candidate : choice.ranked) {
    const auto plan = candidate.entry->plan(problem, wires, candidate.parameters);
    const auto [wire, busy] = bound_of(collectives::predict(plan, problem, wires), wires);
    candidates.push_back({{"entry", candidate.entry->name},
                          {"plan", plan.entry},
                          {"seconds", candidate.seconds},
                          {"bound_wire", wire},
                          {"bound_seconds", busy},
                          {"messages", plan.messages.size()}});
  }
  const auto chosen =
      choice.ours ? collectives::plan_of(*choice.ours->entry, problem, wires, choice.ours->parameters).entry : "native";
  const auto used = std::ranges::count_if(ranks, [](int n) { return n > 0; });
  return {{"operation", operation},
          {"bytes", bytes},
          {"class_bytes", collectives::bytes_of(collectives::representative(problem))},
          {"n_ranks", wires.n_ranks()},
          {"n_hosts", used},
          {"chosen", chosen},
          {"reason", choice.reason},
          {"trials_of", library},
          {"native_seconds", choice.native_seconds},
          {"candidates", std::move(candidates)}};
}

}  // namespace

void register_machine(nb::module_& module) {
  register_errors();
  module.def(
      "operations",
      [] {
        std::vector<std::string> names;
        for (int i = 0; i < n_operations; ++i)
          names.emplace_back(collectives::name_of(static_cast<collectives::Operation>(i)));
        return names;
      },
      "Names of the collective operations.");
  module.def(
      "read_map", [](const std::string& path) { return machine::machine_file_text(machine::read_machine_file(path)); },
      "path"_a, "A machine file, checked, as JSON text of the newest version. Raises InputError.");
  module.def(
      "summary_of_map", [](const std::string& path) { return machine::read_machine_file(path).machine.summary(); },
      "path"_a, "What is known of a node, in one line.");
  module.def(
      "partition", [](const std::string& path) { return partition_of(path).dump(); }, "path"_a,
      "Hosts, subnets and their tree (JSON text) from a CSV matrix of times. Raises InputError.");
  module.def("route_patterns", &route_patterns, "n_hosts"_a,
             "(hosts, 3) each: sender, receiver, 1. What a survey lets talk at once to find routes.");
  module.def(
      "find_routes",
      [](const std::string& path, const std::vector<double>& slowdowns) { return find_routes(path, slowdowns).dump(); },
      "path"_a, "slowdowns"_a,
      "Routes (JSON text, null: none) of the network of a map, from how many times as long as one flow alone the "
      "slowest of each pattern took.");
  module.def("host_file", &host_file, "path"_a, nb::kw_only(), "format"_a, "order"_a, "dims"_a, "n_ranks"_a.none(),
             "Text of a host file that gives ranks an order on the hosts of a map. Raises InputError.");
  module.def(
      "explain_collective",
      [](const std::string& path, const std::string& operation, std::int64_t bytes, const std::vector<int>& ranks) {
        return explain(path, operation, bytes, ranks).dump();
      },
      "path"_a, nb::kw_only(), "operation"_a, "bytes"_a, "ranks_per_host"_a,
      "Candidates of a collective on the machine of a map with predicted times, and the choice (JSON text).");
}
