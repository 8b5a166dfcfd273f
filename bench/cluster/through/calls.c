/* Times collective operations as a program of MPI calls them: calls TURNS NAME:BYTES... with the names below. In each
 * turn an operation is carried out by the MPI library, through its profiling interface, and then by what is called by
 * the usual name, which is the library that is preloaded or, without one, the MPI library again. Rank 0 prints, as JSON,
 * the version of MPI and the times (s) of the slowest rank, and of the first call by the usual name. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS = 2 }; /* the library by its profiling interface; by the usual name */

static int rank, size, n;    /* n: elements of the message, of the vector, or of the block of a pair */
static int *counts, *places; /* of the blocks of a vector by rank */
static double *sent, *received;

static void broadcast(int usual) { (usual ? MPI_Bcast : PMPI_Bcast)(sent, n, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void all_reduce(int usual) {
  (usual ? MPI_Allreduce : PMPI_Allreduce)(sent, received, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void reduce_scatter(int usual) {
  (usual ? MPI_Reduce_scatter : PMPI_Reduce_scatter)(sent, received, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void all_gatherv(int usual) {
  (usual ? MPI_Allgatherv : PMPI_Allgatherv)(sent + places[rank], counts[rank], MPI_DOUBLE, received, counts, places,
                                             MPI_DOUBLE, MPI_COMM_WORLD);
}
static void all_to_all(int usual) {
  (usual ? MPI_Alltoall : PMPI_Alltoall)(sent, n, MPI_DOUBLE, received, n, MPI_DOUBLE, MPI_COMM_WORLD);
}

static const struct {
  const char* name;
  void (*call)(int usual);
} operations[] = {{"broadcast", broadcast},
                  {"all_reduce", all_reduce},
                  {"reduce_scatter", reduce_scatter},
                  {"all_gatherv", all_gatherv},
                  {"all_to_all", all_to_all}};

/* Returns the time that the slowest rank takes. */
static double seconds_of(void (*call)(int usual), int usual) {
  double mine, slowest;
  PMPI_Barrier(MPI_COMM_WORLD);
  mine = PMPI_Wtime();
  call(usual);
  mine = PMPI_Wtime() - mine;
  PMPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static void time_all(void (*call)(int usual), int turns) {
  double* times = malloc(sizeof(double) * WAYS * (size_t)turns);
  seconds_of(call, 0); /* connects the ranks */
  const double first = seconds_of(call, 1);
  for (int turn = 0; turn < turns; ++turn)
    for (int usual = 0; usual < WAYS; ++usual) times[usual * turns + turn] = seconds_of(call, usual);
  if (rank == 0) {
    for (int usual = 0; usual < WAYS; ++usual) {
      printf("\"%s\": [", usual ? "usual" : "library");
      for (int turn = 0; turn < turns; ++turn) printf("%s%.9f", turn ? ", " : "", times[usual * turns + turn]);
      printf("], ");
    }
    printf("\"first\": %.9f}", first);
  }
  free(times);
}

int main(int argc, char** argv) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_library_version(version, &length);
  version[strcspn(version, ",\n\"")] = 0;
  counts = malloc(sizeof(int) * (size_t)size);
  places = malloc(sizeof(int) * (size_t)size);
  if (rank == 0) printf("{\"version\": \"%s\", \"operations\": {", version);
  for (int a = 2; a < argc; ++a) {
    const char* colon = strchr(argv[a], ':');
    for (size_t o = 0; colon && o < sizeof operations / sizeof *operations; ++o) {
      if (strncmp(argv[a], operations[o].name, (size_t)(colon - argv[a])) != 0) continue;
      n = atoi(colon + 1) / (int)sizeof(double);
      for (int r = 0; r < size; ++r) places[r] = (int)((long long)n * r / size);
      for (int r = 0; r < size; ++r) counts[r] = (r + 1 < size ? places[r + 1] : n) - places[r];
      sent = calloc((size_t)n * (size_t)size, sizeof(double));
      received = calloc((size_t)n * (size_t)size, sizeof(double));
      if (rank == 0) printf("%s\"%s\": {", a > 2 ? ", " : "", operations[o].name);
      time_all(operations[o].call, atoi(argv[1]));
      free(sent);
      free(received);
    }
  }
  if (rank == 0) printf("}}\n");
  MPI_Finalize();
  return 0;
}
