// Gives cells to other ranks where that makes their work more even.
#pragma once

#include <algorithm>
#include <optional>

#include "tessera/app/output/report.h"
#include "tessera/app/simulation.h"
#include "tessera/md/domain/balance.h"

namespace tessera::app {

class CellBalancer final : public Observer {
 public:
  explicit CellBalancer(const Simulation& simulation)
      : first_step_(simulation.current_step()),
        last_look_(first_step_),
        work_at_look_(simulation.engine().work_seconds()) {}
  /// Returns what was found; nothing before the first look.
  const std::optional<BalanceHistory>& history() const { return history_; }

  void after_step(Simulation& simulation) override {
    constexpr std::int64_t first_look = 25;  // steps; then at twice as many, and so on
    const auto step = simulation.current_step();
    const bool is_last = step == simulation.last_step();
    const auto next_look = first_step_ + std::max(first_look, 2 * (last_look_ - first_step_));
    if (simulation.is_stopped() || (step != next_look && (!is_last || step - last_look_ < first_look))) return;
    last_look_ = step;
    const auto& engine = simulation.engine();
    auto found = md::domain::find_balance(engine.domain(), engine.work_seconds() - work_at_look_, simulation.comm());
    if (!history_) history_ = BalanceHistory{found.imbalance, found.imbalance, 0};
    history_->last = found.imbalance;
    if (found.better && !is_last) {
      simulation.move_cells(std::move(*found.better));
      ++history_->moves;
    }
    work_at_look_ = simulation.engine().work_seconds();
  }

 private:
  std::int64_t first_step_, last_look_;
  double work_at_look_;  // what this rank had worked when last it was looked at how even the ranks' work is
  std::optional<BalanceHistory> history_;
};

}  // namespace tessera::app
