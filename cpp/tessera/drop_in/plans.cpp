// The library that is loaded into a program of MPI: its operations, with MPI's arguments, in terms of Collectives.
#include "tessera/drop_in/plans.h"

#include <exception>
#include <memory>
#include <new>

#include "tessera/comm/mpi/placement/renumber.h"
#include "tessera/drop_in/job.h"

namespace tessera::drop_in {
namespace {

using collectives::Operation;
using comm::mpi::Collectives;

static_assert(comm::mpi::left_to_caller == TESSERA_LEFT);

std::unique_ptr<Job> job;

/// A call of this thread that was left to the MPI library.
struct Left {
  Group* group = nullptr;
  Operation operation = Operation::barrier;
  double begin = 0;
};
thread_local Left left;

void note(Group& group, Operation operation, double begin) {
  const auto& decision = group.collectives.latest();
  const bool is_compared = decision.is_ours && decision.native_seconds > 0;
  group.tally.add(operation, group.collectives.latest_bytes(), decision.is_ours ? decision.name : "the MPI library",
                  MPI_Wtime() - begin, is_compared ? decision.native_seconds - decision.seconds : 0);
}

/// Notes the time of a call when the MPI library has carried it out.
void end_left() {
  if (left.group) note(*left.group, left.operation, left.begin);
  left.group = nullptr;
}

/// Does something with what is kept for a communicator of the program. No exception may leave, as the caller may be C.
template <class Work>
int with_group(MPI_Comm comm, Work&& work) {
  int error = MPI_ERR_INTERN;
  try {
    auto* group = job->group_of(comm);
    return group ? work(*group) : TESSERA_LEFT;
  } catch (const std::bad_alloc&) {
    error = MPI_ERR_NO_MEM;
  } catch (const std::exception&) {
  }
  MPI_Comm_call_errhandler(comm, error);
  return error;
}

/// Carries out an operation on a communicator of the program.
template <class Work>
int carry_out(Operation operation, MPI_Comm comm, Work&& work) {
  return with_group(comm, [&](Group& group) {
    const double begin = job->has_report() ? MPI_Wtime() : 0;
    const int code = work(group.collectives);
    if (job->has_report()) {
      if (code == TESSERA_LEFT)
        left = {&group, operation, begin};
      else
        note(group, operation, begin);
    }
    return code;
  });
}

/// Tells whether a buffer's count and type have a meaning; what they mean otherwise is left to the MPI library to say.
bool is_valid(std::int64_t count, MPI_Datatype type) { return count >= 0 && type != MPI_DATATYPE_NULL; }
bool is_valid(const void* buffer, std::int64_t count, MPI_Datatype type) {
  return buffer == MPI_IN_PLACE || is_valid(count, type);
}

int Barrier(MPI_Comm comm) {
  return carry_out(Operation::barrier, comm, [](Collectives& group) { return group.barrier(); });
}

template <class Count>
int Bcast(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  if (!is_valid(count, type)) return TESSERA_LEFT;
  return carry_out(Operation::broadcast, comm,
                   [&](Collectives& group) { return group.broadcast(buffer, count, type, root); });
}

template <class Count>
int Gather(const void* send, Count n_send, MPI_Datatype send_type, void* receive, Count n_receive,
           MPI_Datatype receive_type, int root, MPI_Comm comm) {
  return carry_out(Operation::gather, comm, [&](Collectives& group) {
    const bool is_root = group.rank() == root;
    if (!is_valid(is_root ? send : nullptr, n_send, send_type)) return TESSERA_LEFT;
    if (is_root && !is_valid(n_receive, receive_type)) return TESSERA_LEFT;
    return group.gather(send, n_send, send_type, receive, n_receive, receive_type, root);
  });
}

template <class Count>
int Scatter(const void* send, Count n_send, MPI_Datatype send_type, void* receive, Count n_receive,
            MPI_Datatype receive_type, int root, MPI_Comm comm) {
  return carry_out(Operation::scatter, comm, [&](Collectives& group) {
    const bool is_root = group.rank() == root;
    if (!is_valid(is_root ? receive : nullptr, n_receive, receive_type)) return TESSERA_LEFT;
    if (is_root && !is_valid(n_send, send_type)) return TESSERA_LEFT;
    return group.scatter(send, n_send, send_type, receive, n_receive, receive_type, root);
  });
}

template <class Count>
int Allgather(const void* send, Count n_send, MPI_Datatype send_type, void* receive, Count n_receive,
              MPI_Datatype receive_type, MPI_Comm comm) {
  if (!is_valid(send, n_send, send_type) || !is_valid(n_receive, receive_type)) return TESSERA_LEFT;
  return carry_out(Operation::all_gather, comm, [&](Collectives& group) {
    return group.all_gather(send, n_send, send_type, receive, n_receive, receive_type);
  });
}

template <class Count, class Place>
int Allgatherv(const void* send, Count n_send, MPI_Datatype send_type, void* receive, const Count* counts,
               const Place* displacements, MPI_Datatype receive_type, MPI_Comm comm) {
  if (!is_valid(send, n_send, send_type) || !counts || !displacements || receive_type == MPI_DATATYPE_NULL)
    return TESSERA_LEFT;
  return carry_out(Operation::all_gather, comm, [&](Collectives& group) {
    return group.all_gatherv(send, n_send, send_type, receive, counts, displacements, receive_type);
  });
}

template <class Count>
int Alltoall(const void* send, Count n_send, MPI_Datatype send_type, void* receive, Count n_receive,
             MPI_Datatype receive_type, MPI_Comm comm) {
  if (!is_valid(send, n_send, send_type) || !is_valid(n_receive, receive_type)) return TESSERA_LEFT;
  return carry_out(Operation::all_to_all, comm, [&](Collectives& group) {
    return group.all_to_all(send, n_send, send_type, receive, n_receive, receive_type);
  });
}

template <class Count>
int Reduce(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  return carry_out(Operation::reduce, comm,
                   [&](Collectives& group) { return group.reduce(send, receive, count, type, op, root); });
}

template <class Count>
int Allreduce(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return carry_out(Operation::all_reduce, comm,
                   [&](Collectives& group) { return group.all_reduce(send, receive, count, type, op); });
}

template <class Count>
int Reduce_scatter(const void* send, void* receive, const Count* counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  if (!counts) return TESSERA_LEFT;
  return carry_out(Operation::reduce_scatter, comm,
                   [&](Collectives& group) { return group.reduce_scatter(send, receive, counts, type, op); });
}

template <class Count>
int Reduce_scatter_block(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return carry_out(Operation::reduce_scatter, comm,
                   [&](Collectives& group) { return group.reduce_scatter_block(send, receive, count, type, op); });
}

template <class Count>
int Scan(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return carry_out(Operation::scan, comm,
                   [&](Collectives& group) { return group.scan(send, receive, count, type, op); });
}

template <class Count>
int Exscan(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return carry_out(Operation::exscan, comm,
                   [&](Collectives& group) { return group.exscan(send, receive, count, type, op); });
}

/// Makes a communicator whose ranks are numbered along the map, where MPI may number them anew.
template <class Create>
int renumber(MPI_Comm comm, int reorder, Create&& create) {
  if (reorder == 0) return TESSERA_LEFT;
  return with_group(comm, [&](Group& group) {
    const int code = create(*group.collectives.wires());
    if (code == MPI_SUCCESS) job->count_topology();
    return code;
  });
}

int Cart_create(MPI_Comm comm, int n_dims, const int* dims, const int* periodic, int reorder, MPI_Comm* made) {
  if (n_dims < 1 || !dims || !periodic || !made) return TESSERA_LEFT;
  return renumber(comm, reorder, [&](const machine::Wires& wires) {
    const auto n = static_cast<std::size_t>(n_dims);
    return comm::mpi::create_cartesian(comm, wires, {dims, n}, {periodic, n}, made);
  });
}

int Graph_create(MPI_Comm comm, int n, const int* index, const int* edges, int reorder, MPI_Comm* made) {
  return renumber(comm, reorder, [&](const machine::Wires& wires) {
    return comm::mpi::create_graph(comm, wires, n, index, edges, made);
  });
}

int Dist_graph_create(MPI_Comm comm, int n, const int* sources, const int* degrees, const int* destinations,
                      const int* weights, MPI_Info info, int reorder, MPI_Comm* made) {
  return renumber(comm, reorder, [&](const machine::Wires& wires) {
    return comm::mpi::create_distributed_graph(comm, wires, n, sources, degrees, destinations, weights, info, made);
  });
}

int Dist_graph_create_adjacent(MPI_Comm comm, int n_sources, const int* sources, const int* source_weights,
                               int n_destinations, const int* destinations, const int* destination_weights,
                               MPI_Info info, int reorder, MPI_Comm* made) {
  return renumber(comm, reorder, [&](const machine::Wires& wires) {
    return comm::mpi::create_adjacent_graph(comm, wires, n_sources, sources, source_weights, n_destinations,
                                            destinations, destination_weights, info, made);
  });
}

/// Notes which groups a communicator was divided into. No exception may leave, as the caller may be C; without the note
/// a group is planned for as if the others were idle.
void note_split(MPI_Comm whole, MPI_Comm part) {
  try {
    job->note_split(whole, part);
  } catch (const std::exception&) {
  }
}

void stop() { job.reset(); }

// A function for large counts is the same template with other types.
#define TESSERA_MEMBER(name, END, parameters, arguments) .name##END = name,
constexpr tessera_plans plans{TESSERA_OPERATIONS(TESSERA_MEMBER).note_split = note_split, .end_left = nullptr,
                              .stop = stop};
#undef TESSERA_MEMBER

}  // namespace
}  // namespace tessera::drop_in

const tessera_plans* tessera_start_plans() {
  using namespace tessera::drop_in;
  static tessera_plans started = plans;
  job = Job::start();
  if (job && job->has_report()) started.end_left = end_left;
  return job ? &started : nullptr;
}
