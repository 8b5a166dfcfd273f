// The MPI library's own collectives with counts of 64 bits: the library's functions for large counts where it has them
// (MPI 4); else a count that is too large for an int gives MPI_ERR_COUNT. Arguments are MPI's, and the library checks
// them.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "tessera/comm/mpi/datatype.h"

namespace tessera::comm::mpi::native {

using Counts = Integers;

/// Tells whether the library's counts can hold this number.
bool fits(std::int64_t count);

int broadcast(void* buffer, std::int64_t count, MPI_Datatype type, int root, MPI_Comm comm);
int scatter(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, std::int64_t n_receive,
            MPI_Datatype receive_type, int root, MPI_Comm comm);
int scatterv(const void* send, const Counts& counts, const Counts& displacements, MPI_Datatype send_type, void* receive,
             std::int64_t n_receive, MPI_Datatype receive_type, int root, MPI_Comm comm);
int gather(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, std::int64_t n_receive,
           MPI_Datatype receive_type, int root, MPI_Comm comm);
int gatherv(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, const Counts& counts,
            const Counts& displacements, MPI_Datatype receive_type, int root, MPI_Comm comm);
int all_gather(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, std::int64_t n_receive,
               MPI_Datatype receive_type, MPI_Comm comm);
int all_gatherv(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, const Counts& counts,
                const Counts& displacements, MPI_Datatype receive_type, MPI_Comm comm);
int all_to_all(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, std::int64_t n_receive,
               MPI_Datatype receive_type, MPI_Comm comm);
int all_to_allv(const void* send, const Counts& send_counts, const Counts& send_displacements, MPI_Datatype send_type,
                void* receive, const Counts& receive_counts, const Counts& receive_displacements,
                MPI_Datatype receive_type, MPI_Comm comm);
int reduce(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op operation, int root,
           MPI_Comm comm);
int all_reduce(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm);
/// Starts a reduction in place.
int start_all_reduce(void* values, std::int64_t count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm,
                     MPI_Request* request);
int reduce_scatter(const void* send, void* receive, const Counts& counts, MPI_Datatype type, MPI_Op operation,
                   MPI_Comm comm);
int reduce_scatter_block(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op operation,
                         MPI_Comm comm);
int scan(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm);
int exscan(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm);

}  // namespace tessera::comm::mpi::native
