#include "tessera/comm/mpi/native.h"

#include <limits>
#include <vector>

#if MPI_VERSION >= 4
#define TESSERA_LARGE(name) name##_c
#else
#define TESSERA_LARGE(name) name
#endif

namespace tessera::comm::mpi::native {
namespace {

#if MPI_VERSION >= 4
using Count = MPI_Count;
using Displacement = MPI_Aint;
#else
using Count = int;
using Displacement = int;
#endif

/// The values of all ranks in the library's type; none where the argument is not used on this rank.
template <class Integer>
class Array {
 public:
  Array(const Counts& values, MPI_Comm comm) {
    if (!values) return;
    int n = 0, between = 0;
    MPI_Comm_test_inter(comm, &between);
    between ? MPI_Comm_remote_size(comm, &n) : MPI_Comm_size(comm, &n);
    for (int i = 0; i < n; ++i) {
      fits_ = fits_ && fits(values[i]);
      values_.push_back(static_cast<Integer>(values[i]));
    }
  }
  bool fit() const { return fits_; }
  const Integer* data() const { return values_.empty() ? nullptr : values_.data(); }

 private:
  std::vector<Integer> values_;
  bool fits_ = true;
};

template <class... Some>
bool fit(const Some&... some) {
  return (some.fit() && ...);
}

int too_large(MPI_Comm comm) {
  MPI_Comm_call_errhandler(comm, MPI_ERR_COUNT);
  return MPI_ERR_COUNT;
}

Count to_count(std::int64_t count) { return static_cast<Count>(count); }

}  // namespace

bool fits(std::int64_t count) {
  return count >= std::numeric_limits<Count>::min() && count <= std::numeric_limits<Count>::max();
}

int broadcast(void* buffer, std::int64_t count, MPI_Datatype type, int root, MPI_Comm comm) {
  if (!fits(count)) return too_large(comm);
  return TESSERA_LARGE(MPI_Bcast)(buffer, to_count(count), type, root, comm);
}

int scatter(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, std::int64_t n_receive,
            MPI_Datatype receive_type, int root, MPI_Comm comm) {
  if (!fits(n_send) || !fits(n_receive)) return too_large(comm);
  return TESSERA_LARGE(MPI_Scatter)(send, to_count(n_send), send_type, receive, to_count(n_receive), receive_type, root,
                                    comm);
}

int scatterv(const void* send, const Counts& counts, const Counts& displacements, MPI_Datatype send_type, void* receive,
             std::int64_t n_receive, MPI_Datatype receive_type, int root, MPI_Comm comm) {
  const Array<Count> n(counts, comm);
  const Array<Displacement> at(displacements, comm);
  if (!fit(n, at) || !fits(n_receive)) return too_large(comm);
  return TESSERA_LARGE(MPI_Scatterv)(send, n.data(), at.data(), send_type, receive, to_count(n_receive), receive_type,
                                     root, comm);
}

int gather(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, std::int64_t n_receive,
           MPI_Datatype receive_type, int root, MPI_Comm comm) {
  if (!fits(n_send) || !fits(n_receive)) return too_large(comm);
  return TESSERA_LARGE(MPI_Gather)(send, to_count(n_send), send_type, receive, to_count(n_receive), receive_type, root,
                                   comm);
}

int gatherv(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, const Counts& counts,
            const Counts& displacements, MPI_Datatype receive_type, int root, MPI_Comm comm) {
  const Array<Count> n(counts, comm);
  const Array<Displacement> at(displacements, comm);
  if (!fit(n, at) || !fits(n_send)) return too_large(comm);
  return TESSERA_LARGE(MPI_Gatherv)(send, to_count(n_send), send_type, receive, n.data(), at.data(), receive_type, root,
                                    comm);
}

int all_gather(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, std::int64_t n_receive,
               MPI_Datatype receive_type, MPI_Comm comm) {
  if (!fits(n_send) || !fits(n_receive)) return too_large(comm);
  return TESSERA_LARGE(MPI_Allgather)(send, to_count(n_send), send_type, receive, to_count(n_receive), receive_type,
                                      comm);
}

int all_gatherv(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, const Counts& counts,
                const Counts& displacements, MPI_Datatype receive_type, MPI_Comm comm) {
  const Array<Count> n(counts, comm);
  const Array<Displacement> at(displacements, comm);
  if (!fit(n, at) || !fits(n_send)) return too_large(comm);
  return TESSERA_LARGE(MPI_Allgatherv)(send, to_count(n_send), send_type, receive, n.data(), at.data(), receive_type,
                                       comm);
}

int all_to_all(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, std::int64_t n_receive,
               MPI_Datatype receive_type, MPI_Comm comm) {
  if (!fits(n_send) || !fits(n_receive)) return too_large(comm);
  return TESSERA_LARGE(MPI_Alltoall)(send, to_count(n_send), send_type, receive, to_count(n_receive), receive_type,
                                     comm);
}

int all_to_allv(const void* send, const Counts& send_counts, const Counts& send_displacements, MPI_Datatype send_type,
                void* receive, const Counts& receive_counts, const Counts& receive_displacements,
                MPI_Datatype receive_type, MPI_Comm comm) {
  const Array<Count> n_send(send_counts, comm), n_receive(receive_counts, comm);
  const Array<Displacement> from(send_displacements, comm), to(receive_displacements, comm);
  if (!fit(n_send, n_receive, from, to)) return too_large(comm);
  return TESSERA_LARGE(MPI_Alltoallv)(send, n_send.data(), from.data(), send_type, receive, n_receive.data(), to.data(),
                                      receive_type, comm);
}

int reduce(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op operation, int root,
           MPI_Comm comm) {
  if (!fits(count)) return too_large(comm);
  return TESSERA_LARGE(MPI_Reduce)(send, receive, to_count(count), type, operation, root, comm);
}

int all_reduce(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op operation,
               MPI_Comm comm) {
  if (!fits(count)) return too_large(comm);
  return TESSERA_LARGE(MPI_Allreduce)(send, receive, to_count(count), type, operation, comm);
}

int start_all_reduce(void* values, std::int64_t count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm,
                     MPI_Request* request) {
  if (!fits(count)) return too_large(comm);
  return TESSERA_LARGE(MPI_Iallreduce)(MPI_IN_PLACE, values, to_count(count), type, operation, comm, request);
}

int reduce_scatter(const void* send, void* receive, const Counts& counts, MPI_Datatype type, MPI_Op operation,
                   MPI_Comm comm) {
  const Array<Count> n(counts, comm);
  if (!fit(n)) return too_large(comm);
  return TESSERA_LARGE(MPI_Reduce_scatter)(send, receive, n.data(), type, operation, comm);
}

int reduce_scatter_block(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op operation,
                         MPI_Comm comm) {
  if (!fits(count)) return too_large(comm);
  return TESSERA_LARGE(MPI_Reduce_scatter_block)(send, receive, to_count(count), type, operation, comm);
}

int scan(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm) {
  if (!fits(count)) return too_large(comm);
  return TESSERA_LARGE(MPI_Scan)(send, receive, to_count(count), type, operation, comm);
}

int exscan(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm) {
  if (!fits(count)) return too_large(comm);
  return TESSERA_LARGE(MPI_Exscan)(send, receive, to_count(count), type, operation, comm);
}

}  // namespace tessera::comm::mpi::native
