// What stands behind a Communicator in the backend over MPI.
#pragma once

#include <mpi.h>

#include "tessera/comm/communicator.h"

namespace tessera::comm {

struct Communicator::Implementation {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  bool is_own = false;  // a duplicate, which is freed in the end

  ~Implementation() {
    int ended = 0;
    MPI_Finalized(&ended);
    if (is_own && !ended) MPI_Comm_free(&comm);
  }
};

}  // namespace tessera::comm
