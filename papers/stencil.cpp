// Goes through the grids of a stencil over a simulated network (SimGrid's SMPI): papers/grid_smpi.py.
//
//   stencil FOLDER GRIDS BATCH NANOSECONDS
//
// FOLDER/RANK holds a line for each neighbour of that rank: direction, number of its side there and here, peer, bytes of
// a face. Batch 0: one grid after the other, one direction after the other, waiting for each (flat-original). Else the
// faces of a batch are under way while the batch before is computed. Computing a grid takes NANOSECONDS of simulated
// time. Prints the seconds from when all begin until the last is done. Payloads are one buffer, which nobody reads.
#include <mpi.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

struct Face {
  int direction, side_there, side_here, peer, bytes;
};
using Requests = std::vector<MPI_Request>;

void compute(long nanoseconds) {
  const timespec time{nanoseconds / 1000000000, nanoseconds % 1000000000};
  nanosleep(&time, nullptr);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int grids = std::atoi(argv[2]), batch = std::atoi(argv[3]);
  const long nanoseconds = std::atol(argv[4]);
  std::vector<Face> faces;
  std::ifstream file(std::string(argv[1]) + "/" + std::to_string(rank));
  int largest = 1;
  for (Face f{}; file >> f.direction >> f.side_there >> f.side_here >> f.peer >> f.bytes;) {
    faces.push_back(f);
    largest = std::max(largest, f.bytes * std::max(1, batch));
  }
  void* buffer = SMPI_SHARED_MALLOC(largest);
  const auto post = [&](int direction, int n, Requests& requests) {
    for (const bool sends : {false, true})
      for (const Face& f : faces) {
        if (direction >= 0 && f.direction != direction) continue;
        requests.push_back(MPI_REQUEST_NULL);
        if (sends)
          MPI_Isend(buffer, n * f.bytes, MPI_BYTE, f.peer, f.side_there, MPI_COMM_WORLD, &requests.back());
        else
          MPI_Irecv(buffer, n * f.bytes, MPI_BYTE, f.peer, f.side_here, MPI_COMM_WORLD, &requests.back());
      }
  };
  const auto wait = [](Requests& requests) {
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    requests.clear();
  };
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime(), first = 0, last = 0;
  if (batch == 0) {
    Requests requests;
    for (int grid = 0; grid < grids; ++grid) {
      for (int direction = 0; direction < 3; ++direction) {
        post(direction, 1, requests);
        wait(requests);
      }
      compute(nanoseconds);
    }
  } else {
    Requests now, next;
    post(-1, std::min(batch, grids), now);
    for (int done = 0; done < grids; done += batch) {
      if (done + batch < grids) post(-1, std::min(batch, grids - done - batch), next);
      wait(now);
      compute(nanoseconds * std::min(batch, grids - done));
      std::swap(now, next);
    }
  }
  double end = MPI_Wtime();
  MPI_Reduce(&begin, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%.9g\n", last - first);
  SMPI_SHARED_FREE(buffer);
  MPI_Finalize();
}
