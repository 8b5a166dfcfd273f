// What others see of a run while it goes on: status.json and, where the run file names a port, frames by IMD.
#pragma once

#include <optional>

#include "tessera/app/imd/feed.h"
#include "tessera/app/observers/status_writer.h"
#include "tessera/app/output/network_status.h"

namespace tessera::app {

/// All members are collective. References must outlive it.
class Watching {
 public:
  /// Writes no status where `status` is null; there may be no balancer.
  Watching(const OutputConfig& output, StatusFile* status, const EnergyRecorder& energies,
           const std::optional<CellBalancer>& balancer)
      : file_(status), writer_(status, energies, balancer) {
    if (output.imd > 0) feed_.emplace(output);
  }

  /// Attaches both, after what writes files, so that status.json tells of files that are there.
  void attach_to(Simulation& simulation) {
    if (file_) file_->set("network", network_status(simulation.settings().machine_file, simulation.comm()));
    simulation.attach(writer_);
    if (feed_) simulation.attach(*feed_);
  }
  void detach_from(Simulation& simulation) {
    simulation.detach(writer_);
    if (feed_) simulation.detach(*feed_);
  }

 private:
  StatusFile* file_;
  StatusWriter writer_;
  std::optional<imd::Feed> feed_;
};

}  // namespace tessera::app
