// The table of MPI's operations that the drop-in library takes: WRAP(name, END, parameters, arguments) for each. Functions
// for large counts, where END is _c, have the same rows with other types of counts and displacements. The preloaded
// library, what it loads, and the interface between them are made from this table.
#pragma once

#include <mpi.h>

#define TESSERA_OPERATIONS_WITH(WRAP, END, COUNT, PLACE)                                                            \
  WRAP(Bcast, END, (void* buffer, COUNT count, MPI_Datatype type, int root, MPI_Comm comm),                         \
       (buffer, count, type, root, comm))                                                                           \
  WRAP(Gather, END,                                                                                                 \
       (const void* send, COUNT n_send, MPI_Datatype send_type, void* receive, COUNT n_receive,                     \
        MPI_Datatype receive_type, int root, MPI_Comm comm),                                                        \
       (send, n_send, send_type, receive, n_receive, receive_type, root, comm))                                     \
  WRAP(Scatter, END,                                                                                                \
       (const void* send, COUNT n_send, MPI_Datatype send_type, void* receive, COUNT n_receive,                     \
        MPI_Datatype receive_type, int root, MPI_Comm comm),                                                        \
       (send, n_send, send_type, receive, n_receive, receive_type, root, comm))                                     \
  WRAP(Allgather, END,                                                                                              \
       (const void* send, COUNT n_send, MPI_Datatype send_type, void* receive, COUNT n_receive,                     \
        MPI_Datatype receive_type, MPI_Comm comm),                                                                  \
       (send, n_send, send_type, receive, n_receive, receive_type, comm))                                           \
  WRAP(Allgatherv, END,                                                                                             \
       (const void* send, COUNT n_send, MPI_Datatype send_type, void* receive, const COUNT* counts,                 \
        const PLACE* displacements, MPI_Datatype receive_type, MPI_Comm comm),                                      \
       (send, n_send, send_type, receive, counts, displacements, receive_type, comm))                               \
  WRAP(Alltoall, END,                                                                                               \
       (const void* send, COUNT n_send, MPI_Datatype send_type, void* receive, COUNT n_receive,                     \
        MPI_Datatype receive_type, MPI_Comm comm),                                                                  \
       (send, n_send, send_type, receive, n_receive, receive_type, comm))                                           \
  WRAP(Reduce, END,                                                                                                 \
       (const void* send, void* receive, COUNT count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),       \
       (send, receive, count, type, op, root, comm))                                                                \
  WRAP(Allreduce, END, (const void* send, void* receive, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), \
       (send, receive, count, type, op, comm))                                                                      \
  WRAP(Reduce_scatter, END,                                                                                         \
       (const void* send, void* receive, const COUNT* counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
       (send, receive, counts, type, op, comm))                                                                     \
  WRAP(Reduce_scatter_block, END,                                                                                   \
       (const void* send, void* receive, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),                 \
       (send, receive, count, type, op, comm))                                                                      \
  WRAP(Scan, END, (const void* send, void* receive, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),      \
       (send, receive, count, type, op, comm))                                                                      \
  WRAP(Exscan, END, (const void* send, void* receive, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),    \
       (send, receive, count, type, op, comm))

// Those that have no counts.
#define TESSERA_OPERATIONS_WITHOUT_COUNTS(WRAP) WRAP(Barrier, , (MPI_Comm comm), (comm))

#if MPI_VERSION >= 4
#define TESSERA_LARGE_OPERATIONS(WRAP) TESSERA_OPERATIONS_WITH(WRAP, _c, MPI_Count, MPI_Aint)
#else
#define TESSERA_LARGE_OPERATIONS(WRAP)
#endif

#define TESSERA_OPERATIONS(WRAP)            \
  TESSERA_OPERATIONS_WITHOUT_COUNTS(WRAP)   \
  TESSERA_OPERATIONS_WITH(WRAP, , int, int) \
  TESSERA_LARGE_OPERATIONS(WRAP)
