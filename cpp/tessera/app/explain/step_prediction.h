// Predicts the parts of a step on many ranks: computing as it was measured on one rank here, scaled to the rank that
// has most cells; exchanges by the load of the wires of a map.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/app/trial.h"
#include "tessera/machine/survey/machine_file.h"
#include "tessera/machine/wires.h"
#include "tessera/md/plan.h"

namespace tessera::app {

/// A step that was run on one rank, with as many threads as all ranks of the plan have here together.
struct MeasuredStep {
  TrialTime time;
  std::int64_t n_atoms = 0;
  Index3 mesh{};  // points along each edge; zeros without a mesh
  int threads = 1;
};

struct PredictedPart {
  std::string name;
  double seconds = 0;
};

struct StepPrediction {
  std::vector<PredictedPart> parts;
  bool has_exchanges = false;  // whether a map is known

  double seconds() const;
  /// Returns a line such as "pairs 12.3 ms (61 %), mesh 4.0 ms (20 %)" of the parts that take time.
  std::string text() const;
};

/// What is known of the machine that is planned for.
struct PlannedMachine {
  int threads = 1;  // of a rank
  double ranks_and_threads_per_core = 1;
  const machine::Wires* wires = nullptr;  // nothing without a map
  double transform_exchange_seconds = 0;  // of all transforms of a step, on these wires
};

/// How a sum over all ranks is carried out, and why.
struct PlannedSum {
  std::string by, why;
};

/// Plans a sum of so many integers over all ranks as a run on a map does, with the map's trials of this MPI library.
PlannedSum plan_sum(std::int64_t n_integers, const machine::Wires& wires, const machine::MachineFile& map);

/// Says which vectors ranks with replicated data gather and sum in a step.
std::string describe_vectors(const md::Plan& plan, std::int64_t n_atoms);

/// Predicts a step of `n_atoms` atoms by the plan. Atoms are taken to be as dense everywhere, so that work grows with
/// cells; that of a transform grows with n log n of its points. Migration between cells, sums over all ranks and output
/// are left out. Of more than 1,024 ranks the halos of 256 are counted.
StepPrediction predict_step(const MeasuredStep& measured, const md::Plan& plan, std::int64_t n_atoms,
                            const PlannedMachine& machine);

}  // namespace tessera::app
