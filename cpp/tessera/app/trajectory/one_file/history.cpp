#include "tessera/app/trajectory/one_file/history_frames.h"

#include <fmt/format.h>

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/base/units.h"

namespace tessera::app {

namespace {

std::array<double, 9> cell_of(const Box& box) {
  std::array<double, 9> cell{};
  auto* to = cell.data();
  for (const auto& edge : {box.a(), box.b(), box.c()})
    for (const auto value : {edge.x, edge.y, edge.z}) *to++ = value;
  return cell;
}

/// Species are those of all templates, one after the other; returns the first of each.
std::vector<std::int64_t> first_species_of(const model::System& system) {
  std::vector<std::int64_t> first;
  std::int64_t n_species = 0;
  for (const auto& one : system.templates) {
    first.push_back(n_species);
    n_species += one.n_atoms();
  }
  return first;
}

/// Returns the atoms of a frame's rows, without positions.
io::write::AtomRows atoms_of_rows(const model::System& system, const std::vector<std::int64_t>& first_species,
                                  const model::AtomSet& atoms, std::int64_t first_row, std::int64_t n_rows, int level) {
  io::write::AtomRows found(level, at(n_rows));
  std::size_t row = 0;
  std::int64_t before = 0;  // rows of the ranges gone through
  for (const auto& [first, last] : atoms.ranges()) {
    const auto begin = first + std::max<std::int64_t>(0, first_row - before);
    const auto end = first + std::min(last - first + 1, first_row + n_rows - before);
    for (auto id = begin; id < end; ++id) {
      const auto atom = system.find(id);
      found[row++] = {before + id - first + 1, first_species[at(atom.molecule)] + atom.local, {}};
    }
    before += last - first + 1;
  }
  return found;
}

}  // namespace

HistorySink::HistorySink(const TrajectorySettings& settings, const model::System& system, const FrameExchange& exchange,
                         const io::write::Choice& method, double timestep, std::optional<std::int64_t> frames,
                         const comm::Communicator& comm)
    : system_(system),
      first_species_(first_species_of(system)),
      is_as_owned_(settings.is_as_owned),
      is_periodic_(system.is_periodic),
      atoms_(format_of_history(settings.contents).level) {
  // As owned, each frame says which atoms a rank has; all of them are counted here.
  const auto& shares = exchange.shares();
  if (const auto own = exchange.own_share(); own >= 0)
    atoms_ = atoms_of_rows(system, first_species_, shares.atoms(), shares.first_row(own), shares.n_rows(own),
                           atoms_.level());
  for (const auto& one : system.templates)
    for (std::size_t i = 0; i < one.type.size(); ++i)
      frame_.species.push_back({io::text::name_of(one.atom_name[i]), one.mass[i], one.charge[i]});
  frame_.title = "a run of tessera";
  frame_.moment.timestep = timestep;
  if (is_periodic_) set_cell(system.box);
  auto options = method.options;
  options.order = io::write::Order::owned;                                   // rows are in the order of the file
  if (!is_as_owned_ || options.writers == 0) options.writers = comm.size();  // each its own; most may have none
  const auto& format = format_of_history(settings.contents);
  file_.emplace(comm, settings.path, frame_, static_cast<std::int64_t>(atoms_.size()), format, *method.method, options,
                frames);
}

void HistorySink::set_cell(const Box& box) {
  frame_.cell = cell_of(box);
  frame_.periodicity = io::text::periodicity_of(frame_.cell);
}

void HistorySink::set_owned(const std::vector<Frame::Owned>& owned) {
  atoms_.resize(owned.size());
  for (std::size_t row = 0; row < owned.size(); ++row) {
    const auto atom = system_.find(owned[row].id);
    atoms_[row] = {owned[row].number + 1, first_species_[at(atom.molecule)] + atom.local, {}};
  }
}

void HistorySink::append(Frame frame) {
  if (is_as_owned_) set_owned(frame.owned);
  TESSERA_CHECK(std::ssize(frame.positions) == 3 * static_cast<std::int64_t>(atoms_.size()));
  frame_.moment.step = frame.step;
  frame_.moment.time = frame.time;
  if (is_periodic_) set_cell(frame.box);
  for (std::size_t row = 0; row < atoms_.size(); ++row) {
    std::copy_n(frame.positions.begin() + static_cast<std::ptrdiff_t>(3 * row), 3, atoms_.values(row, 0));
    if (!frame.velocities.empty())
      std::copy_n(frame.velocities.begin() + static_cast<std::ptrdiff_t>(3 * row), 3, atoms_.values(row, 1));
    for (std::size_t d = 0; d < 3 && !frame.forces.empty(); ++d)
      atoms_.values(row, 2)[d] = units::acceleration * static_cast<double>(frame.forces[3 * row + d]);
  }
  file_->append(frame_, atoms_);
}

}  // namespace tessera::app
