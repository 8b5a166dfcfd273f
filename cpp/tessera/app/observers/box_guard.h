// Ends a run in good order before its box becomes too small for the cut-off, or its atoms leave the longest frame that
// a vacuum may have.
#pragma once

#include <fmt/format.h>

#include <string>

#include "tessera/app/simulation.h"
#include "tessera/base/error.h"
#include "tessera/md/plan.h"

namespace tessera::app {

class BoxGuard final : public Observer {
 public:
  /// Returns why the run was stopped; empty: it was not.
  const std::string& problem() const { return problem_; }

  void start(Simulation& simulation) override {
    box_ = simulation.engine().global().box;
    system_ = md::summary_of(simulation.system());
  }

  /// Ends the run while the box still has room to shrink once more: the engine notices a box that is too small in the
  /// middle of a step, where no checkpoint can be written.
  void after_step(Simulation& simulation) override {
    if (const auto& beyond = simulation.engine().beyond_frame(); !beyond.empty()) {
      problem_ = fmt::format("{}; its checkpoint is written", beyond);
      simulation.stop();
      return;
    }
    const auto& box = simulation.engine().global().box;
    if (box == box_) return;
    box_ = box;
    constexpr double once_more = 0.99;  // a pressure bath changes an edge by 1 % a time at most
    try {
      (void)md::plan_cells(system_, simulation.settings(), stretched(box, {once_more, once_more, once_more}));
    } catch (const InputError& error) {
      problem_ = fmt::format(
          "step {}: the box has shrunk to {:.2f} × {:.2f} × {:.2f} Å, within 1 % of where the run can't go on "
          "({}); its checkpoint is written: see why it shrinks, or go on from it by input.start with other settings",
          simulation.current_step(), box.edges()[0], box.edges()[1], box.edges()[2], error.what());
      simulation.stop();
    }
  }

 private:
  Box box_;
  md::SystemSummary system_{};
  std::string problem_;
};

}  // namespace tessera::app
