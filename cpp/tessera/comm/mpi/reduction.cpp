// Operations that combine data. Plans are of elements of the datatype, which is the same on all ranks.
#include <algorithm>

#include "tessera/comm/mpi/collectives.h"
#include "tessera/comm/mpi/native.h"

namespace tessera::comm::mpi {
namespace {

std::byte* bytes_at(const void* address) { return static_cast<std::byte*>(const_cast<void*>(address)); }

bool is_commutative(MPI_Op op) {
  int commutes = 0;
  MPI_Op_commutative(op, &commutes);
  return commutes != 0;
}

/// Tells whether plans may combine such elements; what the library would refuse, or does in another manner, is left to
/// it.
bool can_combine(MPI_Datatype type, MPI_Op op) {
  if (type == MPI_DATATYPE_NULL || op == MPI_OP_NULL || op == MPI_REPLACE || op == MPI_NO_OP) return false;
  const MPI_Op predefined[]{MPI_MAX, MPI_MIN, MPI_SUM,  MPI_PROD, MPI_LAND,   MPI_BAND,
                            MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
  const bool is_known = std::find(std::begin(predefined), std::end(predefined), op) != std::end(predefined);
  return (!is_known || is_predefined(type)) && element_of(type).size > 0;
}

}  // namespace

const Collectives::Planned* Collectives::plan_reduction(Operation operation, std::vector<std::int64_t> counts,
                                                        MPI_Datatype type, MPI_Op op, int root) {
  latest_ = &unplanned_;
  if (!may_plan() || !is_rank(root) || !can_combine(type, op)) return nullptr;
  if (std::any_of(counts.begin(), counts.end(), [](auto count) { return count < 0; })) return nullptr;
  if (std::all_of(counts.begin(), counts.end(), [](auto count) { return count == 0; })) return nullptr;
  return plan({operation, n_ranks_, root, std::move(counts), element_of(type).size, is_commutative(op)});
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
      code = executor_->copy(own, output, count, element);
    }
  } else if (own != output) {
    code = executor_->copy(own, output, count, element);
  }
  if (code == MPI_SUCCESS) code = run(planned, {nullptr, output, nullptr}, element, {op, planned.problem.commutative});
  return finish(code);
}

int Collectives::reduce(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op op, int root) {
  const auto* planned = plan_reduction(Operation::reduce, {count}, type, op, root);
  if (!planned) return leave_to(native::reduce, send, receive, count, type, op, root);
  return reduce_vector(*planned, send, receive, count, type, op, rank_ == root);
}

int Collectives::all_reduce(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op op) {
  const auto* planned = plan_reduction(Operation::all_reduce, {count}, type, op);
  if (!planned) return leave_to(native::all_reduce, send, receive, count, type, op);
  return reduce_vector(*planned, send, receive, count, type, op, true);
}

int Collectives::start_all_reduce(void* values, std::int64_t count, MPI_Datatype type, MPI_Op op,
                                  MPI_Request* request) {
  return native::start_all_reduce(values, count, type, op, comm_, request);
}

int Collectives::scan(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op op) {
  const auto* planned = plan_reduction(Operation::scan, {count}, type, op);
  if (!planned) return leave_to(native::scan, send, receive, count, type, op);
  return reduce_vector(*planned, send, receive, count, type, op, true);
}

int Collectives::exscan(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op op) {
  const auto* planned = plan_reduction(Operation::exscan, {count}, type, op);
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
  int code = executor_->copy(bytes_at(send == MPI_IN_PLACE ? receive : send), vector, offsets.back(), element);
  if (code == MPI_SUCCESS) code = run(planned, {nullptr, vector, nullptr}, element, {op, planned.problem.commutative});
  if (code == MPI_SUCCESS)
    code = executor_->copy(vector + mine * element.extent, bytes_at(receive),
                           planned.problem.blocks[static_cast<std::size_t>(rank_)], element);
  return finish(code);
}

int Collectives::reduce_scatter(const void* send, void* receive, const std::int64_t* counts, MPI_Datatype type,
                                MPI_Op op) {
  const auto n = may_plan() ? n_ranks_ : 0;
  const auto* planned = plan_reduction(Operation::reduce_scatter, {counts, counts + n}, type, op);
  if (!planned) return leave_to(native::reduce_scatter, send, receive, counts, type, op);
  return reduce_blocks(*planned, send, receive, type, op);
}

int Collectives::reduce_scatter_block(const void* send, void* receive, std::int64_t count, MPI_Datatype type,
                                      MPI_Op op) {
  const auto n = static_cast<std::size_t>(n_ranks_);
  const auto* planned = plan_reduction(Operation::reduce_scatter, std::vector<std::int64_t>(n, count), type, op);
  if (!planned) return leave_to(native::reduce_scatter_block, send, receive, count, type, op);
  return reduce_blocks(*planned, send, receive, type, op);
}

}  // namespace tessera::comm::mpi
