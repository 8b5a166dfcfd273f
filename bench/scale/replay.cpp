// Sends the messages of exchanges over a simulated network (SimGrid's SMPI): bench/scale/smpi.py.
//
//   replay FOLDER EXCHANGES
//
// FOLDER/RANK holds a line for each message of that rank: exchange, peer, bytes, 1 to send or 0 to receive. Prints the
// seconds of each exchange, from when all begin until the last is done. Payloads are one buffer, which nobody reads.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

struct Message {
  int peer, bytes;
  bool is_sent;
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<std::vector<Message>> exchanges(static_cast<std::size_t>(std::atoi(argv[2])));
  std::ifstream file(std::string(argv[1]) + "/" + std::to_string(rank));
  int largest = 1;
  for (int exchange, peer, bytes, is_sent; file >> exchange >> peer >> bytes >> is_sent;) {
    exchanges[static_cast<std::size_t>(exchange)].push_back({peer, bytes, is_sent == 1});
    largest = bytes > largest ? bytes : largest;
  }
  void* buffer = SMPI_SHARED_MALLOC(largest);
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    std::vector<MPI_Request> requests(exchanges[i].size());
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), first = 0, last = 0;
    for (const bool sends : {false, true})
      for (std::size_t k = 0; k < requests.size(); ++k) {
        const Message& m = exchanges[i][k];
        if (m.is_sent != sends) continue;
        if (sends)
          MPI_Isend(buffer, m.bytes, MPI_BYTE, m.peer, static_cast<int>(i), MPI_COMM_WORLD, &requests[k]);
        else
          MPI_Irecv(buffer, m.bytes, MPI_BYTE, m.peer, static_cast<int>(i), MPI_COMM_WORLD, &requests[k]);
      }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    double end = MPI_Wtime();
    MPI_Reduce(&begin, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("%.9g\n", last - first);
  }
  SMPI_SHARED_FREE(buffer);
  MPI_Finalize();
}
