#include "tessera/comm/mpi/placement/traffic.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include "tessera/machine/load/traffic.h"

namespace tessera::comm::mpi {
namespace {

constexpr double seconds_of_flow = 0.1;  // as long as bursts of other traffic, so that a few flows see their mean
constexpr int least_turns = 2;
constexpr int most_piece = 60000;  // bytes: messages that libraries send without asking the receiver first
constexpr int data_tag = 1, end_tag = 2, ready_tag = 3;

/// Returns the first rank on each host; -1: none.
std::vector<int> leaders_of(const std::vector<int>& host_of_rank, std::size_t n_hosts) {
  std::vector<int> leaders(n_hosts, -1);
  for (std::size_t rank = host_of_rank.size(); rank-- > 0;)
    leaders[static_cast<std::size_t>(host_of_rank[rank])] = static_cast<int>(rank);
  return leaders;
}

/// One direction of this rank's part of a probe: pieces one after another, and at the end a message by which the receiver
/// says that it has all. The two directions of a rank do not wait for each other.
class Stream {
 public:
  Stream(MPI_Comm comm, int peer, bool is_out, std::int64_t bytes)
      : comm_(comm), peer_(peer), is_out_(is_out), left_(bytes), data_(static_cast<std::size_t>(most_piece)) {}

  /// Starts the next message. Returns false where there is none left.
  bool start(MPI_Request* request) {
    if (peer_ == MPI_PROC_NULL || is_over_) return false;
    const auto piece = static_cast<int>(std::min<std::int64_t>(most_piece, left_));
    is_over_ = piece == 0;
    if (is_out_ != is_over_)
      MPI_Isend(data_.data(), piece, MPI_BYTE, peer_, is_out_ ? data_tag : end_tag, comm_, request);
    else
      MPI_Irecv(data_.data(), piece, MPI_BYTE, peer_, is_out_ ? end_tag : data_tag, comm_, request);
    left_ -= piece;
    return true;
  }

 private:
  MPI_Comm comm_;
  int peer_;
  bool is_out_;
  std::int64_t left_;
  bool is_over_ = false;  // the last message has been started
  std::vector<std::byte> data_;
};

/// Carries out this rank's part of the flows of a probe, of which it sends at most one and receives at most one.
/// Returns the time until the receiver of its own had all of it, s; 0 where it sends none.
double send_flows(MPI_Comm comm, int rank, const machine::TrafficProbe& probe, const std::vector<int>& leaders) {
  int to = MPI_PROC_NULL, from = MPI_PROC_NULL;
  for (const auto& flow : probe.flows) {
    const int sender = leaders[static_cast<std::size_t>(flow.from)];
    const int receiver = leaders[static_cast<std::size_t>(flow.to)];
    if (rank == sender) to = receiver;
    if (rank == receiver) from = sender;
  }
  // The receiver says that it is ready, so that the time is that of the flow alone.
  MPI_Sendrecv(nullptr, 0, MPI_BYTE, from, ready_tag, nullptr, 0, MPI_BYTE, to, ready_tag, comm, MPI_STATUS_IGNORE);
  const double begin = MPI_Wtime();
  double end = begin;
  std::array streams{Stream(comm, to, true, probe.bytes), Stream(comm, from, false, probe.bytes)};
  std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  for (std::size_t i = 0; i < 2; ++i) streams[i].start(&requests[i]);
  for (;;) {
    int done = MPI_UNDEFINED;
    MPI_Waitany(2, requests.data(), &done, MPI_STATUS_IGNORE);
    if (done == MPI_UNDEFINED) return end - begin;
    if (!streams[static_cast<std::size_t>(done)].start(&requests[static_cast<std::size_t>(done)]) && done == 0)
      end = MPI_Wtime();
  }
}

}  // namespace

machine::Traffic measure_traffic(MPI_Comm comm, const machine::Network& network, const std::vector<int>& host_of_rank,
                                 double seconds) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const auto leaders = leaders_of(host_of_rank, network.hosts.size());
  const auto probes = machine::traffic_probes(network, host_of_rank, seconds_of_flow);
  std::vector<std::vector<double>> taken;
  std::size_t n_flows = 0;
  for (const auto& probe : probes) {
    taken.emplace_back(probe.flows.size(), 0);
    n_flows += probe.flows.size();
  }
  const double begin = MPI_Wtime();
  int n_turns = 0, is_over = n_flows == 0;
  for (; !is_over; ++n_turns) {
    for (std::size_t p = 0; p < probes.size(); ++p) {
      const double own = send_flows(comm, rank, probes[p], leaders);
      for (std::size_t f = 0; f < probes[p].flows.size(); ++f)
        if (leaders[static_cast<std::size_t>(probes[p].flows[f].from)] == rank) taken[p][f] += own;
      MPI_Barrier(comm);
    }
    is_over = n_turns + 1 >= least_turns && MPI_Wtime() - begin > seconds;
    MPI_Bcast(&is_over, 1, MPI_INT, 0, comm);
  }
  std::vector<double> all;
  for (const auto& of_probe : taken) all.insert(all.end(), of_probe.begin(), of_probe.end());
  MPI_Allreduce(MPI_IN_PLACE, all.data(), static_cast<int>(all.size()), MPI_DOUBLE, MPI_MAX, comm);
  auto next = all.begin();
  for (auto& of_probe : taken)
    for (auto& time : of_probe) time = std::max(*next++ / n_turns, 1e-9);
  std::int64_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  MPI_Bcast(&now, 1, MPI_INT64_T, 0, comm);
  return machine::traffic_of(network, probes, taken, fmt::format("{:%FT%TZ}", fmt::gmtime(std::time_t{now})));
}

}  // namespace tessera::comm::mpi
