#include "tessera/app/trajectory/trajectory.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "tessera/app/trajectory/segments.h"
#include "tessera/app/trajectory/single_file.h"
#include "tessera/base/error.h"
#include "tessera/comm/on_root.h"
#include "tessera/io/dcd.h"
#include "tessera/io/write/plan.h"

namespace tessera::app {

namespace {

model::AtomSet atoms_of(const RunConfig& config, const model::System& system) {
  const auto& text = config.output.select;
  return config.selections.find(text.empty() ? "all" : text, "output.select", system.n_atoms());
}

std::string format_name(const OutputConfig& output) {
  return std::string(names_of(output.trajectory).at(static_cast<std::size_t>(output.trajectory)));
}

}  // namespace

std::int64_t Trajectory::n_atoms(const RunConfig& config, const model::System& system) {
  return atoms_of(config, system).size();
}

void Trajectory::check(const RunConfig& config, const model::System& system) {
  const auto n_atoms = atoms_of(config, system).size();
  const auto& output = config.output;
  if (path(output).empty() || output.trajectory == TrajectoryFormat::segments) return;
  const auto refuse = [&](const char* setting, const char* formats) {
    throw InputError(fmt::format("{}, but output.trajectory = \"{}\", which can't: set that to {}, or leave it out",
                                 setting, format_name(output), formats));
  };
  if (output.velocities && output.trajectory != TrajectoryFormat::h5md)
    refuse("output.velocities = true", "\"segments\" or \"h5md\"");
  if (output.forces) refuse("output.forces = true", "\"segments\"");
  if (output.compression == Compression::lossless) refuse("output.compression = \"lossless\"", "\"segments\"");
  if (output.compression == Compression::rounded) refuse("output.compression = \"rounded\"", "\"segments\" or \"xtc\"");
  if (output.trajectory == TrajectoryFormat::dcd && n_atoms > io::most_dcd_atoms)
    throw InputError(fmt::format("a DCD holds at most {} atoms, there are {}: set output.trajectory to \"segments\"",
                                 io::most_dcd_atoms, n_atoms));
}

std::string Trajectory::path(const OutputConfig& output) {
  if (output.trajectory_every <= 0 || output.trajectory == TrajectoryFormat::none) return "";
  return fmt::format("{}/trajectory.{}", output.folder, format_name(output));
}

Trajectory::Trajectory(const RunConfig& config, const model::System& system, const std::string& machine_file,
                       const comm::Communicator& comm)
    : config_(config), system_(system), comm_(comm) {
  const auto& output = config.output;
  if (path(output).empty()) return;
  atoms_ = atoms_of(config, system);
  std::vector<int> writers = {0};
  if (output.trajectory == TrajectoryFormat::segments) {
    const auto quantities = 1 + (output.velocities ? 1 : 0) + (output.forces ? 1 : 0);
    writers =
        io::write::spread(comm.size(), number_of_writers(comm, output, machine_file, 12 * quantities * atoms_.size()));
  }
  FrameShares shares(system, atoms_, output.wrap, static_cast<int>(writers.size()));
  writers.resize(static_cast<std::size_t>(shares.n_shares()));
  exchange_.emplace(system, std::move(shares), std::move(writers),
                    FrameExchange::Contents{output.velocities, output.forces}, comm);
}

void Trajectory::open(std::int64_t first_step, std::optional<std::int64_t> frames) {
  if (config_.output.trajectory != TrajectoryFormat::segments) {
    sink_ = open_single_file(path(config_.output), config_, system_, atoms_.size(), first_step, frames, comm_);
    return;
  }
  // A new run has the frame of its start, and a restart only those behind it.
  sink_ = std::make_unique<SegmentSink>(path(config_.output), config_, system_, *exchange_,
                                        frames ? first_step : first_step - 1, frames.value_or(0), comm_);
}

void Trajectory::record(const md::Engine& engine) {
  if (!exchange_) return;
  auto frame = exchange_->collect(engine, static_cast<double>(engine.current_step()) * config_.dynamics.timestep);
  if (sink_)
    sink_->append(std::move(frame));
  else
    first_ = std::move(frame);
}

void Trajectory::begin() {
  if (!exchange_) return;
  TESSERA_CHECK(first_.has_value());
  open(first_->step, std::nullopt);
  sink_->append(std::move(*first_));
  first_.reset();
}

std::string Trajectory::go_on(std::int64_t step, std::int64_t frames) {
  std::string note;
  if (!exchange_) return note;
  const auto file = path(config_.output);
  comm::on_root(comm_, [&] {
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) {
      if (frames > 0) note = fmt::format("{} is gone and begins anew after step {}", file, step);
      frames = 0;
      return;
    }
    if (config_.output.trajectory != TrajectoryFormat::segments) return;
    // Nothing is lost by going on: later legs are files of their own.
    const auto found = io::segments::read_folder(file);
    for (const auto& problem : found.problems) note += problem + "; ";
    const auto whole = std::count_if(found.steps.begin(), found.steps.end(), [&](auto one) { return one <= step; });
    if (whole < frames)
      note += fmt::format("{} holds {} whole frames up to step {}, the checkpoint counts {}: the others are missing",
                          file, whole, step, frames);
    frames = whole;
  });
  open(step, frames);
  return note;
}

void Trajectory::synchronize() {
  if (sink_) sink_->synchronize();
}

}  // namespace tessera::app
