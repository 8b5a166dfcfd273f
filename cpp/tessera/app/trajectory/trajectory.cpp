#include "tessera/app/trajectory/trajectory.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>

#include "tessera/app/trajectory/writers.h"
#include "tessera/base/error.h"
#include "tessera/comm/on_root.h"
#include "tessera/io/segments/manifest.h"
#include "tessera/io/write/plan.h"

namespace tessera::app {

namespace {

FrameExchange plan_exchange(const TrajectorySettings& settings, const RunConfig& config, const model::System& system,
                            const model::AtomSet& atoms, const std::string& machine_file,
                            const comm::Communicator& comm) {
  int n = comm.size();
  if (!settings.is_as_owned)
    comm::on_root(comm, [&] { n = plan_writers(settings, config.output, machine_file, atoms.size(), comm.size()); });
  comm.broadcast(std::as_writable_bytes(std::span(&n, 1)), 0);
  auto writers = io::write::spread(comm.size(), n);
  FrameShares shares(system, atoms, config.output.wrap, settings.format->takes_turns ? 1 : n);
  if (!settings.format->takes_turns) writers.resize(static_cast<std::size_t>(shares.n_shares()));
  return {system, std::move(shares), std::move(writers), settings.contents, comm};
}

/// Chooses the method for formats that take several. The root reads the machine file.
io::write::Choice agree_on_method(const TrajectorySettings& settings, const RunConfig& config,
                                  const model::AtomSet& atoms, const std::string& machine_file,
                                  const comm::Communicator& comm) {
  if (settings.format->written_as == nullptr) return {};
  return io::write::agree_on_choice(
      comm, [&] { return plan_method(settings, config.output, machine_file, atoms.size(), comm.size()); });
}

}  // namespace

Trajectory::Trajectory(TrajectorySettings settings, const RunConfig& config, const model::System& system,
                       const std::string& machine_file, const comm::Communicator& comm)
    : settings_(std::move(settings)),
      config_(config),
      system_(system),
      comm_(comm),
      atoms_(atoms_of(settings_, config, system.n_atoms())),
      method_(agree_on_method(settings_, config, atoms_, machine_file, comm)),
      exchange_(plan_exchange(settings_, config, system, atoms_, machine_file, comm)) {}

void Trajectory::open(std::int64_t first_step, std::optional<std::int64_t> frames) {
  sink_ = settings_.format->open({settings_, config_, system_, exchange_, method_, first_step, frames, comm_});
}

void Trajectory::record(const md::Engine& engine) {
  const double time = static_cast<double>(engine.current_step()) * config_.dynamics.timestep;
  auto frame = settings_.is_as_owned ? exchange_.owned(engine, time) : exchange_.collect(engine, time);
  if (sink_)
    sink_->append(std::move(frame));
  else
    first_ = std::move(frame);
}

void Trajectory::begin() {
  TESSERA_CHECK(first_.has_value());
  open(first_->step, std::nullopt);
  sink_->append(std::move(*first_));
  first_.reset();
}

std::string Trajectory::go_on(std::int64_t step, std::optional<std::int64_t> frames) {
  std::string note;
  std::int64_t found = frames.value_or(0);
  comm::on_root(comm_, [&] {
    std::error_code ignored;
    if (!std::filesystem::exists(settings_.path, ignored)) {
      if (found > 0) note = fmt::format("{} is gone and begins anew after step {}", settings_.path, step);
      found = 0;
      return;
    }
    if (!settings_.format->is_folder) return;
    // Nothing is lost by going on: later legs are files of their own.
    const auto folder = io::segments::read_folder(settings_.path);
    for (const auto& problem : folder.problems) note += problem + "; ";
    found = std::count_if(folder.steps.begin(), folder.steps.end(), [&](auto one) { return one <= step; });
    if (frames && found < *frames)
      note += fmt::format("{} holds {} whole frames up to step {}, the checkpoint counts {}: the others are missing",
                          settings_.path, found, step, *frames);
  });
  comm_.broadcast(std::as_writable_bytes(std::span(&found, 1)), 0);
  open(step, found);
  return note;
}

void Trajectory::synchronize() {
  if (sink_) sink_->synchronize();
}

}  // namespace tessera::app
