// The table of MPI's functions that the drop-in library takes. The preloaded library with its wrappers for C and Fortran,
// what it loads, and the interface between them are made from this table.
#pragma once

#include <mpi.h>

// ROW(WRAP, name, the name in lower case, in upper case) for operations with counts,
#define TESSERA_COUNTED(ROW, WRAP)                                            \
  ROW(WRAP, Bcast, bcast, BCAST)                                              \
  ROW(WRAP, Gather, gather, GATHER)                                           \
  ROW(WRAP, Scatter, scatter, SCATTER)                                        \
  ROW(WRAP, Allgather, allgather, ALLGATHER)                                  \
  ROW(WRAP, Allgatherv, allgatherv, ALLGATHERV)                               \
  ROW(WRAP, Alltoall, alltoall, ALLTOALL)                                     \
  ROW(WRAP, Reduce, reduce, REDUCE)                                           \
  ROW(WRAP, Allreduce, allreduce, ALLREDUCE)                                  \
  ROW(WRAP, Reduce_scatter, reduce_scatter, REDUCE_SCATTER)                   \
  ROW(WRAP, Reduce_scatter_block, reduce_scatter_block, REDUCE_SCATTER_BLOCK) \
  ROW(WRAP, Scan, scan, SCAN)                                                 \
  ROW(WRAP, Exscan, exscan, EXSCAN)

// for those without, for what makes communicators whose ranks MPI may number anew,
#define TESSERA_BARRIERS(ROW, WRAP) ROW(WRAP, Barrier, barrier, BARRIER)
#define TESSERA_TOPOLOGIES(ROW, WRAP)                                \
  ROW(WRAP, Cart_create, cart_create, CART_CREATE)                   \
  ROW(WRAP, Graph_create, graph_create, GRAPH_CREATE)                \
  ROW(WRAP, Dist_graph_create, dist_graph_create, DIST_GRAPH_CREATE) \
  ROW(WRAP, Dist_graph_create_adjacent, dist_graph_create_adjacent, DIST_GRAPH_CREATE_ADJACENT)

// for what divides a communicator into groups, which are noted when the MPI library has made them,
#define TESSERA_SPLITS(ROW, WRAP)                  \
  ROW(WRAP, Comm_split, comm_split, COMM_SPLIT)    \
  ROW(WRAP, Comm_create, comm_create, COMM_CREATE) \
  ROW(WRAP, Cart_sub, cart_sub, CART_SUB)

// The arguments of each: AS(KIND, name), in order. FLAG and FLAGS are LOGICAL in Fortran.
#define TESSERA_Bcast(AS) AS(OUT, buffer), AS(COUNT, count), AS(TYPE, type), AS(NUMBER, root), AS(COMM, comm)
#define TESSERA_MOVE(AS) AS(IN, send), AS(COUNT, n_send), AS(TYPE, send_type), AS(OUT, receive)
#define TESSERA_Gather(AS) \
  TESSERA_MOVE(AS), AS(COUNT, n_receive), AS(TYPE, receive_type), AS(NUMBER, root), AS(COMM, comm)
#define TESSERA_Scatter(AS) TESSERA_Gather(AS)
#define TESSERA_Allgather(AS) TESSERA_MOVE(AS), AS(COUNT, n_receive), AS(TYPE, receive_type), AS(COMM, comm)
#define TESSERA_Allgatherv(AS) \
  TESSERA_MOVE(AS), AS(COUNTS, counts), AS(PLACES, displacements), AS(TYPE, receive_type), AS(COMM, comm)
#define TESSERA_Alltoall(AS) TESSERA_Allgather(AS)
#define TESSERA_COMBINE(AS) AS(COUNT, count), AS(TYPE, type), AS(OP, op)
#define TESSERA_Reduce(AS) AS(IN, send), AS(OUT, receive), TESSERA_COMBINE(AS), AS(NUMBER, root), AS(COMM, comm)
#define TESSERA_Allreduce(AS) AS(IN, send), AS(OUT, receive), TESSERA_COMBINE(AS), AS(COMM, comm)
#define TESSERA_Reduce_scatter(AS) \
  AS(IN, send), AS(OUT, receive), AS(COUNTS, counts), AS(TYPE, type), AS(OP, op), AS(COMM, comm)
#define TESSERA_Reduce_scatter_block(AS) TESSERA_Allreduce(AS)
#define TESSERA_Scan(AS) TESSERA_Allreduce(AS)
#define TESSERA_Exscan(AS) TESSERA_Allreduce(AS)
#define TESSERA_Barrier(AS) AS(COMM, comm)
#define TESSERA_Cart_create(AS) \
  AS(COMM, comm), AS(NUMBER, n_dims), AS(NUMBERS, dims), AS(FLAGS, periodic), AS(FLAG, reorder), AS(MADE, made)
#define TESSERA_Graph_create(AS) \
  AS(COMM, comm), AS(NUMBER, n), AS(NUMBERS, index), AS(NUMBERS, edges), AS(FLAG, reorder), AS(MADE, made)
#define TESSERA_Dist_graph_create(AS)                                                                   \
  AS(COMM, comm), AS(NUMBER, n), AS(NUMBERS, sources), AS(NUMBERS, degrees), AS(NUMBERS, destinations), \
      AS(WEIGHTS, weights), AS(INFO, info), AS(FLAG, reorder), AS(MADE, made)
#define TESSERA_Dist_graph_create_adjacent(AS)                                                                 \
  AS(COMM, comm), AS(NUMBER, n_sources), AS(NUMBERS, sources), AS(WEIGHTS, source_weights),                    \
      AS(NUMBER, n_destinations), AS(NUMBERS, destinations), AS(WEIGHTS, destination_weights), AS(INFO, info), \
      AS(FLAG, reorder), AS(MADE, made)
#define TESSERA_Comm_split(AS) AS(COMM, comm), AS(NUMBER, color), AS(NUMBER, key), AS(MADE, made)
#define TESSERA_Comm_create(AS) AS(COMM, comm), AS(GROUP, group), AS(MADE, made)
#define TESSERA_Cart_sub(AS) AS(COMM, comm), AS(FLAGS, remains), AS(MADE, made)

// Kinds of arguments in C, and in functions for large counts.
#define TESSERA_C(KIND, name) TESSERA_C_##KIND name
#define TESSERA_C_IN const void*
#define TESSERA_C_OUT void*
#define TESSERA_C_COUNT int
#define TESSERA_C_COUNTS const int*
#define TESSERA_C_PLACES const int*
#define TESSERA_C_TYPE MPI_Datatype
#define TESSERA_C_OP MPI_Op
#define TESSERA_C_COMM MPI_Comm
#define TESSERA_C_INFO MPI_Info
#define TESSERA_C_GROUP MPI_Group
#define TESSERA_C_NUMBER int
#define TESSERA_C_NUMBERS const int*
#define TESSERA_C_WEIGHTS const int*
#define TESSERA_C_FLAG int
#define TESSERA_C_FLAGS const int*
#define TESSERA_C_MADE MPI_Comm*
#define TESSERA_LARGE(KIND, name) TESSERA_LARGE_##KIND name
#define TESSERA_LARGE_IN const void*
#define TESSERA_LARGE_OUT void*
#define TESSERA_LARGE_COUNT MPI_Count
#define TESSERA_LARGE_COUNTS const MPI_Count*
#define TESSERA_LARGE_PLACES const MPI_Aint*
#define TESSERA_LARGE_TYPE MPI_Datatype
#define TESSERA_LARGE_OP MPI_Op
#define TESSERA_LARGE_COMM MPI_Comm
#define TESSERA_LARGE_NUMBER int
#define TESSERA_NAME(KIND, name) name

// WRAP(name, END, parameters, arguments) for each function of C; END is _c for large counts.
#define TESSERA_SMALL_ROW(WRAP, name, lower, UPPER) \
  WRAP(name, , (TESSERA_##name(TESSERA_C)), (TESSERA_##name(TESSERA_NAME)))
#define TESSERA_LARGE_ROW(WRAP, name, lower, UPPER) \
  WRAP(name, _c, (TESSERA_##name(TESSERA_LARGE)), (TESSERA_##name(TESSERA_NAME)))
#if MPI_VERSION >= 4
#define TESSERA_LARGE_OPERATIONS(WRAP) TESSERA_COUNTED(TESSERA_LARGE_ROW, WRAP)
#else
#define TESSERA_LARGE_OPERATIONS(WRAP)
#endif
#define TESSERA_OPERATIONS(WRAP)              \
  TESSERA_BARRIERS(TESSERA_SMALL_ROW, WRAP)   \
  TESSERA_TOPOLOGIES(TESSERA_SMALL_ROW, WRAP) \
  TESSERA_COUNTED(TESSERA_SMALL_ROW, WRAP)    \
  TESSERA_LARGE_OPERATIONS(WRAP)
