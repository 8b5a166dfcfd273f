#include "tessera/programs/collectives/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/comm/communicator.h"
#include "tessera/comm/mpi/collectives.h"
#include "tessera/comm/mpi/placement/hosts.h"
#include "tessera/machine/orders.h"
#include "tessera/machine/wires.h"
#include "tessera/programs/collectives/calls.h"
#include "tessera/programs/collectives/kinds.h"
#include "tessera/programs/collectives/network.h"
#include "tessera/programs/collectives/samples.h"

namespace tessera::programs {
namespace {

using collectives::CollectiveProblem;
using collectives::Operation;

struct Case {
  std::string operation, type = "double", receive_type, op = "sum", network;
  std::vector<std::pair<std::string, std::string>> types;  // with their operations, in turn, instead of these
  comm::mpi::CollectiveSettings settings;
  int root = 0;
  std::vector<std::int64_t> counts{1};  // items of each rank, over and over
  std::int64_t gap = 0;                 // items between blocks; negative: blocks in reverse order
  bool in_place = false, mixed = false, fractions = false;
  std::uint64_t seed = 0;
  int rounds = 2;
  int longer = 0;                  // further calls, each of one item more for each rank
  int groups = 1;                  // of ranks, numbered backwards, each of which makes the calls for itself
  std::vector<std::string> hosts;  // names that ranks pretend to run on, over and over
  bool spoil = false;              // one bit of what came out, which the check must notice
};

Case read_case(const nlohmann::json& json) {
  Case found;
  json.at("operation").get_to(found.operation);
  found.type = json.value("type", found.type);
  found.receive_type = json.value("receive_type", found.type);
  found.op = json.value("op", found.op);
  found.types = json.value("types", found.types);
  found.network = json.value("network", "");
  found.root = json.value("root", 0);
  if (json.contains("counts")) {
    const auto& counts = json["counts"];
    found.counts = counts.is_array() ? counts.get<std::vector<std::int64_t>>()
                                     : std::vector<std::int64_t>{counts.get<std::int64_t>()};
  }
  if (found.counts.empty()) throw InputError("\"counts\" is empty, expected one number or more");
  found.gap = json.value("gap", std::int64_t{0});
  found.in_place = json.value("in_place", false);
  found.mixed = json.value("mixed", false);
  found.fractions = json.value("fractions", false);
  found.seed = json.value("seed", std::uint64_t{0});
  found.rounds = json.value("rounds", found.rounds);
  found.longer = json.value("longer", found.longer);
  found.groups = json.value("groups", found.groups);
  found.hosts = json.value("hosts", found.hosts);
  found.spoil = json.value("spoil", false);
  auto& settings = found.settings;
  if (const auto entry = json.value("entry", "auto"); entry != "auto") settings.only = entry;
  if (json.contains("segment") || json.contains("degree") || json.contains("pattern") || json.contains("order")) {
    collectives::Parameters parameters;
    parameters.segment = json.value("segment", parameters.segment);
    parameters.degree = json.value("degree", parameters.degree);
    parameters.depth = json.value("depth", parameters.depth);
    parameters.pattern = json.value("pattern", parameters.pattern);
    parameters.by_ranks = json.value("order", "") == "ranks";
    settings.parameters = parameters;
  }
  if (json.contains("limits")) {
    const auto& limits = json["limits"];
    settings.limits.receives = limits.value("receives", settings.limits.receives);
    settings.limits.sends = limits.value("sends", settings.limits.sends);
    settings.limits.landing_bytes = limits.value("landing_bytes", settings.limits.landing_bytes);
    settings.limits.piece = limits.value("piece", settings.limits.piece);
    settings.limits.tags = limits.value("tags", settings.limits.tags);
  }
  return found;
}

std::vector<Case> read_cases(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw InputError(fmt::format("{}: can't be read; give a file with a case in each line", path));
  std::vector<Case> cases;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    try {
      if (!line.empty()) cases.push_back(read_case(nlohmann::json::parse(line)));
    } catch (const std::exception& error) {
      throw InputError(fmt::format("{}: line {}: {}", path, number, error.what()));
    }
  }
  return cases;
}

class Checker {
 public:
  Checker(Case details, MPI_Comm comm) : case_(std::move(details)), comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &n_ranks_);
  }

  /// Returns what is wrong on this rank; empty where nothing is. `plans` receives what carried out the calls one after
  /// the other, `warning` that of the map, and `n_choices` is increased by how often a plan was chosen for them. `all`
  /// is the communicator of all ranks.
  std::string run(const std::string& map, MPI_Comm all, std::vector<std::string>& plans, std::string& warning,
                  std::int64_t& n_choices) {
    const auto chosen = network_for(case_.network, map, all);
    int rank = 0;
    MPI_Comm_rank(all, &rank);
    auto settings = case_.settings;
    if (!chosen.warning.empty()) settings.only = "native";
    const auto& hosts = case_.hosts;
    const comm::mpi::Placement placement(
        all, chosen.network, hosts.empty() ? chosen.host : hosts[static_cast<std::size_t>(rank) % hosts.size()]);
    comm::mpi::Collectives ours(comm_, placement, settings);
    warning = chosen.warning.empty() ? placement.warning() : chosen.warning;
    const auto check = [&](auto member) {
      auto fault = (this->*member)(ours);
      plans.push_back(ours.latest().name);
      return fault;
    };
    if (case_.operation == "barrier") return check(&Checker::check_barrier);
    const bool has_types = !case_.types.empty();
    if (!has_types) case_.types = {{case_.type, case_.op}};
    std::string first;  // fault; other ranks may have none, so all calls are made all the same
    for (int call = 0; call <= case_.longer; ++call) {
      for (const auto& [type, op] : case_.types) {
        if (has_types) case_.type = case_.receive_type = type;
        case_.op = op;
        const auto fault = check(&Checker::check_calls);
        if (first.empty() && !fault.empty()) first = fmt::format("{} {}: {}", type, op, fault);
      }
      for (auto& count : case_.counts) ++count;
    }
    n_choices += ours.n_choices();
    return first;
  }

 private:
  std::string check_calls(comm::mpi::Collectives& ours) {
    const bool is_swapped = case_.mixed && rank_ % 2 == 1;
    const NamedType send_kind(is_swapped ? case_.receive_type : case_.type);
    const NamedType receive_kind(is_swapped ? case_.type : case_.receive_type);
    const bool reduces = is_reduction(operation_of(case_.operation));
    const std::string op_name = reduces ? case_.op : "";
    const Operator op(op_name);
    auto call = make_call(send_kind, receive_kind, case_.in_place);
    call.op = op.op();
    std::string first;  // fault; other ranks may have none, so all rounds are made all the same
    for (int round = 0; round < case_.rounds; ++round) {
      const auto note = [&](const std::string& fault) {
        if (first.empty() && !fault.empty()) first = fmt::format("round {}: {}", round, fault);
      };
      GuardedMemory send(send_kind, call.send_elements), receive(receive_kind, call.receive_elements);
      fill(send, receive, op_name, round);
      const GuardedMemory send_before = send, before = receive;
      call.addresses(send.address(), receive.address());
      const int code = call.run(&ours, comm_);
      if (case_.spoil && rank_ == 0) receive.spoil();
      if (code != MPI_SUCCESS) note(fmt::format("MPI error {}", code));
      if (send.bytes() != send_before.bytes()) note("the send buffer was changed");
      auto expected = before;
      if (reduces) {
        reduce_by_library(call, op, send_before, expected);
      } else {
        move_by_library(call, send_before, expected);
      }
      note(compare(call, receive, expected, before));
    }
    return first;
  }

  /// Checks that no rank leaves before the last has arrived, by the clock that ranks of one host share.
  std::string check_barrier(comm::mpi::Collectives& ours) {
    const auto names = comm::mpi::gather_names(comm::Communicator::host(), comm_);
    std::mt19937_64 random(case_.seed * 1000 + static_cast<std::uint64_t>(rank_));
    std::string fault;
    for (int round = 0; round < case_.rounds; ++round) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
      const auto come = std::chrono::steady_clock::now().time_since_epoch().count();
      const int code = ours.barrier();
      const auto left = std::chrono::steady_clock::now().time_since_epoch().count();
      if (code != MPI_SUCCESS) fault = fmt::format("error {}", code);
      std::int64_t last = come;
      MPI_Allreduce(MPI_IN_PLACE, &last, 1, MPI_INT64_T, MPI_MAX, comm_);
      const bool is_one_host = std::all_of(names.begin(), names.end(), [&](auto& name) { return name == names[0]; });
      if (is_one_host && left < last)
        fault = fmt::format("round {}: left {} ns before the last had come", round, last - left);
    }
    return fault;
  }

  Call make_call(const NamedType& send_kind, const NamedType& receive_kind, bool in_place) const {
    Shape shape;
    shape.operation = operation_of(case_.operation);
    shape.root = case_.root % n_ranks_;
    shape.rank = rank_;
    shape.n_ranks = n_ranks_;
    shape.counts = case_.counts;
    shape.gap = case_.gap;
    shape.in_place = in_place;
    shape.send_type = send_kind.type();
    shape.receive_type = receive_kind.type();
    shape.send_per_item = send_kind.per_item();
    shape.receive_per_item = receive_kind.per_item();
    return Call(shape);
  }

  void fill(GuardedMemory& send, GuardedMemory& receive, const std::string& op, int round) const {
    std::mt19937_64 random(case_.seed * 1000 + static_cast<std::uint64_t>(rank_ * 10 + round));
    send.fill(random, op, case_.fractions);
    receive.fill(random, op, case_.fractions);
  }

  /// Reduces by the library, never in place, as Open MPI 4.1.4 hangs in a reduce-scatter in place with an operation
  /// that does not commute. Types have no holes, as MPICH 5.0.2 then writes beyond its own storage in
  /// reduce-scatter-block.
  void reduce_by_library(const Call& ours, const Operator& op, const GuardedMemory& send,
                         GuardedMemory& receive) const {
    const NamedType kind(case_.type == "affine-holes" ? "affine" : case_.type == "vector" ? "contiguous" : case_.type);
    auto call = make_call(kind, kind, false);
    call.op = op.op();
    const auto& own = ours.is_in_place() ? receive : send;
    call_library(call, kind, own.packed(0, call.send_elements), ours, receive);
  }

  /// Moves data by the library, as bytes. Open MPI 4.1.4 hangs where ranks differ in their types, and its all-to-all of
  /// 12 ranks and more moves wrong data from one type to another; MPICH 5.0.2 ends the job in a gather of a type with
  /// holes.
  void move_by_library(const Call& ours, const GuardedMemory& send, GuardedMemory& receive) const {
    const NamedType kind(case_.type);
    const NamedType bytes(kind.per_item() * comm::mpi::element_of(kind.type()).size);
    call_library(make_call(bytes, bytes, case_.in_place), bytes, send.packed(0, ours.send_elements), ours, receive);
  }

  /// Makes the call on plain data; its result replaces the beginning of what is in `receive`, which may have room for
  /// more.
  void call_library(Call call, const NamedType& kind, const std::vector<std::byte>& own, const Call& ours,
                    GuardedMemory& receive) const {
    GuardedMemory send(kind, call.send_elements), result(kind, call.receive_elements);
    send.assign(own);
    auto values = receive.packed(0, ours.receive_elements);
    result.assign(values);
    call.addresses(send.address(), result.address());
    call.run(nullptr, comm_);
    const auto begin = result.packed(0, call.receive_elements);
    std::copy(begin.begin(), begin.end(), values.begin());
    receive.assign(values);
  }

  std::string compare(const Call& call, const GuardedMemory& ours, const GuardedMemory& expected,
                      const GuardedMemory& before) const {
    if (!is_reduction(operation_of(case_.operation)))
      return ours.bytes() == expected.bytes() ? "" : "the receive buffer differs from the library's";
    const auto [begin, end] = call.result();
    const auto found = ours.values(begin, end - begin), wanted = expected.values(begin, end - begin);
    if (case_.fractions) {
      if (auto fault = compare_rounded(found, wanted); !fault.empty()) return fault;
    } else if (found != wanted) {
      return "the result differs from the library's";
    }
    const auto rest = call.receive_elements - end;
    if (ours.values(end, rest) != before.values(end, rest)) return "the receive buffer was changed after the result";
    return ours.are_guards_whole() ? "" : "memory outside of the receive buffer was changed";
  }

  /// Compares sums of numbers below one: those of n such numbers in any order differ by less than n ulp of n.
  std::string compare_rounded(const std::vector<std::byte>& found, const std::vector<std::byte>& expected) const {
    const double tolerance = static_cast<double>(n_ranks_) * n_ranks_ * 2.3e-16;
    for (std::size_t at = 0; at < found.size(); at += sizeof(double)) {
      double a = 0, b = 0;
      std::memcpy(&a, found.data() + at, sizeof a);
      std::memcpy(&b, expected.data() + at, sizeof b);
      if (!(std::abs(a - b) <= tolerance)) return fmt::format("{} where the library has {}", a, b);
    }
    return {};
  }

  Case case_;
  MPI_Comm comm_;
  int rank_ = 0, n_ranks_ = 1;
};

}  // namespace

nlohmann::json possible_entries(int n_ranks) {
  const auto sample = sample_network("switch", n_ranks);
  const machine::Wires wires(sample.network, machine::find_hosts(sample.hosts, sample.network));
  auto possible = nlohmann::json::object();
  for (int o = 0; o <= static_cast<int>(Operation::exscan); ++o)
    for (const bool commutative : {true, false}) {
      CollectiveProblem problem{static_cast<Operation>(o), n_ranks, 0, {1}, 8, commutative};
      const bool has_block_a_rank = problem.operation == Operation::scatter || problem.operation == Operation::gather ||
                                    problem.operation == Operation::all_gather ||
                                    problem.operation == Operation::reduce_scatter;
      if (has_block_a_rank) problem.blocks.assign(static_cast<std::size_t>(n_ranks), 1);
      auto& names = possible[commutative ? "commutative" : "other"][name_of(problem.operation)];
      names = nlohmann::json::array();
      for (const auto& entry : collectives::entries())
        if (entry.can(problem, wires)) names.push_back(entry.name);
    }
  return possible;
}

nlohmann::json check_cases(const std::string& path, const std::string& map, MPI_Comm comm) {
  const auto cases = read_cases(path);
  nlohmann::json failures = nlohmann::json::array();
  std::map<std::string, int> plans;
  std::set<std::string> warnings;
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::int64_t n_choices = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::vector<std::string> used;
    std::string warning;
    MPI_Comm group = comm;
    if (cases[i].groups > 1) MPI_Comm_split(comm, rank % cases[i].groups, -rank, &group);
    auto fault = Checker(cases[i], group).run(map, comm, used, warning, n_choices);
    if (group != comm) MPI_Comm_free(&group);
    if (!warning.empty()) warnings.insert(warning);
    if (!fault.empty()) fault = fmt::format("rank {}: {}", rank, fault);
    fault = comm::mpi::agreed_text(fault, comm);
    for (const auto& plan : used) ++plans[fmt::format("{}: {}", cases[i].operation, plan)];
    if (!fault.empty()) failures.push_back({{"case", i + 1}, {"plan", used.back()}, {"what", fault}});
  }
  return {{"cases", cases.size()},
          {"failures", failures},
          {"plans", plans},
          {"choices", n_choices},
          {"warnings", warnings}};
}

}  // namespace tessera::programs
