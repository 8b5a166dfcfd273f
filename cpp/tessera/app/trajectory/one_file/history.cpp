// Trajectories as DL_POLY's HISTORY, which ranks write by a method of the registry (io/write).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "tessera/app/trajectory/exchange.h"
#include "tessera/app/trajectory/format.h"
#include "tessera/app/trajectory/settings.h"
#include "tessera/app/trajectory/sink.h"
#include "tessera/app/trajectory/writers.h"
#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/base/units.h"
#include "tessera/comm/communicator.h"
#include "tessera/io/text/records.h"
#include "tessera/io/write/format.h"
#include "tessera/io/write/frame_file.h"
#include "tessera/model/system.h"

namespace tessera::app {

namespace {

class HistorySink final : public FrameSink {
 public:
  /// Begins a file, or goes on after its first `frames` frames where that is given and the file is there. `system`
  /// and `comm` must outlive it. `timestep` is in ps. Throws InputError, RunError. Collective.
  HistorySink(const TrajectorySettings& settings, const model::System& system, const FrameExchange& exchange,
              const io::write::Choice& method, double timestep, std::optional<std::int64_t> frames,
              const comm::Communicator& comm);

  void append(Frame frame) override;
  void synchronize() override { file_->synchronize(); }
  std::int64_t n_frames() const override { return file_->n_frames(); }
  bool is_in_place() const override { return file_->is_in_place(); }

 private:
  void set_cell(const Box& box);
  void set_owned(const std::vector<Frame::Owned>& owned);

  const model::System& system_;
  std::vector<std::int64_t> first_species_;  // of each template
  bool is_as_owned_, is_periodic_;
  io::write::Frame frame_;
  io::write::AtomRows atoms_;  // of this rank's rows
  std::optional<io::write::FrameFile> file_;
};

const io::write::Format& format_of(const FrameContents& contents) {
  if (contents.forces) return io::write::history_forces;
  return contents.velocities ? io::write::history_velocities : io::write::history;
}

/// Checks that names of atoms fit the eight columns of a HISTORY.
void check_names(const model::System& system) {
  const auto is_hidden = [](char c) { return c <= ' ' || c > '~'; };
  for (const auto& one : system.templates)
    for (auto name : one.atom_name) {
      if (!name.empty() && name.size() <= std::tuple_size_v<io::text::Name> && !std::ranges::any_of(name, is_hidden))
        continue;
      std::ranges::replace_if(name, is_hidden, '?');
      throw InputError(
          fmt::format("an atom has the name \"{}\", and a HISTORY holds one to eight letters of ASCII without blanks: "
                      "set output.trajectory to another format",
                      name));
    }
}

std::array<double, 9> cell_of(const Box& box) {
  std::array<double, 9> cell{};
  auto* to = cell.data();
  for (const auto& edge : {box.a(), box.b(), box.c()})
    for (const auto value : {edge.x, edge.y, edge.z}) *to++ = value;
  return cell;
}

/// Returns the first species of each template; species are those of all templates, one after the other.
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

HistorySink::HistorySink(const TrajectorySettings& settings, const model::System& system, const FrameExchange& exchange,
                         const io::write::Choice& method, double timestep, std::optional<std::int64_t> frames,
                         const comm::Communicator& comm)
    : system_(system),
      first_species_(first_species_of(system)),
      is_as_owned_(settings.is_as_owned),
      is_periodic_(system.is_periodic),
      atoms_(format_of(settings.contents).level) {
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
  const auto& format = format_of(settings.contents);
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

void check_history(const TrajectorySettings& settings, const RunConfig& config, const model::System& system,
                   std::int64_t /*n_atoms*/) {
  constexpr std::int64_t most_number = 9'999'999'999;
  check_names(system);
  if (config.dynamics.steps > most_number)
    throw InputError(
        fmt::format("a HISTORY has ten digits for steps, dynamics.steps = {}: set output.trajectory to \"segments\"",
                    config.dynamics.steps));
  if (settings.contents.forces && !settings.contents.velocities)
    throw InputError(
        "output.forces = true, and a HISTORY holds forces beside velocities alone: set output.velocities = true");
}

/// Returns the bytes of the records of an atom: its name, and each of its vectors.
std::int64_t history_atom_bytes(const FrameContents& contents) {
  return (1 + contents.n_quantities()) * io::text::record_bytes;
}

std::int64_t history_frame_bytes(const TrajectorySettings& settings, std::int64_t n_atoms, bool is_periodic) {
  return history_atom_bytes(settings.contents) * n_atoms + io::text::record_bytes * (is_periodic ? 4 : 1);
}

std::unique_ptr<FrameSink> open_history(const Opening& o) {
  return std::make_unique<HistorySink>(o.settings, o.system, o.exchange, o.method, o.config.dynamics.timestep, o.frames,
                                       o.comm);
}

}  // namespace

extern constinit const TrajectoryFormat history_format = {.name = "history",
                                                          .has_velocities = true,
                                                          .has_forces = true,
                                                          .written_as = format_of,
                                                          .check = check_history,
                                                          .atom_bytes = history_atom_bytes,
                                                          .frame_bytes = history_frame_bytes,
                                                          .open = open_history};

}  // namespace tessera::app
