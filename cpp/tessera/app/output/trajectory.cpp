#include "tessera/app/output/trajectory.h"

#include <fmt/format.h>

#include <filesystem>

#include "tessera/base/error.h"

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
  model::for_each_kind_of_bond([&](auto kind) {
    for (const auto& [i, j] : molecule.terms[kind].atoms) {
      bonded[at(i)].push_back(j);
      bonded[at(j)].push_back(i);
    }
  });
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

std::vector<float> frame_positions(const model::System& system, const md::Snapshot& state, bool whole) {
  const auto& box = state.box;
  const auto& particles = state.atoms;
  std::vector<float> frame(3 * particles.size());
  const auto store = [&](std::size_t atom, const Vec3& r) {
    frame[3 * atom] = static_cast<float>(r.x);
    frame[3 * atom + 1] = static_cast<float>(r.y);
    frame[3 * atom + 2] = static_cast<float>(r.z);
  };
  const auto now = [&](std::size_t atom) { return particles[atom].position + particles[atom].displacement; };
  if (!whole) {
    for (std::size_t i = 0; i < particles.size(); ++i) store(i, box.cartesian(now(i)));
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
        placed[atom] = atom == parent ? box.cartesian(now(first + atom))
                                      : placed[parent] + box.displacement(now(first + parent), now(first + atom));
        store(first + atom, placed[atom]);
      }
    }
  }
  return frame;
}

namespace {

/// (n,3) Å/ps.
std::vector<float> frame_velocities(const md::Snapshot& state) {
  std::vector<float> frame;
  frame.reserve(3 * state.atoms.size());
  for (const auto& p : state.atoms)
    for (const auto v : {p.velocity.x, p.velocity.y, p.velocity.z})
      frame.push_back(static_cast<float>(v * md::velocity_unit));
  return frame;
}

}  // namespace

namespace {

model::AtomSet atoms_of(const RunConfig& config, const model::System& system) {
  const auto& text = config.output.select;
  return config.selections.find(text.empty() ? "all" : text, "output.select", system.n_atoms());
}

}  // namespace

std::int64_t Trajectory::n_atoms(const RunConfig& config, const model::System& system) {
  return atoms_of(config, system).size();
}

void Trajectory::check(const RunConfig& config, const model::System& system) {
  const auto n_atoms = atoms_of(config, system).size();
  const auto& output = config.output;
  if (path(output).empty() || output.trajectory == TrajectoryFormat::h5md) return;
  const bool is_dcd = output.trajectory == TrajectoryFormat::dcd;
  if (output.velocities)
    throw InputError(fmt::format(
        "output.velocities = true, but {} file holds positions alone: set output.trajectory to \"h5md\", or "
        "leave it out",
        is_dcd ? "a DCD" : "an XTC"));
  if (is_dcd && n_atoms > io::most_dcd_atoms)
    throw InputError(fmt::format("a DCD holds at most {} atoms, there are {}: set output.trajectory to \"h5md\"",
                                 io::most_dcd_atoms, n_atoms));
}

std::string Trajectory::path(const OutputConfig& output) {
  if (output.trajectory_every <= 0 || output.trajectory == TrajectoryFormat::none) return "";
  return fmt::format("{}/trajectory.{}", output.folder,
                     names_of(output.trajectory).at(static_cast<std::size_t>(output.trajectory)));
}

Trajectory::Trajectory(const RunConfig& config, const model::System& system, std::int64_t first_step,
                       std::optional<std::int64_t> frames)
    : system_(system),
      atoms_(atoms_of(config, system)),
      whole_(config.output.wrap),
      with_velocities_(config.output.velocities) {
  const auto& output = config.output;
  const auto file = path(output);
  if (file.empty()) return;
  const auto first_frame = frames ? (first_step / output.trajectory_every + 1) * output.trajectory_every : first_step;
  std::error_code ignored;
  const bool goes_on = frames && std::filesystem::exists(file, ignored);
  if (output.trajectory == TrajectoryFormat::dcd) {
    const io::DcdHeader header{.n_atoms = atoms_.size(),
                               .first_step = first_frame,
                               .every = output.trajectory_every,
                               .timestep = config.dynamics.timestep,
                               .title = fmt::format("tessera {}", TESSERA_VERSION)};
    dcd_ = goes_on ? io::DcdWriter::continue_after(file, *frames, header) : io::DcdWriter::create(file, header);
  } else if (output.trajectory == TrajectoryFormat::xtc) {
    xtc_ = goes_on ? io::XtcWriter::continue_after(file, *frames, atoms_.size())
                   : io::XtcWriter::create(file, atoms_.size());
  } else {
    const io::H5mdHeader header{.n_atoms = atoms_.size(),
                                .has_velocities = with_velocities_,
                                .is_periodic = system.is_periodic,
                                .creator_version = TESSERA_VERSION};
    h5md_ = goes_on ? io::H5mdWriter::continue_after(file, *frames, header) : io::H5mdWriter::create(file, header);
  }
}

/// Returns the rows of the atoms that frames hold, of (n,3) for all atoms.
std::vector<float> Trajectory::selected(std::vector<float> values) const {
  if (atoms_.size() == system_.n_atoms()) return values;
  std::vector<float> rows;
  rows.reserve(3 * at(atoms_.size()));
  for (const auto& range : atoms_.ranges())
    rows.insert(rows.end(), values.begin() + 3 * range.first, values.begin() + 3 * (range.last + 1));
  return rows;
}

void Trajectory::append(std::int64_t step, double time, const md::Snapshot& state) {
  if (!is_active()) return;
  const auto frame = selected(frame_positions(system_, state, whole_));
  if (dcd_) dcd_->append(state.box, frame);
  if (xtc_) xtc_->append(step, time, state.box, frame);
  if (h5md_)
    h5md_->append(step, time, state.box, frame,
                  with_velocities_ ? selected(frame_velocities(state)) : std::vector<float>());
}

std::int64_t Trajectory::n_frames() const {
  return dcd_ ? dcd_->n_frames() : xtc_ ? xtc_->n_frames() : h5md_ ? h5md_->n_frames() : 0;
}

bool Trajectory::is_in_place() const {
  return (!dcd_ || dcd_->is_in_place()) && (!xtc_ || xtc_->is_in_place()) && (!h5md_ || h5md_->is_in_place());
}

}  // namespace tessera::app
