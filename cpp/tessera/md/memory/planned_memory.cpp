#include "tessera/md/memory/planned_memory.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/units.h"
#include "tessera/md/device/device_atoms.h"
#include "tessera/md/domain/slot_map.h"
#include "tessera/md/integrate/device/device_motion.h"
#include "tessera/md/pair/device/device_pairs.h"
#include "tessera/md/pair/pair_forces.h"
#include "tessera/md/pme/mesh.h"

namespace tessera::md {

namespace {

constexpr double cluster_size = domain::cluster_size;

double sphere(double radius) { return 4 * units::pi / 3 * cube(radius); }
std::int64_t rounded(double x) { return std::llround(x); }

/// What stands in a cell where atoms are spread evenly.
struct MeanCell {
  double volume;  // Å³
  double atoms;
  double clusters;  // the last one lacks 1.5 atoms on average; an empty cell has none

  double slots() const { return cluster_size * clusters; }
};

MeanCell mean_cell(const SystemContents& system, const domain::CellGrid& grid) {
  const double atoms = static_cast<double>(system.n_atoms) / static_cast<double>(grid.size());
  return {grid.volume, atoms, atoms / cluster_size + 1.5 / cluster_size * (1 - std::exp(-2 * atoms))};
}

/// Returns how far a cluster's atoms reach from its centre, mean over directions, Å.
///
/// Along any direction atoms of a cube of edge a have a standard deviation of a/√12. The furthest of k that are
/// normally distributed is 0, 0.56, 0.85, 1.03 of that away for k = 1 … 4, and the last cluster of a cell has any k.
double cluster_reach(const MeanCell& cell) {
  constexpr double furthest_of_4 = 1.03, furthest_of_any = 0.25 * (0 + 0.56 + 0.85 + 1.03);
  const double edge = std::cbrt(cell.volume / cell.clusters), whole = std::max(0.0, cell.clusters - 1);
  return edge / std::sqrt(12.0) * (whole * furthest_of_4 + (cell.clusters - whole) * furthest_of_any) / cell.clusters;
}

/// Of a rank: cells, and what stands in them.
struct RankCounts {
  std::int64_t owned_cells, cells;  // cells: owned and halo
  std::int64_t owned_atoms, owned_slots, slots;
};

RankCounts count_on_rank(const MeanCell& cell, const domain::Decomposition& bricks, int rank) {
  const auto& grid = bricks.grid();
  const auto owned = bricks.brick(rank).size(), all = owned + domain::n_halo_cells(bricks, rank);
  // Slots are whole clusters.
  const auto slots = [&](std::int64_t cells) {
    return domain::cluster_size * rounded(cell.clusters * static_cast<double>(cells));
  };
  // A vacuum's cells without atoms are not there.
  const auto there = [&](std::int64_t cells) { return grid.is_periodic ? cells : std::min(cells, slots(cells)); };
  return {there(owned), there(all), rounded(cell.atoms * static_cast<double>(owned)), slots(owned), slots(all)};
}

/// Returns the clusters of a rank that pairs of its list begin with, in units of those of a cell.
///
/// A pair belongs to the rank that owns the cell in the middle between its cells, so its first cluster may also stand
/// in a cell next to the brick. Along an edge that is the cell above the brick, whose partners are one or two cells
/// below it, or the cell below the brick, whose partners are two cells above it; along x no cell has partners below it.
/// A cluster counts where the nearest face of such a partner is closer than `reach`, the greatest distance of the
/// centres of two clusters that are listed (Å).
double cells_of_rows(const domain::CellGrid& grid, const IndexBox& brick, double reach) {
  enum Place : int { within, above, below };
  constexpr int points = 8;  // along each edge
  const auto cells_at = [&](std::size_t d, int place) {
    const auto own = brick.extent(static_cast<int>(d)), others = grid.n[d] - own;
    if (place == within) return own;
    if (d == 0) return place == above ? 0 : std::min<std::int64_t>(1, others);
    return std::clamp<std::int64_t>(others - (place == above ? 0 : 1), 0, 1);
  };
  const auto distance2 = [&](std::size_t d, int place, int point) {
    const double from_face = (point + 0.5) / points + (place == below ? 1 : 0);
    return place == within ? 0 : std::pow(grid.width[d] * from_face, 2);
  };
  double cells = 0;
  for (const int x : {within, above, below})
    for (const int y : {within, above, below})
      for (const int z : {within, above, below}) {
        const auto n = cells_at(0, x) * cells_at(1, y) * cells_at(2, z);
        int near = 0;
        for (int p = 0; p < points * points * points && n > 0; ++p)
          near += distance2(0, x, p % points) + distance2(1, y, p / points % points) +
                      distance2(2, z, p / points / points) <
                  reach * reach;
        cells += static_cast<double>(n) * near / (points * points * points);
      }
  return cells;
}

/// Predicts what a rank's pair list holds.
///
/// Two clusters are listed where an atom of one may come near an atom of the other: where their centres are closer than
/// the list's range and what both reach. Half of the clusters around each are in its row. The rank owns as many pairs
/// as cells, by their midpoints; of replicated data each rank has an even share.
pair::PairCounts count_pairs(const SystemContents& system, const EngineSettings& settings, const Plan& plan,
                             const MeanCell& cell, const RankCounts& rank, const IndexBox& brick, int threads) {
  const bool is_replicated = plan.bricks.is_replicated();
  const double owned_cells =
      is_replicated ? static_cast<double>(rank.cells) / plan.bricks.ranks() : static_cast<double>(rank.owned_cells);
  const double reach = std::min(0.5 * plan.cells.buffer, system.reach_speed * settings.timestep * settings.list_steps);
  const double range = plan.cells.range + pair::list_rounding + 2 * reach;
  const double owned_clusters = cell.clusters * owned_cells;
  pair::PairCounts counts;
  counts.threads = threads;
  counts.slots = static_cast<double>(rank.slots);
  counts.cells = static_cast<double>(rank.cells);
  const double centres = range + 2 * cluster_reach(cell);
  counts.rows = cell.clusters * (is_replicated ? owned_cells : cells_of_rows(plan.cells.grid, brick, centres));
  counts.cluster_pairs = owned_clusters * 0.5 * (1 + cell.clusters / cell.volume * sphere(centres));
  // A cluster with itself, and each that it has excluded partners in, once.
  const double by_exclusion = owned_clusters + 0.5 * system.excluded_clusters * cell.atoms * owned_cells;
  const double any_by_table = 1 - std::exp(-cluster_size * cluster_size * system.table_pairs);
  counts.masked_pairs = by_exclusion + any_by_table * std::max(0.0, counts.cluster_pairs - by_exclusion);
  // A thread lists a compact share of the cells: all atoms within range of that.
  const double share = std::cbrt(cell.volume * owned_cells / threads);
  counts.slots_near_share = std::min(1.0, cube(share + 2 * range) / (cell.volume * counts.cells)) * counts.slots;
  return counts;
}

/// Returns the bytes of all groups of forces, and of what threads beyond the first add to each.
double force_bytes(const SystemContents& system, const EngineSettings& settings, const RankCounts& rank, int threads,
                   double slots_of_pairs) {
  constexpr double bytes_a_slot = 3 * sizeof(std::int64_t), block = SparseForces::block_slots;
  const auto slots = static_cast<double>(rank.slots), owned = static_cast<double>(rank.owned_slots);
  // Molecules overlap as if they were anywhere. A thread has its share of the terms, and begins and ends within a
  // block.
  const double touched = owned * (1 - std::exp(-system.bonded_slots));
  const double slots_of_bonded = touched > 0 ? std::min(touched, touched / threads + block) : 0;
  const auto n_groups = settings.force_groups.size();
  double bytes = n_groups > 1 ? bytes_a_slot * slots : 0;
  for (std::size_t g = 0; g < n_groups; ++g) {
    const double pairs = settings.force_groups[ForceSource::direct] == g ? slots_of_pairs : 0;
    const double bonded = settings.force_groups[ForceSource::bonded] == g ? slots_of_bonded : 0;
    bytes += bytes_a_slot * slots + (threads - 1) * (bytes_a_slot * std::max(pairs, bonded) + slots / block);
  }
  return bytes;
}

}  // namespace

std::vector<MemoryUse> planned_memory(const SystemContents& system, const EngineSettings& settings, const Plan& plan,
                                      int rank, int threads) {
  const auto& brick = plan.bricks.brick(rank);
  const auto cell = mean_cell(system, plan.cells.grid);
  const auto counts = count_on_rank(cell, plan.bricks, rank);
  const auto pairs =
      pair::plan_cluster_sum(count_pairs(system, settings, plan, cell, counts, brick, threads), settings.precision);

  const double slots = static_cast<double>(counts.slots), atoms = slots * cell.atoms / cell.slots();
  const double excluded = system.is_excluding * slots / cluster_size + system.excluded_clusters * atoms;
  const auto state = State::planned_bytes(counts.slots, counts.owned_slots) +
                     domain::SlotMap::planned_bytes(static_cast<std::size_t>(counts.slots)) +
                     static_cast<std::size_t>(counts.owned_slots) * sizeof(double) +  // inverse masses
                     (plan.bricks.is_replicated() ? 3 * sizeof(std::int64_t) * static_cast<std::size_t>(counts.slots)
                                                  : 0);  // forces in the order of ranks
  return {
      {memory_owners::atoms, static_cast<std::int64_t>(state)},
      {memory_owners::templates, system.template_bytes},
      {memory_owners::bonded,
       system.kinds_bytes + rounded(system.topology_bytes * static_cast<double>(counts.owned_atoms))},
      {memory_owners::forces, rounded(force_bytes(system, settings, counts, threads, pairs.slots_of_thread))},
      {memory_owners::pair_atoms, pair::PairForces::planned_bytes(counts.slots, rounded(excluded))},
      {memory_owners::pair_list, rounded(pairs.list)},
      {memory_owners::pair_forces, rounded(pairs.other)},
      {memory_owners::mesh,
       pme::planned_mesh_bytes(settings, plan.mesh, plan.bricks.host_of_rank(), rank, counts.slots)},
  };
}

std::int64_t planned_device_bytes(const SystemContents& system, const EngineSettings& settings, const Plan& plan,
                                  int rank) {
  if (settings.precision == pair::Precision::double_precision) return 0;
  const auto cell = mean_cell(system, plan.cells.grid);
  const auto counts = count_on_rank(cell, plan.bricks, rank);
  const auto pairs = count_pairs(system, settings, plan, cell, counts, plan.bricks.brick(rank), 1);
  const double of_terms = system.topology_bytes * static_cast<double>(counts.owned_atoms);  // those of constraints too
  const double of_charges = 2 * static_cast<double>(counts.slots) * sizeof(double);         // SlotArray
  double of_motion = 0;  // where atoms stay on the device
  if (plan.bricks.ranks() == 1 && settings.force_groups.size() == 1)
    of_motion = integrate::DeviceMotion::planned_bytes(counts.slots) +
                DeviceAtoms::planned_bytes_of_checks(counts.slots) +
                pair::DevicePairs::planned_bytes_of_places(counts.slots) +
                domain::DeviceSearch::planned_bytes(static_cast<double>(counts.slots),
                                                    static_cast<double>(counts.owned_atoms), pairs.cells) +
                pair::DevicePairs::planned_bytes_of_searches(pairs, static_cast<double>(counts.owned_atoms));
  return rounded(DeviceAtoms::planned_bytes(counts.slots, settings.force_groups.size()) + of_terms + of_charges +
                 pair::DevicePairs::planned_bytes(pairs) + of_motion) +
         pme::planned_mesh_bytes_on_device(settings, plan.mesh, counts.slots);
}

std::int64_t total_bytes(const std::vector<MemoryUse>& uses) {
  std::int64_t sum = 0;
  for (const auto& use : uses) sum += use.bytes;
  return sum;
}

int find_largest_rank(const SystemContents& system, const EngineSettings& settings, const Plan& plan, int threads) {
  constexpr std::size_t least_planned = 16, most_work = std::size_t{1} << 20;  // work: ranks planned × all ranks
  const auto cells_of = [&](int rank) {
    return static_cast<double>(plan.bricks.brick(rank).size() + domain::n_halo_cells(plan.bricks, rank));
  };
  // All but the mesh goes about with cells; the transform with the boxes of its stages, whose rows fill cache lines.
  const auto first = planned_memory(system, settings, plan, 0, threads);
  const double bytes_a_cell = static_cast<double>(total_bytes(first) - first.back().bytes) / std::max(1.0, cells_of(0));
  std::vector<double> size;  // by rank, about
  for (int rank = 0; rank < plan.bricks.ranks(); ++rank) {
    constexpr std::int64_t value = 2 * sizeof(float), line = 64 / value;
    double bytes = bytes_a_cell * cells_of(rank);
    if (plan.mesh) {
      bytes += static_cast<double>(plan.mesh->padded[static_cast<std::size_t>(rank)].size()) * value;
      for (const auto& stage : plan.mesh->transform.stages) {
        const auto& box = stage.boxes[static_cast<std::size_t>(rank)];
        const auto rows = box.extent(0) * box.extent(1);
        bytes += static_cast<double>(rows * ((box.extent(2) + line - 1) / line * line) * value);
      }
    }
    size.push_back(bytes);
  }
  // Many ranks of a large machine look the same: some of the largest are planned, from anywhere among them.
  const auto most_work_allows = std::max(least_planned, most_work / size.size());
  const double near = size.size() <= most_work_allows ? 0 : 0.98 * *std::max_element(size.begin(), size.end());
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < size.size(); ++rank)
    if (size[rank] >= near) ranks.push_back(static_cast<int>(rank));
  const auto n_planned = std::min(ranks.size(), most_work_allows);
  int largest = 0;
  std::int64_t most = -1;
  for (std::size_t i = 0; i < n_planned; ++i) {
    const int rank = ranks[i * ranks.size() / n_planned];
    const auto bytes = total_bytes(planned_memory(system, settings, plan, rank, threads));
    if (bytes > most) most = bytes, largest = rank;
  }
  return largest;
}

}  // namespace tessera::md
