#include "tessera/grid/choice/agree.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "tessera/base/error.h"
#include "tessera/grid/operator.h"

namespace tessera::grid {

Choice agree_on_choice(const comm::Communicator& comm, const GridLayout& layout, const machine::Wires* wires,
                       const HaloShape& shape, std::int64_t bytes, const ChoiceRequest& request) {
  struct {
    std::size_t entry = 0;
    std::int64_t batch = 1;
    int slope = 0;
    Prediction predicted;
  } agreed;
  for (const auto name : request.approaches) (void)find_model(name);  // throws on all ranks alike
  if (comm.is_root()) {
    const auto cost = cost_of_layout(layout, shape, bytes, *wires, request.rates).field;
    const auto best = rank_approaches(request.approaches, cost, request.fields, request.threads, request.given).front();
    const auto at = std::find(request.approaches.begin(), request.approaches.end(), best.approach);
    agreed = {static_cast<std::size_t>(at - request.approaches.begin()), best.batch, best.slope, best.predicted};
  }
  comm.broadcast(std::as_writable_bytes(std::span(&agreed, 1)), 0);
  return {std::string(request.approaches[agreed.entry]), agreed.batch, agreed.slope, agreed.predicted};
}

template <class Real>
Choice choose_for_operator(const Stencil& stencil, std::int64_t components, const GridLayout& layout,
                           const machine::Wires* wires, const OperatorWish& wish, const comm::Communicator& comm,
                           ThreadPool& threads) {
  ChoiceRequest request;
  request.fields = wish.fields;
  request.given = wish.given;
  std::int64_t fewest = threads.size();
  comm.all_reduce_min(std::span(&fewest, 1));
  request.threads = static_cast<int>(fewest);
  if (!wish.approach.empty()) {
    request.approaches = {find_approach(wish.approach).name};
  } else if (fewest > 1) {
    request.approaches.clear();  // of equal ones the first is taken
    if (comm.size() == 1 || comm::Communicator::all_threads_may_communicate())
      request.approaches.emplace_back("hybrid-multiple");
    request.approaches.emplace_back("hybrid-master-only");
  }
  const auto& first = find_model(request.approaches.front());
  const bool is_given = request.approaches.size() == 1 && wish.given.batch && wish.given.slope;
  const bool is_one_core = comm.size() == 1 && fewest == 1;
  if (is_given || is_one_core || !first.is_double_buffered || stencil.offsets.empty())
    return {std::string(first.name), wish.given.batch.value_or(1), wish.given.slope.value_or(0), {}};
  request.rates = agree_on_rates<Real>(stencil, components, layout, comm, threads);
  const auto bytes = static_cast<std::int64_t>(sizeof(Real)) * components;
  return agree_on_choice(comm, layout, wires, HaloShape::of(stencil), bytes, request);
}

template Choice choose_for_operator<float>(const Stencil&, std::int64_t, const GridLayout&, const machine::Wires*,
                                           const OperatorWish&, const comm::Communicator&, ThreadPool&);
template Choice choose_for_operator<double>(const Stencil&, std::int64_t, const GridLayout&, const machine::Wires*,
                                            const OperatorWish&, const comm::Communicator&, ThreadPool&);

}  // namespace tessera::grid
