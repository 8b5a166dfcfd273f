// Rank 0 of the probe leads, all other ranks wait for what it tells them to do. A task goes only to the ranks that take
// part in it, so nothing else is on the network while they measure; waiting ranks sleep, so the processors are theirs
// too.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tessera::comm::probe {

struct Task {
  enum class Kind { exchange, echo, flow, leave };
  Kind kind = Kind::leave;
  std::vector<int> to;              // ranks: whom to exchange with, or to stream to
  std::vector<int> from;            // whom to echo, or to receive streams from
  std::vector<std::int64_t> bytes;  // message sizes of an exchange; of a flow: one, its length
  int repeats = 1;                  // round trips of each size
  double seconds = 0;               // of an exchange: no round trip starts after that, except the first of each size
  int status = 0;                   // of leave: the exit status of the job
  std::int64_t piece = 0;           // of a flow: bytes of a message; 0: as many as fill a wire
};

/// Carries out one's part in a task. Returns seconds: of an exchange, the least half round trip by size (paper 002,
/// §3); of a flow, how long each stream of `to` took until its receiver had all of it.
std::vector<double> carry_out(const Task& task, MPI_Comm comm);

/// What all ranks but 0 do: tasks as they come, until told to leave. Returns the exit status of the job.
int obey(MPI_Comm comm);

/// Rank 0's side.
class Crew {
 public:
  explicit Crew(MPI_Comm comm);

  /// Half round trips (s) between two ranks by message size, one of which may be 0, with nothing else under way.
  std::vector<double> exchange(int a, int b, std::vector<std::int64_t> bytes, int repeats, double seconds);
  /// Streams of so many bytes from the first to the second of each pair, all at once, in messages of `piece` bytes (0:
  /// as many as fill a wire); seconds of each.
  std::vector<double> flow(const std::vector<std::pair<int, int>>& pairs, std::int64_t bytes, std::int64_t piece = 0);
  /// Ends obey on all other ranks.
  void dismiss(int status);

 private:
  /// Hands out tasks by rank and does one's own; results by rank.
  std::vector<std::vector<double>> run(const std::vector<std::pair<int, Task>>& tasks);

  MPI_Comm comm_;
};

}  // namespace tessera::comm::probe
