// Operations that combine data. Plans are of elements of the datatype, which is the same on all ranks.
#include <algorithm>

#include "tessera/comm/mpi/collectives.h"
#include "tessera/comm/mpi/native.h"

namespace tessera::comm::mpi {
namespace {

bool is_commutative(MPI_Op op) {
  int commutes = 0;
  MPI_Op_commutative(op, &commutes);
  return commutes != 0;
}

/// Tells whether an operation is one of MPI's own, all of which commute.
bool is_of_mpi(MPI_Op op) {
  const MPI_Op predefined[]{MPI_SUM, MPI_MAX, MPI_MIN,  MPI_PROD, MPI_LAND,   MPI_BAND,
                            MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
  return std::find(std::begin(predefined), std::end(predefined), op) != std::end(predefined);
}

}  // namespace

/// Returns what to execute; what the library would refuse, or does in another manner, is left to it.
const Collectives::Planned* Collectives::plan_reduction(Operation operation, const Blocks& counts, MPI_Datatype type,
                                                        MPI_Op op, int root) {
  latest_ = &unplanned_;
  if (!may_plan() || type == MPI_DATATYPE_NULL || op == MPI_OP_NULL || op == MPI_REPLACE || op == MPI_NO_OP)
    return nullptr;
  const bool is_known = is_of_mpi(op);
  if (is_known && !types_.is_predefined(type)) return nullptr;
  const auto size = types_.size_of(type);
  return size > 0 ? plan({operation, root, size, is_known || is_commutative(op), counts}) : nullptr;
}

/// Carries out an operation on one block. Where `has_result`, the rank has a receive buffer.
int Collectives::reduce_vector(const Planned& planned, const void* send, void* receive, std::int64_t count,
                               MPI_Datatype type, MPI_Op op, bool has_result) {
  const auto element = element_of(type);
  const auto* own = bytes_at(send == MPI_IN_PLACE ? receive : send);
  auto* output = bytes_at(receive);
  int code = MPI_SUCCESS;
  if (!has_result) {
    output = bytes_at(own);  // a leaf of a tree only sends
    if (planned.writes_output()) {
      output = output_.elements({0, count}, element);
      code = kept_->executor->copy(own, output, count, element);
    }
  } else if (own != output) {
    code = kept_->executor->copy(own, output, count, element);
  }
  if (code == MPI_SUCCESS) code = run(planned, {nullptr, output, nullptr}, element, {op, planned.problem.commutative});
  return finish(code);
}

int Collectives::reduce(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op op, int root) {
  const auto* planned = plan_reduction(Operation::reduce, {1, count}, type, op, root);
  if (!planned) return leave_to(native::reduce, send, receive, count, type, op, root);
  return reduce_vector(*planned, send, receive, count, type, op, rank_ == root);
}

int Collectives::all_reduce(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op op) {
  const auto* planned = plan_reduction(Operation::all_reduce, {1, count}, type, op);
  if (!planned) return leave_to(native::all_reduce, send, receive, count, type, op);
  return reduce_vector(*planned, send, receive, count, type, op, true);
}

int Collectives::start_all_reduce(void* values, std::int64_t count, MPI_Datatype type, MPI_Op op,
                                  MPI_Request* request) {
  return native::start_all_reduce(values, count, type, op, comm_, request);
}

int Collectives::scan(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op op) {
  const auto* planned = plan_reduction(Operation::scan, {1, count}, type, op);
  if (!planned) return leave_to(native::scan, send, receive, count, type, op);
  return reduce_vector(*planned, send, receive, count, type, op, true);
}

int Collectives::exscan(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op op) {
  const auto* planned = plan_reduction(Operation::exscan, {1, count}, type, op);
  if (!planned) return leave_to(native::exscan, send, receive, count, type, op);
  // The first rank has no result, so its receive buffer is not changed.
  return reduce_vector(*planned, send, receive, count, type, op, rank_ > 0);
}

/// Combines a copy of the whole vector and keeps this rank's block of it.
int Collectives::reduce_blocks(const Planned& planned, const void* send, void* receive, MPI_Datatype type, MPI_Op op) {
  const auto element = element_of(type);
  const auto& offsets = planned.offsets;
  const auto mine = offsets[static_cast<std::size_t>(rank_)];
  auto* vector = output_.elements({0, offsets.back()}, element);
  int code = kept_->executor->copy(bytes_at(send == MPI_IN_PLACE ? receive : send), vector, offsets.back(), element);
  if (code == MPI_SUCCESS) code = run(planned, {nullptr, vector, nullptr}, element, {op, planned.problem.commutative});
  if (code == MPI_SUCCESS)
    code = kept_->executor->copy(vector + mine * element.extent, bytes_at(receive),
                                 planned.problem.blocks[static_cast<std::size_t>(rank_)], element);
  return finish(code);
}

int Collectives::reduce_scatter(const void* send, void* receive, const Integers& counts, MPI_Datatype type, MPI_Op op) {
  const auto* planned = plan_reduction(Operation::reduce_scatter, {n_ranks_, 0, counts}, type, op);
  if (!planned) return leave_to(native::reduce_scatter, send, receive, counts, type, op);
  return reduce_blocks(*planned, send, receive, type, op);
}

int Collectives::reduce_scatter_block(const void* send, void* receive, std::int64_t count, MPI_Datatype type,
                                      MPI_Op op) {
  const auto* planned = plan_reduction(Operation::reduce_scatter, {n_ranks_, count}, type, op);
  if (!planned) return leave_to(native::reduce_scatter_block, send, receive, count, type, op);
  return reduce_blocks(*planned, send, receive, type, op);
}

}  // namespace tessera::comm::mpi
