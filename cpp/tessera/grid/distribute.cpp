#include "tessera/grid/distribute.h"

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

}  // namespace tessera::grid
