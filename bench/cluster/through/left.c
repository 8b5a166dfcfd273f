/* Times what a call costs that does nothing: left SPELLS. With -DSTUB this is, in place of the program, the library whose
 * functions do nothing, to be preloaded behind the one that is timed. Rank 0 prints the ns of a call, by operation: the
 * least of short spells, so that other work of the machine is in none. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef STUB
int MPI_Barrier(MPI_Comm comm) {
  (void)comm;
  return MPI_SUCCESS;
}
int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  (void)data, (void)count, (void)type, (void)root, (void)comm;
  return MPI_SUCCESS;
}
int MPI_Allreduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  (void)sent, (void)received, (void)count, (void)type, (void)op, (void)comm;
  return MPI_SUCCESS;
}
int MPI_Alltoall(const void* sent, int n_sent, MPI_Datatype of_sent, void* received, int n_received,
                 MPI_Datatype of_received, MPI_Comm comm) {
  (void)sent, (void)n_sent, (void)of_sent, (void)received, (void)n_received, (void)of_received, (void)comm;
  return MPI_SUCCESS;
}
#else
static double sent[64], received[64];

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void broadcast(void) { MPI_Bcast(sent, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void all_reduce(void) { MPI_Allreduce(sent, received, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void all_to_all(void) { MPI_Alltoall(sent, 8, MPI_DOUBLE, received, 8, MPI_DOUBLE, MPI_COMM_WORLD); }

static const struct {
  const char* name;
  void (*call)(void);
} operations[] = {
    {"barrier", barrier}, {"broadcast", broadcast}, {"all_reduce", all_reduce}, {"all_to_all", all_to_all}};

int main(int argc, char** argv) {
  enum { CALLS = 1000 }; /* of a spell */
  const int spells = argc > 1 ? atoi(argv[1]) : 1000;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("{");
  for (size_t o = 0; o < sizeof operations / sizeof *operations; ++o) {
    double least = 1;
    operations[o].call();
    for (int spell = 0; spell < spells; ++spell) {
      const double begin = MPI_Wtime();
      for (int i = 0; i < CALLS; ++i) operations[o].call();
      const double mine = (MPI_Wtime() - begin) / CALLS;
      if (mine < least) least = mine;
    }
    if (rank == 0) printf("%s\"%s\": %.2f", o ? ", " : "", operations[o].name, 1e9 * least);
  }
  if (rank == 0) printf("}\n");
  MPI_Finalize();
  return 0;
}
#endif
