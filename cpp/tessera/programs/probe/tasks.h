// Rank 0 of the probe leads, and all other ranks wait for tasks. A task goes only to the ranks that take part in it, so
// nothing else is on the network while they measure; waiting ranks sleep, so they leave the processors to those that
// work.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tessera::programs::probe {

enum class TaskKind { exchange, echo, flow, leave };

struct Task {
  TaskKind kind = TaskKind::leave;
  std::vector<int> to;              // ranks: whom to exchange with, or to stream to
  std::vector<int> from;            // whom to echo, or to receive streams from
  std::vector<std::int64_t> bytes;  // message sizes of an exchange; of a flow: one, its length
  int repeats = 1;                  // round trips of each size
  double seconds = 0;               // of an exchange: no round trip starts after that, except the first of each size
  int status = 0;                   // of leave: the exit status of the job
  std::int64_t piece = 0;           // of a flow: bytes of a message; 0: as many as fill a wire
};

/// Carries out this rank's part of a task. Returns seconds: of an exchange, the least half round trip by size (Lowekamp
/// and Beguelin 1995, §3); of a flow, how long each stream of `to` took until its receiver had all of it.
std::vector<double> carry_out(const Task& task, MPI_Comm comm);

/// Carries out tasks until rank 0 ends the job, and returns the exit status of the job. All ranks but 0 run this.
int obey(MPI_Comm comm);

/// Hands out tasks on rank 0.
class Crew {
 public:
  explicit Crew(MPI_Comm comm);

  /// Returns half round trips (s) between two ranks, of which one may be 0, by message size, with nothing else under
  /// way.
  std::vector<double> exchange(int a, int b, std::vector<std::int64_t> bytes, int repeats, double seconds);
  /// Sends streams of so many bytes from the first to the second rank of each pair, all at once, in messages of `piece`
  /// bytes (0: as many as fill a wire), and returns the seconds of each.
  std::vector<double> flow(const std::vector<std::pair<int, int>>& pairs, std::int64_t bytes, std::int64_t piece = 0);
  /// Ends obey() on all other ranks.
  void dismiss(int status);

 private:
  /// Hands out tasks by rank and carries out that of rank 0; returns the results by rank.
  std::vector<std::vector<double>> run(const std::vector<std::pair<int, Task>>& tasks);

  MPI_Comm comm_;
};

}  // namespace tessera::programs::probe
