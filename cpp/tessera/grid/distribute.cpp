#include "tessera/grid/distribute.h"

#include <algorithm>
#include <span>

#include "tessera/base/error.h"
#include "tessera/comm/wires_of_ranks.h"

namespace tessera::grid {

DistributedLayout distribute(const comm::Communicator& comm, const Index3& shape,
                             const std::array<bool, 3>& is_periodic, const std::optional<Index3>& processes,
                             const std::string& machine_file) {
  DistributedLayout grid{{shape, is_periodic, {}, {}}, comm::wires_of_ranks(comm, machine_file).wires};
  std::string fault;
  if (comm.is_root()) {
    try {
      grid.layout = plan_layout(shape, is_periodic, comm.size(), processes, grid.wires.get());
    } catch (const InputError& error) {
      fault = error.what();
    }
  }
  comm::agree_on_input(comm, fault);
  comm.broadcast(comm::writable_bytes_of(grid.layout.processes), 0);
  comm::broadcast_resized(comm, grid.layout.boxes);
  return grid;
}

Choice agree_on_choice(const comm::Communicator& comm, const DistributedLayout& grid, const HaloShape& shape,
                       std::int64_t bytes, const ChoiceRequest& request) {
  struct {
    std::size_t entry = 0;
    std::int64_t batch = 1;
    int slope = 0;
    Prediction predicted;
  } agreed;
  for (const auto name : request.approaches) (void)find_model(name);  // throws on all ranks alike
  if (comm.is_root()) {
    const auto cost = cost_of_layout(grid.layout, shape, bytes, *grid.wires, request.rates).field;
    const auto best = rank_approaches(request.approaches, cost, request.fields, request.threads).front();
    const auto at = std::find(request.approaches.begin(), request.approaches.end(), best.approach);
    agreed = {static_cast<std::size_t>(at - request.approaches.begin()), best.batch, best.slope, best.predicted};
  }
  comm.broadcast(std::as_writable_bytes(std::span(&agreed, 1)), 0);
  return {std::string(request.approaches[agreed.entry]), agreed.batch, agreed.slope, agreed.predicted};
}

}  // namespace tessera::grid
