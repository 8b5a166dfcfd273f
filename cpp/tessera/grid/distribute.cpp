#include "tessera/grid/distribute.h"

#include <algorithm>
#include <span>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/comm/wires_of_ranks.h"
#include "tessera/grid/batches.h"

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

std::int64_t agree_on_batch(const comm::Communicator& comm, const DistributedLayout& grid, const HaloShape& shape,
                            std::int64_t bytes) {
  constexpr int most_ranks = 64;
  constexpr std::int64_t most_fields = 64;
  std::int64_t batch = 1;
  if (comm.is_root()) {
    std::vector<Face> faces;
    for (int i = 0; i < std::min(comm.size(), most_ranks); ++i) {
      const int rank = i * (comm.size() / std::min(comm.size(), most_ranks));
      const auto stages = plan_halo(grid.layout, shape, rank, false);
      for (const auto& peer : stages.front().peers)
        faces.push_back({rank, peer.rank, static_cast<double>(peer.send_points() * bytes)});
    }
    batch = choose_batch(faces, *grid.wires, most_fields);
  }
  comm.broadcast(std::as_writable_bytes(std::span(&batch, 1)), 0);
  return batch;
}

}  // namespace tessera::grid
