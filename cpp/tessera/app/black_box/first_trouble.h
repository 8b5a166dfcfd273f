// Where a failure began: the first atom that forces, or its speed, throw out of order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/app/simulation.h"
#include "tessera/md/blow_up.h"

namespace tessera::app {

struct Trouble {
  std::int64_t step = 0, atom = -1;
  double speed = 0, force = 0;  // Å/ps, kcal/mol/Å
  bool is_too_fast = false;     // otherwise it is the force that is too strong
  md::StrongestForce strongest;

  /// Returns "step 12: atom 33 (WAT 5 O) moves at 350 Å/ps: the run has blown up; the strongest force on it is …".
  std::string describe(const model::System& system) const;
};

/// Watches every step until an atom is out of order: one whose kinetic energy, or what its force adds to that from rest
/// in one step of 2 fs at most, is above 50 kT, which no atom in equilibrium ever reaches.
class FirstTrouble final : public Observer {
 public:
  explicit FirstTrouble(double temperature) : temperature_(temperature) {}

  void start(Simulation& simulation) override { look(simulation); }
  void after_step(Simulation& simulation) override { look(simulation); }

  const std::optional<Trouble>& found() const { return found_; }

 private:
  void look(Simulation& simulation);

  double temperature_;  // K
  std::optional<Trouble> found_;
};

}  // namespace tessera::app
