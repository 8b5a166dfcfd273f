/* Stands for a profiler that is preloaded behind the drop-in library: counts the calls that it sees. It also counts the
 * communicators that the library makes for itself, which no profiler sees. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int n_broadcasts, n_scans, n_sends, n_made, rank;

int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  ++n_made;
  return ((int (*)(MPI_Comm, MPI_Group, MPI_Comm*))dlsym(RTLD_NEXT, "PMPI_Comm_create"))(comm, group, made);
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  ++n_broadcasts;
  return PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Scan(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++n_scans;
  return PMPI_Scan(send, receive, count, type, op, comm);
}

int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  ++n_sends;
  return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}

int MPI_Finalize(void) {
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    printf("profiler: %d broadcasts, %d scans, %d sends; %d communicators of plans\n", n_broadcasts, n_scans, n_sends,
           n_made);
  return PMPI_Finalize();
}
