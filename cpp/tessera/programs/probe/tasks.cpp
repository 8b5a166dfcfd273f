#include "tessera/programs/probe/tasks.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "tessera/base/error.h"

namespace tessera::programs::probe {

// NOLINTNEXTLINE: the macro's own style
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Task, kind, to, from, bytes, repeats, seconds, status, piece)

namespace {

enum Tag { task_tag = 1, result_tag, ping_tag, stop_tag, ready_tag, stream_tag, arrived_tag };

/// Two pieces of a stream are under way at once. More than 64 KiB under way on a slow link makes acknowledgements wait
/// behind data where a host sends and receives, which would disturb the measurement; a fast link needs more to be busy.
constexpr std::int64_t slow_piece = 30'000;
constexpr std::int64_t fast_piece = 256 * 1024;
constexpr std::int64_t slow_flow = 16 << 20;  // flows are as long as their link is fast

/// Waits for a message without using the processor; returns its length in bytes.
int await(int source, int tag, MPI_Comm comm) {
  auto nap = std::chrono::microseconds(20);
  for (;;) {
    int there = 0;
    MPI_Status status;
    MPI_Iprobe(source, tag, comm, &there, &status);
    if (there) {
      int length = 0;
      MPI_Get_count(&status, MPI_BYTE, &length);
      return length;
    }
    std::this_thread::sleep_for(nap);
    nap = std::min(nap * 2, std::chrono::microseconds(1000));
  }
}

template <class Container>
Container receive_patiently(int source, int tag, MPI_Comm comm) {
  const int length = await(source, tag, comm);
  Container content(static_cast<std::size_t>(length) / sizeof(typename Container::value_type), {});
  MPI_Recv(content.data(), length, MPI_BYTE, source, tag, comm, MPI_STATUS_IGNORE);
  return content;
}

template <class Container>
void send(const Container& content, int destination, int tag, MPI_Comm comm) {
  const auto bytes = content.size() * sizeof(typename Container::value_type);
  MPI_Send(content.data(), static_cast<int>(bytes), MPI_BYTE, destination, tag, comm);
}

/// Sends back what it receives until it is told to stop.
void echo(int peer, std::int64_t largest, MPI_Comm comm) {
  std::vector<std::byte> buffer(static_cast<std::size_t>(largest));
  for (;;) {
    MPI_Status status;
    MPI_Recv(buffer.data(), static_cast<int>(largest), MPI_BYTE, peer, MPI_ANY_TAG, comm, &status);
    if (status.MPI_TAG == stop_tag) return;
    int length = 0;
    MPI_Get_count(&status, MPI_BYTE, &length);
    MPI_Send(buffer.data(), length, MPI_BYTE, peer, ping_tag, comm);
  }
}

std::vector<double> exchange(const Task& task, MPI_Comm comm) {
  const int peer = task.to.front();
  const auto largest = *std::ranges::max_element(task.bytes);
  std::vector<std::byte> buffer(static_cast<std::size_t>(largest));
  const auto half_round_trip = [&](std::int64_t bytes) {
    const double start = MPI_Wtime();
    MPI_Send(buffer.data(), static_cast<int>(bytes), MPI_BYTE, peer, ping_tag, comm);
    MPI_Recv(buffer.data(), static_cast<int>(bytes), MPI_BYTE, peer, ping_tag, comm, MPI_STATUS_IGNORE);
    return (MPI_Wtime() - start) / 2;
  };
  half_round_trip(0);  // connects, and wakes the peer
  const double end = MPI_Wtime() + task.seconds;
  std::vector<double> least;
  for (const auto bytes : task.bytes) least.push_back(half_round_trip(bytes));
  // Rounds go over all sizes, so that a short disturbance does not affect all round trips of one size.
  for (int repeat = 1; repeat < task.repeats; ++repeat)
    for (std::size_t i = 0; i < least.size(); ++i)
      if (MPI_Wtime() + 2 * least[i] < end) least[i] = std::min(least[i], half_round_trip(task.bytes[i]));
  MPI_Send(nullptr, 0, MPI_BYTE, peer, stop_tag, comm);
  return least;
}

/// One direction of a flow: pieces follow each other through two slots, then the receiver confirms that it has all of
/// them.
struct Stream {
  int peer = 0;
  bool out = false;
  std::int64_t left = 0;  // bytes not yet started
  int under_way = 0;      // pieces
  bool closing = false;   // the last word is under way
  double seconds = 0;
};

std::vector<double> flow(const Task& task, MPI_Comm comm) {
  std::vector<Stream> streams;
  for (const int peer : task.to) streams.push_back({.peer = peer, .out = true, .left = task.bytes.front()});
  for (const int peer : task.from) streams.push_back({.peer = peer, .out = false, .left = task.bytes.front()});
  const auto n = streams.size();

  std::vector<MPI_Request> requests(2 * n, MPI_REQUEST_NULL);
  for (std::size_t i = 0; i < n; ++i) {
    MPI_Isend(nullptr, 0, MPI_BYTE, streams[i].peer, ready_tag, comm, &requests[2 * i]);
    MPI_Irecv(nullptr, 0, MPI_BYTE, streams[i].peer, ready_tag, comm, &requests[2 * i + 1]);
  }
  MPI_Waitall(static_cast<int>(2 * n), requests.data(), MPI_STATUSES_IGNORE);

  const std::int64_t longest = task.piece > 0 ? task.piece : task.bytes.front() < slow_flow ? slow_piece : fast_piece;
  std::vector<std::byte> buffer(static_cast<std::size_t>(longest) * 2 * n);
  const double start = MPI_Wtime();
  const auto advance = [&](std::size_t slot) {
    Stream& stream = streams[slot / 2];
    const auto piece = static_cast<int>(std::min(longest, stream.left));
    if (piece > 0) {
      std::byte* data = buffer.data() + static_cast<std::ptrdiff_t>(slot) * longest;
      if (stream.out)  // synchronous: done when the receiver has begun to take it, so no more than two are under way
        MPI_Issend(data, piece, MPI_BYTE, stream.peer, stream_tag, comm, &requests[slot]);
      else
        MPI_Irecv(data, piece, MPI_BYTE, stream.peer, stream_tag, comm, &requests[slot]);
      stream.left -= piece;
      ++stream.under_way;
    } else if (stream.under_way == 0 && !stream.closing) {
      stream.closing = true;
      if (stream.out)
        MPI_Irecv(nullptr, 0, MPI_BYTE, stream.peer, arrived_tag, comm, &requests[slot]);
      else
        MPI_Isend(nullptr, 0, MPI_BYTE, stream.peer, arrived_tag, comm, &requests[slot]);
    }
  };
  for (std::size_t slot = 0; slot < 2 * n; ++slot) advance(slot);
  for (;;) {
    int slot = MPI_UNDEFINED;
    MPI_Waitany(static_cast<int>(2 * n), requests.data(), &slot, MPI_STATUS_IGNORE);
    if (slot == MPI_UNDEFINED) break;
    Stream& stream = streams[static_cast<std::size_t>(slot) / 2];
    if (stream.closing) {
      stream.seconds = MPI_Wtime() - start;
      continue;
    }
    --stream.under_way;
    advance(static_cast<std::size_t>(slot));
  }

  std::vector<double> seconds;
  for (const auto& stream : streams)
    if (stream.out) seconds.push_back(stream.seconds);
  return seconds;
}

}  // namespace

std::vector<double> carry_out(const Task& task, MPI_Comm comm) {
  switch (task.kind) {
    case TaskKind::exchange:
      return exchange(task, comm);
    case TaskKind::echo:
      echo(task.from.front(), *std::ranges::max_element(task.bytes), comm);
      return {};
    case TaskKind::flow:
      return flow(task, comm);
    case TaskKind::leave:
      break;
  }
  return {};
}

int obey(MPI_Comm comm) {
  for (;;) {
    const auto task = nlohmann::json::parse(receive_patiently<std::string>(0, task_tag, comm)).get<Task>();
    if (task.kind == TaskKind::leave) return task.status;
    send(carry_out(task, comm), 0, result_tag, comm);
  }
}

Crew::Crew(MPI_Comm comm) : comm_(comm) {}

std::vector<std::vector<double>> Crew::run(const std::vector<std::pair<int, Task>>& tasks) {
  for (const auto& [rank, task] : tasks)
    if (rank != 0) send(nlohmann::json(task).dump(), rank, task_tag, comm_);
  std::vector<std::vector<double>> results;
  results.reserve(tasks.size());
  for (const auto& [rank, task] : tasks) results.push_back(rank == 0 ? carry_out(task, comm_) : std::vector<double>());
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].first != 0) results[i] = receive_patiently<std::vector<double>>(tasks[i].first, result_tag, comm_);
  return results;
}

std::vector<double> Crew::exchange(int a, int b, std::vector<std::int64_t> bytes, int repeats, double seconds) {
  TESSERA_CHECK(a != b && !bytes.empty());
  const Task there{TaskKind::exchange, {b}, {}, bytes, repeats, seconds, 0, 0};
  const Task back{TaskKind::echo, {}, {a}, std::move(bytes), repeats, seconds, 0, 0};
  return run({{a, there}, {b, back}}).front();
}

std::vector<double> Crew::flow(const std::vector<std::pair<int, int>>& pairs, std::int64_t bytes, std::int64_t piece) {
  std::map<int, Task> tasks;  // a rank may send and receive, and receive from several
  for (const auto& [from, to] : pairs) {
    TESSERA_CHECK(from != to);
    tasks[from].to.push_back(to);
    tasks[to].from.push_back(from);
  }
  for (auto& [rank, task] : tasks) {
    task.kind = TaskKind::flow;
    task.bytes = {bytes};
    task.piece = piece;
  }
  const auto results = run({tasks.begin(), tasks.end()});
  std::map<int, std::size_t> which, next;  // of each sender: its result, its next stream
  for (const auto& [rank, task] : tasks) which.emplace(rank, which.size());
  std::vector<double> seconds;
  for (const auto& [from, to] : pairs) seconds.push_back(results[which[from]][next[from]++]);
  return seconds;
}

void Crew::dismiss(int status) {
  int size = 0;
  MPI_Comm_size(comm_, &size);
  Task leave;
  leave.status = status;
  const std::string text = nlohmann::json(leave).dump();
  for (int rank = 1; rank < size; ++rank) send(text, rank, task_tag, comm_);
}

}  // namespace tessera::programs::probe
