#include "tessera/md/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/comm/on_root.h"
#include "tessera/fft/choice/trial.h"
#include "tessera/md/memory/room.h"
#include "tessera/md/topology.h"

namespace tessera::md {

namespace {

/// How far apart the key atom of a bonded term and another of its atoms may be, Å: a stretched 1-4 pair.
constexpr double bonded_reach = 4.5;

bool has_mesh(const EngineSettings& settings) { return settings.pair.electrostatics == pair::Electrostatics::pme; }

/// Returns what cells must allow for: what a search finds must hold until the next, and atoms may come closer by the
/// buffer meanwhile.
domain::CellDemands cell_demands(const SystemSummary& system, const EngineSettings& settings, const Box& box,
                                 double range) {
  return {
      .list_range = range + settings.buffer,
      .group_radius = system.group_radius,
      .bonded_reach = bonded_reach,
      .mesh_reach = has_mesh(settings) ? pme::spline_reach(box.heights(), settings.pme_grid, settings.pme_order) : 0,
      .buffer = settings.buffer,
      .widest_group = system.widest_group};
}

void check_cutoff(const EngineSettings& settings, const Box& box) {
  const auto heights = box.heights();
  for (std::size_t d = 0; d < 3; ++d)
    if (heights[d] < 2 * settings.pair.range())
      throw InputError(
          fmt::format("{}, less than twice {} = {} Å; an atom would meet two images of another: use a larger box or a "
                      "cut-off of at "
                      "most {:.3f} Å",
                      domain::describe_height(box, d),
                      settings.pair.range() > settings.pair.cutoff ? "pme.cutoff" : "interactions.cutoff",
                      settings.pair.range(), 0.5 * heights[d]));
}

}  // namespace

SystemSummary summary_of(const model::System& system, const vacuum::Extent& atoms) {
  return {system.is_periodic, group_radius(system), virtual_site::site_group_reach(system).of, atoms};
}

CellPlan plan_cells(const SystemSummary& system, const EngineSettings& settings, const Box& box) {
  const auto& atoms = system.atoms;
  if (system.is_periodic) check_cutoff(settings, box);
  const double range = system.is_periodic ? settings.pair.range() : vacuum::range(atoms, box, settings.pair.range());
  const auto demands = cell_demands(system, settings, box, range);
  const Fraction lower{atoms.lower[0], atoms.lower[1], atoms.lower[2]},
      upper{atoms.upper[0], atoms.upper[1], atoms.upper[2]};
  const auto grid =
      system.is_periodic ? domain::plan_cell_grid(box, demands) : domain::plan_vacuum_grid(box, demands, lower, upper);
  const double spare = domain::spare_buffer(grid, demands);
  return {grid, range, system.group_radius, settings.buffer + std::min(spare, settings.buffer)};
}

Plan make_plan(const SystemSummary& system, const EngineSettings& settings, const Box& box, const comm::RankLine& line,
               const TransformPlanner& plan_transform, std::optional<domain::Decomposition> bricks) {
  Plan plan;
  plan.cells = plan_cells(system, settings, box);
  plan.bricks = bricks ? std::move(*bricks) : domain::plan_decomposition(plan.cells.grid, line);
  plan.bricks.set_replicated(settings.is_replicated);
  if (!system.is_periodic) plan.cells.grid = plan.bricks.grid();  // which may reach further
  if (has_mesh(settings))
    plan.mesh = pme::plan_pme({settings.pme_order, settings.pair.alpha, settings.pme_grid}, box.heights(),
                              plan.cells.grid.n, plan.bricks.bricks(), plan.cells.margin(), plan_transform);
  return plan;
}

Plan plan_for_ranks(const model::System& system, const EngineSettings& settings, const Box& box,
                    const comm::Communicator& comm, ThreadPool& threads, std::optional<domain::Decomposition> bricks,
                    const vacuum::Extent& atoms) {
  const auto summary = summary_of(system, atoms);
  const auto cells = plan_cells(summary, settings, box);
  comm::on_each_rank(comm, [&] {
    check_room_for_cells(cells.grid, settings.is_replicated ? 1 : comm.size());
    check_room_for_mesh(settings, comm.size());
  });
  const auto line = bricks             ? bricks->line()
                    : settings.reorder ? comm::agree_on_line(comm, settings.machine_file).line
                                       : comm::RankLine::as_numbered(comm.size());
  fft::Agreed agreed;
  const auto plan_transform = [&](const fft::TransformProblem& problem) {
    const bool in_double = settings.precision == pair::Precision::double_precision;
    const fft::TransformRequest request{settings.fft_scheme, settings.machine_file, in_double ? 8 : 4,
                                        settings.fft_exchange};
    const auto agree = in_double ? fft::agree_or_try<double> : fft::agree_or_try<float>;
    agreed = agree(comm, threads, problem, request, {}, settings.fft_wisdom_file);
    return agreed.plan;
  };
  auto plan = make_plan(summary, settings, box, line, plan_transform, std::move(bricks));
  if (plan.mesh) {
    plan.mesh->exchange = agreed.exchange;
    plan.mesh->wires = agreed.wires;
  }
  return plan;
}

}  // namespace tessera::md
