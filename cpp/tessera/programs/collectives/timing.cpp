#include "tessera/programs/collectives/timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>

#include "tessera/base/error.h"
#include "tessera/base/integer.h"
#include "tessera/comm/communicator.h"
#include "tessera/comm/mpi/collectives.h"
#include "tessera/comm/mpi/placement/renumber.h"
#include "tessera/machine/orders.h"
#include "tessera/programs/collectives/calls.h"
#include "tessera/programs/collectives/kinds.h"
#include "tessera/programs/collectives/network.h"

namespace tessera::programs {
namespace {

comm::mpi::CollectiveSettings settings_of(const std::string& text, const std::vector<machine::Trial>& trials) {
  auto [name, parameters] = collectives::named_entry(text);
  comm::mpi::CollectiveSettings settings;
  if (name == "predicted") return settings;  // as if nothing had been tried
  if (name != "auto") settings.only = name;
  settings.parameters = std::move(parameters);
  settings.trials = trials;
  return settings;
}

/// Returns a communicator of the same ranks in the order that was asked for.
MPI_Comm ordered(const std::string& order, MPI_Comm comm) {
  int n_ranks = 1;
  MPI_Comm_size(comm, &n_ranks);
  std::vector<int> places(static_cast<std::size_t>(n_ranks)), ranks = places;
  std::iota(places.begin(), places.end(), 0);
  if (order.starts_with("shuffle:")) {
    std::mt19937_64 random(integer_of<std::uint64_t>(order.substr(8), "--order " + order));
    for (auto i = places.size(); i > 1; --i) std::swap(places[i - 1], places[random() % i]);
  } else if (order != "job") {
    throw InputError(fmt::format("--order {}: expected \"job\" or \"shuffle:SEED\"", order));
  }
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    ranks[static_cast<std::size_t>(places[rank])] = static_cast<int>(rank);
  MPI_Comm result = MPI_COMM_NULL;
  comm::mpi::renumber(comm, ranks, &result);
  return result;
}

/// Waits in a barrier in which ranks leave the processor to those that still work; then all start together.
void quiet_barrier(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm, &request);
  int is_done = 0;
  for (MPI_Test(&request, &is_done, MPI_STATUS_IGNORE); !is_done; MPI_Test(&request, &is_done, MPI_STATUS_IGNORE))
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  MPI_Barrier(comm);
}

Shape shape_of(const TimingRequest& request, const NamedType& kind, MPI_Comm comm) {
  Shape shape;
  shape.operation = operation_of(request.operation);
  MPI_Comm_rank(comm, &shape.rank);
  MPI_Comm_size(comm, &shape.n_ranks);
  if (request.root < 0 || request.root >= shape.n_ranks)
    throw InputError(fmt::format("--root {}: there are {} ranks", request.root, shape.n_ranks));
  shape.root = request.root;
  shape.send_type = shape.receive_type = kind.type();
  const auto elements = request.bytes / comm::mpi::element_of(kind.type()).size;
  switch (shape.operation) {
    case CallOf::barrier:
    case CallOf::broadcast:
    case CallOf::reduce:
    case CallOf::all_reduce:
    case CallOf::scan:
    case CallOf::exscan:
    case CallOf::all_to_all:
    case CallOf::all_to_allv:
      shape.counts = {elements};
      break;
    case CallOf::scatter:
    case CallOf::gather:
    case CallOf::all_gather:
    case CallOf::reduce_scatter_block:
      shape.counts = {elements / shape.n_ranks};
      break;
    default:
      shape.counts.clear();
      for (std::int64_t r = 0; r < shape.n_ranks; ++r)
        shape.counts.push_back(elements * (r + 1) / shape.n_ranks - elements * r / shape.n_ranks);
  }
  return shape;
}

struct Turn {
  std::string name;
  std::unique_ptr<comm::mpi::Collectives> collectives;
  std::vector<double> times;  // s
};

double timed(const Call& call, comm::mpi::Collectives* collectives, MPI_Comm comm) {
  quiet_barrier(comm);
  const double begin = MPI_Wtime();
  const int code = call.run(collectives, comm);
  double seconds = MPI_Wtime() - begin;
  if (code != MPI_SUCCESS) throw std::runtime_error(fmt::format("MPI error {}", code));
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
  return seconds;
}

nlohmann::json json_of(const Turn& turn) {
  const auto& times = turn.times;
  nlohmann::json json{{"entry", turn.name}, {"times", times}, {"median", median_of(times)}, {"plan", "native"}};
  json["min"] = times.empty() ? 0 : *std::min_element(times.begin(), times.end());
  if (turn.name == "native") return json;
  const auto decision = turn.collectives->price_latest();
  json["plan"] = decision.name;
  json["reason"] = decision.reason;
  if (decision.seconds > 0) json["predicted"] = decision.seconds;
  if (decision.native_seconds > 0) json["native_predicted"] = decision.native_seconds;
  if (!decision.candidates.empty()) json["candidates"] = decision.candidates;
  return json;
}

}  // namespace

double median_of(std::vector<double> values) {
  const auto n = values.size();
  if (n == 0) return 0;
  std::sort(values.begin(), values.end());
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

nlohmann::json time_entries(const TimingRequest& request, MPI_Comm world) {
  const NamedType kind(request.elements);
  MPI_Comm comm = ordered(request.order, world);
  auto chosen = network_for("", request.map, comm);
  if (!request.uses_trials) chosen.trials.clear();
  Call call(shape_of(request, kind, comm));
  GuardedMemory send(kind, call.send_elements), receive(kind, call.receive_elements);
  std::mt19937_64 random(1);
  send.fill(random, "", false);
  receive.fill(random, "", false);
  call.addresses(send.address(), receive.address());
  std::vector<Turn> turns;
  const comm::mpi::Placement placement(comm, chosen.network);
  const auto warning = chosen.warning.empty() ? placement.warning() : chosen.warning;
  const auto wires = placement.wires_of(comm);
  for (const auto& name : request.entries) {
    auto settings = settings_of(name, chosen.trials);
    if (!chosen.warning.empty()) settings.only = "native";
    turns.push_back({name, std::make_unique<comm::mpi::Collectives>(comm, placement, settings), {}});
  }
  // The first turn, in which plans are made and connections opened, is not timed. The order of entries matters to short
  // operations, so every other turn is in reverse order.
  for (int repeat = -1; repeat < request.repeats; ++repeat)
    for (std::size_t k = 0; k < turns.size(); ++k) {
      auto& turn = turns[repeat % 2 == 0 ? k : turns.size() - 1 - k];
      const double seconds = timed(call, turn.name == "native" ? nullptr : turn.collectives.get(), comm);
      if (repeat >= 0) turn.times.push_back(seconds);
    }
  nlohmann::json json{{"operation", request.operation},
                      {"bytes", request.bytes},
                      {"elements", request.elements},
                      {"order", request.order},
                      {"repeats", request.repeats},
                      {"library", comm::Communicator::library_version()},
                      {"warning", warning},
                      {"placement", wires ? machine::placement_of(*wires) : ""}};
  int n_ranks = 1;
  MPI_Comm_size(comm, &n_ranks);
  json["ranks"] = n_ranks;
  json["entries"] = nlohmann::json::array();
  for (const auto& turn : turns) json["entries"].push_back(json_of(turn));
  turns.clear();
  MPI_Comm_free(&comm);
  return json;
}

}  // namespace tessera::programs
