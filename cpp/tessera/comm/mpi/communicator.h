// The implementation of Communicator in the backend over MPI.
#pragma once

#include <mpi.h>

#include <memory>

#include "tessera/comm/communicator.h"
#include "tessera/comm/mpi/collectives.h"

namespace tessera::comm {

/// The communicator of the ranks of a host, freed in the end.
struct HostCommunicator {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 1;

  HostCommunicator(MPI_Comm of_ranks, int key) {
    MPI_Comm_split_type(of_ranks, MPI_COMM_TYPE_SHARED, key, MPI_INFO_NULL, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
  }
  HostCommunicator(const HostCommunicator&) = delete;
  HostCommunicator& operator=(const HostCommunicator&) = delete;
  ~HostCommunicator() {
    int ended = 0;
    MPI_Finalized(&ended);
    if (!ended) MPI_Comm_free(&comm);
  }
};

struct Communicator::Implementation {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  bool is_own = false;  // a duplicate, which is freed in the end
  /// Every collective operation goes through here.
  std::unique_ptr<mpi::Collectives> collectives;
  /// Made by the first SharedMemory and used by all: MPI has few communicators, MPICH about 2,000.
  mutable std::shared_ptr<const HostCommunicator> host;

  Implementation(MPI_Comm of_ranks, bool is_duplicate) : comm(of_ranks), is_own(is_duplicate) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    collectives = std::make_unique<mpi::Collectives>(comm);
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;
  ~Implementation() {
    collectives.reset();
    int ended = 0;
    MPI_Finalized(&ended);
    if (is_own && !ended) MPI_Comm_free(&comm);
  }
};

}  // namespace tessera::comm
