// How a system is laid out on ranks: cells, bricks, mesh, transform. A plan is a pure function of the system, the
// settings, the box and the ranks; the engine executes it, `tessera explain` prints it, and it is made for 65,536 ranks
// without MPI.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/comm/rank_line.h"
#include "tessera/md/domain/decomposition.h"
#include "tessera/md/pme/plan.h"
#include "tessera/md/settings.h"
#include "tessera/md/vacuum/frame.h"
#include "tessera/model/system.h"

namespace tessera::md {

/// What a plan needs to know of a system.
struct SystemSummary {
  bool is_periodic = true;
  double group_radius = 0;  // Å: how far an atom may be from the key atom of its hydrogen group, whose cell it is in
  std::string widest_group{};               // the virtual site that this is due to; empty where there are none
  vacuum::Extent atoms = vacuum::anywhere;  // of a vacuum
};
SystemSummary summary_of(const model::System& system, const vacuum::Extent& atoms = vacuum::anywhere);

/// The cell grid of a box, the same on any ranks.
struct CellPlan {
  domain::CellGrid grid;
  double range = 0;         // Å: how far two atoms that interact may be from each other at a search
  double group_radius = 0;  // Å
  double buffer = 0;  // Å: how far two atoms together may move between searches: what was asked for, and up to as much
                      // again where the cells have room for it

  /// Returns how far outside its cell an atom may be until the next search, Å.
  double margin() const { return group_radius + 0.5 * buffer; }
};

struct Plan {
  CellPlan cells;
  domain::Decomposition bricks;
  std::optional<pme::PmePlan> mesh;  // with particle-mesh Ewald
};

/// Lays a transform out: the scheme and the order of ranks.
using TransformPlanner = std::function<fft::TransformPlan(const fft::TransformProblem&)>;

/// Throws InputError where the box is too small for the cut-off or for two cells along a vector.
CellPlan plan_cells(const SystemSummary& system, const EngineSettings& settings, const Box& box);

/// Plans for ranks that stand in this line. `bricks`: those of another plan for the same cells, instead of bricks of
/// equal cost. Throws InputError as plan_cells, domain::plan_decomposition and pme::plan_pme do. Cost: O(ranks).
Plan make_plan(const SystemSummary& system, const EngineSettings& settings, const Box& box, const comm::RankLine& line,
               const TransformPlanner& plan_transform, std::optional<domain::Decomposition> bricks = std::nullopt);

/// Plans for the ranks of a communicator, by the map of the machine, and in a vacuum for atoms of this extent: one plan
/// on all ranks. Throws InputError, also as comm::wires_of_ranks and memory/room.h do. Collective.
Plan plan_for_ranks(const model::System& system, const EngineSettings& settings, const Box& box,
                    const comm::Communicator& comm, ThreadPool& threads,
                    std::optional<domain::Decomposition> bricks = std::nullopt,
                    const vacuum::Extent& atoms = vacuum::anywhere);

}  // namespace tessera::md
