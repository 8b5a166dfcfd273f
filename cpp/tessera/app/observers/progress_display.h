// Shows on the root's standard error how far a run is.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "tessera/app/observers/energies.h"
#include "tessera/app/output/progress.h"

namespace tessera::app {

/// Returns the line of progress on standard error, in the style that fits where that goes; nothing where none is
/// wanted.
inline std::optional<StatusLine> line_on_standard_error(Progress style) {
  // Under mpirun standard error is a pipe; `tessera run` says whether it ends on a terminal.
  const bool on_terminal = isatty(STDERR_FILENO) || std::getenv("TESSERA_TERMINAL") != nullptr;
  if (style == Progress::automatic) style = on_terminal ? Progress::line : Progress::log;
  if (style == Progress::none) return std::nullopt;
  return StatusLine(style == Progress::line ? StatusLine::Style::rewrite : StatusLine::Style::append,
                    [](std::string_view text) {
                      std::fwrite(text.data(), 1, text.size(), stderr);
                      std::fflush(stderr);
                    });
}

class ProgressDisplay final : public Observer {
 public:
  explicit ProgressDisplay(const EnergyRecorder& energies) : energies_(energies) {}

  void start(Simulation& simulation) override {
    start_ = std::chrono::steady_clock::now();
    if (!simulation.comm().is_root()) return;
    if (auto line = line_on_standard_error(simulation.config().output.progress))
      line_.emplace(std::move(*line), simulation.first_step(), simulation.last_step(),
                    simulation.config().dynamics.timestep);
  }
  void after_step(Simulation& simulation) override {
    if (line_ && line_->is_due(seconds())) show(simulation);
  }
  void finish(Simulation& simulation) override {
    if (!line_) return;
    show(simulation);
    line_->finish();
  }

 private:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  void show(const Simulation& simulation) {
    line_->show({simulation.current_step(), simulation.energies().temperature, energies_.averages().drift()},
                seconds());
  }

  const EnergyRecorder& energies_;
  std::chrono::steady_clock::time_point start_;
  std::optional<ProgressLine> line_;
};

}  // namespace tessera::app
