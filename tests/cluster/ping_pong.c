/* `ping_pong A B BYTES REPEATS`: prints seconds of half a round trip between two ranks, the smallest of the repeats. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double half_round_trip(int is_first, int other, char* data, int bytes) {
  const double begin = MPI_Wtime();
  for (int turn = 0; turn < 2; ++turn) {
    if (turn != is_first) {
      MPI_Send(data, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD);
    } else {
      MPI_Recv(data, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  return (MPI_Wtime() - begin) / 2;
}

int main(int n, char** words) {
  MPI_Init(&n, &words);
  if (n != 5) {
    fprintf(stderr, "ping_pong A B BYTES REPEATS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int a = atoi(words[1]), b = atoi(words[2]), bytes = atoi(words[3]), repeats = atoi(words[4]);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* data = calloc((size_t)bytes + 1, 1);
  double least = 1e30;
  for (int i = 0; i <= repeats && (rank == a || rank == b); ++i) {
    const double time = half_round_trip(rank == a, rank == a ? b : a, data, bytes);
    least = i > 0 && time < least ? time : least; /* the first opens the connection */
  }
  if (rank == a) {
    printf("%.9f\n", least);
  }
  free(data);
  MPI_Finalize();
  return 0;
}
