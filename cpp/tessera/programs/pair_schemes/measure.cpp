#include "tessera/programs/pair_schemes/measure.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "tessera/app/config/read_config.h"
#include "tessera/app/engine_settings.h"
#include "tessera/app/simulation.h"
#include "tessera/base/error.h"
#include "tessera/base/simd/instruction_set.h"
#include "tessera/programs/io/seconds_of.h"

namespace tessera::programs {

namespace {

/// Times one scheme beside a run, whose layout does not change.
class Beside {
 public:
  Beside(const app::Simulation& simulation, const pair_schemes::PairScheme& scheme,
         const pair_schemes::Function& function)
      : simulation_(simulation),
        engine_(simulation.engine()),
        sum_(scheme.make(engine_.forces().pairs().data(), function)) {}

  /// Follows the atoms after a step, or before the first.
  void follow() {
    const bool has_sorted = engine_.n_searches() != n_searches_, has_listed = engine_.n_pair_lists() != n_lists_;
    n_searches_ = engine_.n_searches();
    n_lists_ = engine_.n_pair_lists();
    if (has_sorted || force_.empty()) {
      sum_->rebuild();
      const auto& data = engine_.forces().pairs().data();
      force_.assign(static_cast<std::size_t>(data.threads.size()), std::vector<std::int64_t>(3 * data.type.size()));
    }
    list_seconds_ += seconds_of(simulation_.comm(), [&] { sum_->update(has_listed); });
    std::vector<md::Accumulator> accumulators;
    for (auto& force : force_) accumulators.emplace_back(force, nullptr);
    kernel_seconds_ += seconds_of(simulation_.comm(), [&] { sum_->add_forces(accumulators); });
  }
  void reset() { list_seconds_ = kernel_seconds_ = 0; }

  const pair_schemes::PairSum& sum() const { return *sum_; }
  double list_seconds() const { return list_seconds_; }
  double kernel_seconds() const { return kernel_seconds_; }

 private:
  const app::Simulation& simulation_;
  const md::Engine& engine_;
  std::unique_ptr<pair_schemes::PairSum> sum_;
  std::int64_t n_searches_ = -1, n_lists_ = -1;
  std::vector<std::vector<std::int64_t>> force_;  // by thread
  double list_seconds_ = 0, kernel_seconds_ = 0;
};

/// Returns the scheme of this name, or nothing for the engine's own.
const pair_schemes::PairScheme* find(const std::string& name, const pair_schemes::Function& function) {
  std::string known;
  for (const auto& scheme : pair_schemes::pair_schemes()) {
    if (scheme.name == name) return &scheme;
    known += fmt::format(" {}", scheme.name);
  }
  if (name != "cluster") throw InputError(fmt::format("--scheme is {}, expected cluster or one of{}", name, known));
  if (function.by_table) throw InputError("--scheme cluster has no table: leave --density out");
  return nullptr;
}

}  // namespace

nlohmann::json measure(const PairSchemeRequest& request, const comm::Communicator& comm) {
  const auto* scheme = find(request.scheme, request.function);
  const auto config = app::config_of_system(request.system, request.overrides);
  const auto system = app::read_run_system(request.system, config);
  const auto settings = app::plan_settings(config, system);
  if (!system.is_periodic || !settings.baths.barostat.empty())
    throw InputError(
        fmt::format("{}: cells must stay as they are, expected a system with a box and no barostat", request.system));
  if (settings.precision != md::pair::Precision::mixed || settings.pair.lj == md::pair::LjModifier::pme ||
      !system.force_field.pair_potentials.empty())
    throw InputError(
        "the schemes have neither double precision nor interactions.lj = \"pme\" nor pair potentials: take another "
        "system or other settings");
  ThreadPool threads(request.threads);
  app::Simulation simulation(system, config, settings, comm, threads);
  simulation.start(app::read_coordinates(request.system, 0, 1));
  const auto& engine = simulation.engine();
  std::optional<Beside> beside;
  if (scheme != nullptr) beside.emplace(simulation, *scheme, request.function).follow();
  const auto lists_before = engine.n_pair_lists();
  simulation.timers().reset();
  if (beside) beside->reset();
  for (int step = 0; step < request.steps; ++step) {
    simulation.step(1, false);
    if (beside) beside->follow();
  }
  const auto& own = engine.forces().pairs().sum();
  const auto seconds = simulation.timers().seconds();
  const auto phase = [&](md::Phase one) { return seconds[static_cast<std::size_t>(one)]; };
  return {
      {"lists", engine.n_pair_lists() - lists_before},
      {"list_seconds", beside ? beside->list_seconds() : phase(md::Phase::pair_list)},
      {"kernel_seconds", beside ? beside->kernel_seconds() : phase(md::Phase::pair)},
      {"list_bytes", beside ? beside->sum().list_bytes() : own.list_bytes()},
      {"pairs", beside ? beside->sum().n_evaluated() : own.n_evaluated()},
      {"buffer", engine.plan().cells.buffer},
      {"versions", {{"Tessera", TESSERA_VERSION}, {"SIMD of Tessera", instruction_set()}, {"compiler", __VERSION__}}}};
}

}  // namespace tessera::programs
