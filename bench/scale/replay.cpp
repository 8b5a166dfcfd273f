// Sends the messages of an exchange over a simulated network (SimGrid's SMPI): bench/scale/smpi.py.
//
//   replay FOLDER
//
// FOLDER/RANK holds a line for each message of that rank: peer, bytes, 1 to send or 0 to receive. Prints the seconds
// from when all begin until the last is done. Payloads are one buffer, which nobody reads.
#include <mpi.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

struct Message {
  int peer, bytes, is_sent;
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<Message> messages;
  std::ifstream file(std::string(argv[1]) + "/" + std::to_string(rank));
  int largest = 1;
  for (Message m{}; file >> m.peer >> m.bytes >> m.is_sent;) {
    messages.push_back(m);
    largest = m.bytes > largest ? m.bytes : largest;
  }
  void* buffer = SMPI_SHARED_MALLOC(largest);
  std::vector<MPI_Request> requests;
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime(), first = 0, last = 0;
  for (const int sends : {0, 1})
    for (const Message& m : messages) {
      if (m.is_sent != sends) continue;
      requests.push_back(MPI_REQUEST_NULL);
      if (sends == 1)
        MPI_Isend(buffer, m.bytes, MPI_BYTE, m.peer, 0, MPI_COMM_WORLD, &requests.back());
      else
        MPI_Irecv(buffer, m.bytes, MPI_BYTE, m.peer, 0, MPI_COMM_WORLD, &requests.back());
    }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  double end = MPI_Wtime();
  MPI_Reduce(&begin, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%.9g\n", last - first);
  SMPI_SHARED_FREE(buffer);
  MPI_Finalize();
}
