// Provides a toy barostat for tests: before every step the box is scaled slightly towards a pressure. It samples no
// ensemble, but shows what an integrator may do with the box.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/md/engine.h"
#include "tessera/md/integrate/integrator.h"

namespace tessera::md::test {

/// Scales like H. J. C. Berendsen et al., J. Chem. Phys. 81, 3684 (1984), doi:10.1063/1.448118, but differently along
/// the three edges.
class ToyBarostat final : public integrate::Integrator {
 public:
  ToyBarostat(const EngineSettings& settings, double bar)
      : inner_(integrate::integrator("velocity-verlet").make(settings)), bar_(bar) {}

  integrate::Failure before_forces(integrate::Motion& motion) override {
    const double difference = motion.energies().pressure - bar_;
    const auto scale = [&](double gain) { return 1 + std::clamp(gain * difference, -4e-4, 4e-4); };
    const auto& box = motion.state().box;
    motion.set_box(stretched(box, {scale(1e-7), scale(1.1e-7), scale(0.9e-7)}));
    return inner_->before_forces(motion);
  }
  integrate::Failure after_forces(integrate::Motion& motion, bool with_virial) override {
    return inner_->after_forces(motion, with_virial);
  }
  StepSums needed_sums(std::int64_t /*step*/) const override { return StepSums::energies; }
  std::int64_t removed_degrees_of_freedom() const override { return inner_->removed_degrees_of_freedom(); }

 private:
  std::unique_ptr<integrate::Integrator> inner_;
  double bar_;
};

inline std::unique_ptr<integrate::Integrator> make_toy_barostat(const EngineSettings& settings, double bar) {
  return std::make_unique<ToyBarostat>(settings, bar);
}

struct Course {
  Snapshot end;  // of all ranks, by id
  Energies energies;
  std::vector<std::int64_t> cells;  // along x at each search
};

/// Returns the course of some steps under the toy barostat on some ranks; without steps it is that of a start from the
/// state. `begin(engine)` is called on every rank before the first energies.
inline Course run_with_barostat(
    const model::System& system, const EngineSettings& settings, const Snapshot& from, double bar, int n_ranks,
    int n_steps, const std::function<void(Engine&)>& begin = [](Engine&) {}) {
  Course course;
  std::mutex mutex;
  comm::run_ranks(n_ranks, [&](const comm::Communicator& comm) {
    ThreadPool threads;
    Engine engine(system, settings, plan_for_ranks(system, settings, system.box, comm, threads), comm, threads,
                  make_toy_barostat(settings, bar));
    auto start = from;
    if (!comm.is_root()) start.atoms.clear();
    engine.set_state(start);
    begin(engine);
    engine.measure();
    std::vector<std::int64_t> cells;
    for (int i = 0; i < n_steps; ++i) {
      engine.step(true);
      if (engine.state().last_search == engine.current_step()) cells.push_back(engine.plan().cells.grid.n[0]);
    }
    const auto own = engine.snapshot();
    const std::lock_guard lock(mutex);
    static_cast<GlobalState&>(course.end) = own;
    course.end.atoms.insert(course.end.atoms.end(), own.atoms.begin(), own.atoms.end());
    course.energies = engine.energies();
    course.cells = cells;
  });
  std::sort(course.end.atoms.begin(), course.end.atoms.end(), [](const auto& p, const auto& q) { return p.id < q.id; });
  return course;
}

}  // namespace tessera::md::test
