#include "tessera/app/trajectory.h"

#include <fmt/format.h>

#include <filesystem>

namespace tessera::app {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// An order of a molecule's atoms in which each comes after one it is bonded to (itself where it is the first of a
/// fragment).
struct BondTree {
  std::vector<std::int32_t> order, parent;
};

BondTree make_bond_tree(const model::Template& molecule) {
  std::vector<std::vector<std::int32_t>> bonded(at(molecule.n_atoms()));
  for (const auto& [i, j] : molecule.bond.atoms) {
    bonded[at(i)].push_back(j);
    bonded[at(j)].push_back(i);
  }
  // A rigid water may list no bonds; its group holds it together.
  for (std::size_t i = 0; i < molecule.group.size(); ++i)
    if (molecule.group[i] != static_cast<std::int32_t>(i)) {
      bonded[i].push_back(molecule.group[i]);
      bonded[at(molecule.group[i])].push_back(static_cast<std::int32_t>(i));
    }
  BondTree tree;
  std::vector<bool> placed(bonded.size(), false);
  for (std::int32_t root = 0; root < static_cast<std::int32_t>(bonded.size()); ++root) {
    if (placed[at(root)]) continue;
    std::size_t next = tree.order.size();
    placed[at(root)] = true;
    tree.order.push_back(root);
    // A fragment that no bond joins to the rest stands where it is nearest to the molecule's first atom.
    tree.parent.push_back(root == 0 ? 0 : tree.order.front());
    for (; next < tree.order.size(); ++next)
      for (const auto other : bonded[at(tree.order[next])])
        if (!placed[at(other)]) {
          placed[at(other)] = true;
          tree.order.push_back(other);
          tree.parent.push_back(tree.order[next]);
        }
  }
  return tree;
}

}  // namespace

std::vector<float> frame_positions(const model::System& system, const std::vector<md::domain::Particle>& particles,
                                   bool whole) {
  const auto& lattice = system.lattice;
  std::vector<float> frame(3 * particles.size());
  const auto store = [&](std::size_t atom, const Vec3& r) {
    frame[3 * atom] = static_cast<float>(r.x);
    frame[3 * atom + 1] = static_cast<float>(r.y);
    frame[3 * atom + 2] = static_cast<float>(r.z);
  };
  const auto now = [&](std::size_t atom) { return particles[atom].position + particles[atom].displacement; };
  if (!whole) {
    for (std::size_t i = 0; i < particles.size(); ++i) store(i, lattice.cartesian(now(i)));
    return frame;
  }
  std::vector<BondTree> trees;
  for (const auto& molecule : system.templates) trees.push_back(make_bond_tree(molecule));
  std::vector<Vec3> placed;
  for (const auto& run : system.instances()) {
    const auto& tree = trees[at(run.molecule)];
    const auto n = tree.order.size();
    placed.resize(n);
    for (std::int64_t instance = 0; instance < run.count; ++instance) {
      const auto first = at(run.first_id) + at(instance) * n;
      for (std::size_t k = 0; k < n; ++k) {
        const auto atom = at(tree.order[k]), parent = at(tree.parent[k]);
        placed[atom] = atom == parent ? lattice.cartesian(now(first + atom))
                                      : placed[parent] + lattice.displacement(now(first + parent), now(first + atom));
        store(first + atom, placed[atom]);
      }
    }
  }
  return frame;
}

Trajectory::Trajectory(const RunConfig& config, const model::System& system, std::int64_t first_step,
                       std::optional<std::int64_t> frames)
    : system_(system), whole_(config.output.wrap) {
  const auto& output = config.output;
  if (output.trajectory_every <= 0) return;
  const auto first_frame = frames ? (first_step / output.trajectory_every + 1) * output.trajectory_every : first_step;
  // A run that wrote none before its checkpoint begins one now.
  const auto goes_on = [&](const std::string& path) {
    std::error_code ignored;
    return frames && (*frames > 0 || std::filesystem::exists(path, ignored));
  };
  if (output.trajectory == TrajectoryFormat::dcd) {
    const io::DcdHeader header{.n_atoms = system.n_atoms(),
                               .first_step = first_frame,
                               .every = output.trajectory_every,
                               .timestep = config.dynamics.timestep,
                               .title = fmt::format("tessera {}", TESSERA_VERSION)};
    const auto path = output.folder + "/trajectory.dcd";
    dcd_ = goes_on(path) ? io::DcdWriter::continue_after(path, *frames, header) : io::DcdWriter::create(path, header);
  } else if (output.trajectory == TrajectoryFormat::h5md) {
    const io::H5mdHeader header{
        .n_atoms = system.n_atoms(), .is_periodic = system.is_periodic, .creator_version = TESSERA_VERSION};
    const auto path = output.folder + "/trajectory.h5md";
    h5md_ =
        goes_on(path) ? io::H5mdWriter::continue_after(path, *frames, header) : io::H5mdWriter::create(path, header);
  }
}

void Trajectory::append(std::int64_t step, double time, const std::vector<md::domain::Particle>& particles) {
  if (!is_active()) return;
  const auto frame = frame_positions(system_, particles, whole_);
  if (dcd_) dcd_->append(system_.lattice, frame);
  if (h5md_) h5md_->append(step, time, system_.lattice, frame);
}

std::int64_t Trajectory::n_frames() const { return dcd_ ? dcd_->n_frames() : h5md_ ? h5md_->n_frames() : 0; }

}  // namespace tessera::app
