// Everything that a run leaves behind: its files, what watches it to write them, and its report.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "tessera/app/observers/balance.h"
#include "tessera/app/observers/checkpoints.h"
#include "tessera/app/observers/energies.h"
#include "tessera/app/observers/frames.h"
#include "tessera/app/observers/progress_display.h"
#include "tessera/app/output/output_files.h"
#include "tessera/app/output/report.h"
#include "tessera/app/simulation.h"

namespace tessera::app {

/// All members are collective. References must outlive it.
class RunOutputs final : public Observer {
 public:
  /// Takes the output folder. `limit`: of the job's time; none where null. Throws InputError, RunError.
  RunOutputs(const RunConfig& config, const model::System& system, bool is_restart, const comm::Communicator& comm,
             TimeLimit* limit = nullptr);
  /// Continues a restart with what its checkpoint counts.
  void go_on_from(const CheckpointNumbers& checkpoint);
  /// Attaches all that records the run, itself first.
  void attach_to(Simulation& simulation);
  void detach_from(Simulation& simulation);

  /// Reports what came of the run, `to_go_on` left out; `balancer` may be none.
  Report report(Simulation& simulation, const CellBalancer* balancer) const;

  const EnergyRecorder& energies() const { return energies_; }
  /// Tells whether the job's time was about to end, so that the run was stopped.
  bool is_out_of_time() const { return clock_.is_out_of_time(); }

  void start(Simulation& simulation) override;
  void after_step(Simulation& simulation) override;
  void finish(Simulation& simulation) override { after_step(simulation); }

 private:
  std::array<Observer*, 6> observers() { return {this, &clock_, &energies_, &frames_, &checkpoints_, &progress_}; }

  bool is_restart_, has_begun_ = false;           // a restart, or a new run of which step 1 is done
  std::int64_t n_rows_ = 0;                       // of the checkpoint
  std::map<std::string, std::int64_t> n_frames_;  // of the checkpoint
  std::unique_ptr<OutputFiles> files_;            // on the root
  WallClock clock_;
  EnergyRecorder energies_;
  FrameRecorder frames_;
  CheckpointSaver checkpoints_;
  ProgressDisplay progress_;
};

}  // namespace tessera::app
