#include "tessera/app/imd/feed.h"

#include <fmt/format.h>

#include <limits>

#include "tessera/comm/job.h"
#include "tessera/comm/on_root.h"

namespace tessera::app::imd {

model::AtomSet watched_atoms(const RunConfig& config, std::int64_t n_atoms) {
  const auto& select = config.output.imd_select;
  auto atoms = config.selections.find(select.empty() ? "all" : select, "output.imd_select", n_atoms);
  if (atoms.size() > std::numeric_limits<std::int32_t>::max())
    throw InputError(fmt::format(
        "output.imd: a frame of IMD has 2147483647 atoms at most, this one has {}: choose fewer by output.imd_select",
        atoms.size()));
  return atoms;
}

void Feed::start(Simulation& simulation) {
  const auto& system = simulation.system();
  atoms_ = watched_atoms(simulation.config(), system.n_atoms());
  contents_ = {output_.imd_version, system.is_periodic, system.is_periodic && !output_.wrap};
  FrameContents of_frame;
  of_frame.velocities = of_frame.forces = output_.imd_version >= 3;
  exchange_.emplace(system, FrameShares(system, atoms_, output_.wrap, 1), std::vector<int>{0}, of_frame,
                    simulation.comm());
  comm::on_root(simulation.comm(),
                [&] { server_ = std::make_unique<Server>(output_.imd_host, output_.imd, contents_, atoms_.size()); });
  agree(simulation);
}

void Feed::after_step(Simulation& simulation) {
  const auto step = simulation.current_step();
  if (is_watched_ && is_due(step, every_)) {
    const auto frame = exchange_->collect(simulation.engine(), simulation.time());
    if (server_)
      server_->give(frame_bytes(contents_, frame, simulation.energies(), simulation.config().dynamics.timestep));
  }
  // A client may have asked for frames that are far apart, and have gone.
  if (is_due(step, every_) || is_due(step, output_.imd_every)) agree(simulation);
}

void Feed::finish(Simulation&) { print_notes(); }

/// Lets the root tell whether a client wants the next frame, and how many steps apart they are.
void Feed::agree(const Simulation& simulation) {
  std::array<std::int64_t, 2> told = {};
  if (server_) told = {server_->wants_frame(), server_->every()};
  print_notes();
  simulation.comm().broadcast(std::as_writable_bytes(std::span(told)), 0);
  is_watched_ = told[0] != 0;
  every_ = told[1] > 0 ? told[1] : output_.imd_every;
}

void Feed::print_notes() {
  if (!server_) return;
  for (const auto& text : server_->take_notes()) comm::print_note("tessera-md", text);
}

}  // namespace tessera::app::imd
