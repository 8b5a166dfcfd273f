#include "tessera/app/explain/step_prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <utility>
#include <vector>

#include "tessera/app/numbers_text.h"
#include "tessera/collectives/choose.h"
#include "tessera/comm/communicator.h"
#include "tessera/machine/load/exchange_load.h"

namespace tessera::app {

namespace {

using md::Phase;

// An atom of the halo costs its position (3 × 32 bits) in one direction and its force (3 × 64 bits) in the other.
constexpr double position_bytes = 12, force_bytes = 24;

double n_points(const Index3& mesh) {
  return static_cast<double>(mesh[0]) * static_cast<double>(mesh[1]) * static_cast<double>(mesh[2]);
}

/// Returns the part of a transform's work that the rank with most of it has.
double largest_share(const fft::TransformPlan& plan) {
  double most = 0;
  for (const auto& stage : plan.stages) {
    std::int64_t all = 0, largest = 0;
    for (const auto& box : stage.swept) {
      all += box.size();
      largest = std::max(largest, box.size());
    }
    most = std::max(most, static_cast<double>(largest) / static_cast<double>(std::max<std::int64_t>(all, 1)));
  }
  return most;
}

/// Returns the time in which all ranks get the positions of all, and each the sum of the forces on its own.
double vector_seconds(const md::domain::Decomposition& bricks, double atoms_per_cell, const machine::Wires& wires) {
  using collectives::Operation;
  constexpr std::int64_t integer_bytes = 8;
  const auto seconds_of = [&](Operation operation, double elements_of_atom, std::int64_t element_bytes) {
    std::vector<std::int64_t> blocks;
    for (const auto& brick : bricks.bricks())
      blocks.push_back(std::llround(elements_of_atom * atoms_per_cell * static_cast<double>(brick.size())));
    const auto choice =
        collectives::choose({operation, bricks.ranks(), 0, std::move(blocks), element_bytes, true}, wires);
    return choice.ours ? choice.ours->seconds : choice.native_seconds;
  };
  return seconds_of(Operation::all_gather, position_bytes, 1) +
         seconds_of(Operation::reduce_scatter, force_bytes / integer_bytes, integer_bytes);
}

/// Returns the time in which positions go to the halo and forces come back.
double halo_seconds(const md::domain::Decomposition& bricks, double atoms_per_cell, const machine::Wires& wires) {
  if (bricks.is_replicated()) return vector_seconds(bricks, atoms_per_cell, wires);
  const int counted = std::min(bricks.ranks(), machine::most_halos_to_count);
  machine::ExchangeLoad positions(wires), forces(wires);
  for (int rank = 0; rank < counted; ++rank)
    for (const auto& peer : md::domain::find_halo_peers(bricks, rank)) {
      const double atoms = static_cast<double>(peer.send) * atoms_per_cell;
      if (peer.rank == rank || atoms == 0) continue;
      positions.add(rank, peer.rank, position_bytes * atoms);
      forces.add(peer.rank, rank, force_bytes * atoms);
    }
  const double share = machine::share_of_halos(wires, counted);
  return positions.seconds(share) + forces.seconds(share);
}

}  // namespace

PlannedSum plan_sum(std::int64_t n_integers, const machine::Wires& wires, const machine::MachineFile& map) {
  const collectives::CollectiveProblem problem{
      collectives::Operation::all_reduce, wires.n_ranks(), 0, {n_integers}, sizeof(std::int64_t), true};
  const auto trials = machine::trials_of(map, comm::Communicator::library_version());
  const auto choice = collectives::choose_by_class(problem, wires, trials);
  const auto text = [&](const std::string& name, double seconds) {
    return fmt::format("{}, {:.3g} ms for {}", name, 1e3 * seconds, size_text(collectives::bytes_of(problem)));
  };
  if (!choice.ours) return {text("the MPI library's own", choice.native_seconds), choice.reason};
  const auto& [entry, parameters, seconds, n_messages, is_least] = *choice.ours;
  return {text(collectives::plan_of(*entry, problem, wires, parameters).entry, seconds), choice.reason};
}

double StepPrediction::seconds() const {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double sum, const PredictedPart& part) { return sum + part.seconds; });
}

std::string StepPrediction::text() const {
  std::string text;
  for (const auto& part : parts)
    if (part.seconds > 0)
      text += fmt::format("{}{} {:.3g} ms ({:.0f} %)", text.empty() ? "" : ", ", part.name, 1e3 * part.seconds,
                          100 * part.seconds / seconds());
  return text;
}

std::string describe_vectors(const md::Plan& plan, std::int64_t n_atoms) {
  constexpr double padding_of_cell = 1.5;  // what the last cluster of a cell lacks
  const auto cells = std::min(plan.cells.grid.size(), n_atoms);
  const double slots = static_cast<double>(n_atoms) + padding_of_cell * static_cast<double>(cells);
  return fmt::format("parallel.mode; in a step all ranks gather {} of positions, and sum {} of forces",
                     size_text(std::llround(position_bytes * slots)), size_text(std::llround(force_bytes * slots)));
}

StepPrediction predict_step(const MeasuredStep& measured, const md::Plan& plan, std::int64_t n_atoms,
                            const PlannedMachine& machine) {
  const auto spent = [&](std::initializer_list<Phase> phases) {
    double sum = 0;
    for (const auto phase : phases) sum += measured.time.phases[static_cast<std::size_t>(phase)];
    return sum;
  };
  std::int64_t most_cells = 0;
  for (const auto& brick : plan.bricks.bricks()) most_cells = std::max(most_cells, brick.size());
  const auto n_cells = static_cast<double>(plan.cells.grid.size());
  // A rank has some of the threads that took so long.
  const double slower = machine.ranks_and_threads_per_core * measured.threads / machine.threads;
  const double scale = static_cast<double>(n_atoms) / static_cast<double>(measured.n_atoms) *
                       static_cast<double>(most_cells) / n_cells * slower;

  const double pairs = spent({Phase::search, Phase::pair_list, Phase::pair, Phase::sum_threads});
  const double mesh = spent({Phase::pme_spread, Phase::pme_solve, Phase::pme_forces});
  const double transform = spent({Phase::pme_forward, Phase::pme_backward});
  StepPrediction predicted;
  predicted.parts = {{"pairs", scale * pairs},
                     {"mesh", scale * mesh},
                     {"other forces, constraints, motion", scale * (measured.time.seconds - pairs - mesh - transform)}};
  if (plan.mesh && n_points(measured.mesh) > 1) {
    const auto work = [](const Index3& grid) { return n_points(grid) * std::log2(n_points(grid)); };
    predicted.parts.push_back({"transforms", transform * work(plan.mesh->settings.grid) / work(measured.mesh) *
                                                 largest_share(plan.mesh->transform) * slower});
  }
  if (machine.wires == nullptr) return predicted;
  predicted.has_exchanges = true;
  predicted.parts.push_back({"exchanges of the transforms", machine.transform_exchange_seconds});
  predicted.parts.push_back(
      {"halo", halo_seconds(plan.bricks, static_cast<double>(n_atoms) / n_cells, *machine.wires)});
  return predicted;
}

}  // namespace tessera::app
