// Frames of a run for programs that watch it through a socket (IMD).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "tessera/app/imd/server.h"
#include "tessera/app/simulation.h"
#include "tessera/app/trajectory/exchange.h"
#include "tessera/model/atom_set.h"

namespace tessera::app::imd {

/// Returns the atoms of a frame. Throws InputError where there are none, or too many for IMD.
model::AtomSet watched_atoms(const RunConfig& config, std::int64_t n_atoms);

/// All members are collective. A client that has not yet got the last frame gets none of the next.
class Feed final : public Observer {
 public:
  explicit Feed(const OutputConfig& output) : output_(output), every_(output.imd_every) {}

  /// Opens the port, on the root. Throws InputError.
  void start(Simulation& simulation) override;
  bool needs_energies(std::int64_t step) const override { return is_watched_ && is_due(step, every_); }
  void after_step(Simulation& simulation) override;
  /// Tells what clients did since the last frame that was due.
  void finish(Simulation& simulation) override;

 private:
  void agree(const Simulation& simulation);
  void print_notes();

  const OutputConfig& output_;
  std::int64_t every_;
  bool is_watched_ = false;  // a client wants the next frame that is due
  Contents contents_;
  model::AtomSet atoms_;
  std::optional<FrameExchange> exchange_;
  std::unique_ptr<Server> server_;  // on the root
};

}  // namespace tessera::app::imd
