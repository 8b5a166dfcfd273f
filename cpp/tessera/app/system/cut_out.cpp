#include "tessera/app/system/cut_out.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace tessera::app {
namespace {

constexpr double gap = 4;  // Å between the molecules on opposite faces: atoms of a block's groups reach out of it

struct Molecule {
  std::int32_t kind = 0;
  std::int64_t n_found = 0, new_first_id = 0;
  bool is_unit = false;  // of a chain, which is never whole in a part of the box
};

/// Moves one coordinate, a fraction of an edge that consists of `grid` blocks, into the new edge of `n` blocks and the
/// gap.
std::int32_t moved(std::int32_t fraction, double edge, std::int32_t grid, std::int32_t n, double new_edge) {
  double blocks = (static_cast<double>(fraction) * fraction_unit + 0.5) * grid;
  if (blocks > n + 0.5 * (grid - n)) blocks -= grid;  // of a molecule that reaches out at the lower face
  double turn = blocks * edge / grid / new_edge;
  turn -= std::round(turn);
  return static_cast<std::int32_t>(static_cast<std::int64_t>(std::llround(turn / fraction_unit)));
}

}  // namespace

std::optional<CutOut> cut_out(const SystemSource& source, const model::System& system, std::int64_t n_atoms) {
  const auto &a = system.box.a(), &b = system.box.b(), &c = system.box.c();
  if (!system.is_periodic || b.x != 0 || c.x != 0 || c.y != 0) return std::nullopt;
  const auto [grid, n, rows] = read_brick(source, n_atoms);
  const std::array<double, 3> edge = {a.x, b.y, c.z};
  std::array<double, 3> new_edge{};
  for (std::size_t d = 0; d < 3; ++d) new_edge[d] = n[d] == grid[d] ? edge[d] : edge[d] * n[d] / grid[d] + gap;

  std::map<std::int64_t, Molecule> molecules;  // by the id of their first atom
  std::vector<model::AtomReference> atoms;
  for (const auto id : rows.id) {
    atoms.push_back(system.find(id));
    auto& molecule = molecules[atoms.back().first_id];
    molecule.kind = atoms.back().molecule;
    molecule.is_unit = system.molecule_of(id).kind >= system.templates.size();
    ++molecule.n_found;
  }
  const auto size_of = [&](std::int32_t kind) { return system.templates[static_cast<std::size_t>(kind)].n_atoms(); };
  const auto is_whole = [&](const Molecule& molecule) {
    return !molecule.is_unit && molecule.n_found == size_of(molecule.kind);
  };
  std::vector<std::pair<std::int32_t, std::int64_t>> runs;  // kind, count
  for (std::int32_t kind = 0; kind < std::ssize(system.templates); ++kind) {
    const auto count = std::count_if(molecules.begin(), molecules.end(), [&](const auto& entry) {
      return entry.second.kind == kind && is_whole(entry.second);
    });
    if (count > 0) runs.emplace_back(kind, count);
  }
  CutOut part{system, {}};
  part.system.box = {{new_edge[0], 0, 0}, {0, new_edge[1], 0}, {0, 0, new_edge[2]}};
  part.system.residue_numbers.clear();
  part.system.set_instances(runs);
  if (2 * part.system.n_atoms() < std::ssize(rows.id)) return std::nullopt;
  for (const auto& run : part.system.instances()) {
    auto next = run.first_id;
    for (auto& [first_id, molecule] : molecules)
      if (molecule.kind == run.molecule && is_whole(molecule))
        molecule.new_first_id = std::exchange(next, next + size_of(run.molecule));
  }
  // The rows stay in their order, in which the atoms of a hydrogen group stand together.
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    const auto& molecule = molecules[atoms[i].first_id];
    if (!is_whole(molecule)) continue;
    const auto& f = rows.fraction[i];
    part.block.id.push_back(molecule.new_first_id + atoms[i].local);
    part.block.fraction.push_back({moved(f.x, edge[0], grid[0], n[0], new_edge[0]),
                                   moved(f.y, edge[1], grid[1], n[1], new_edge[1]),
                                   moved(f.z, edge[2], grid[2], n[2], new_edge[2])});
  }
  return part;
}

}  // namespace tessera::app
