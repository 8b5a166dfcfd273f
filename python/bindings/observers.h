// Observers of a simulation that Python holds: hooks, signals and the history of energies, and the calls that they
// make.
#pragma once

#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/app/observers/observer.h"
#include "tessera/app/output/energy_columns.h"
#include "tessera/app/simulation.h"
#include "tessera/base/error.h"
#include "tessera/comm/communicator.h"

namespace tessera::bindings {

namespace nb = nanobind;

using Call = std::function<void()>;

/// Returns the type of what Python raised and its message.
inline std::string text_of(const nb::python_error& error) {
  const nb::gil_scoped_acquire python;
  return fmt::format("{}: {}", nb::str(error.type().attr("__name__")).c_str(), nb::str(error.value()).c_str());
}

/// Calls Python on every rank. What one of them raises is raised there again, and ends the step on the others.
inline void call_on_all(const comm::Communicator& comm, const Call& function) {
  std::exception_ptr raised;
  std::string text;
  {
    const nb::gil_scoped_acquire python;
    try {
      function();
    } catch (const nb::python_error& error) {
      raised = std::current_exception();
      text = fmt::format("rank {}: {}", comm.rank(), text_of(error));
    }
  }
  try {
    comm::agree_on_run(comm, text);
  } catch (const RunError&) {
    if (raised) std::rethrow_exception(raised);
    throw;
  }
}

/// What Python raises behind a step: it ends `step` there, and a run in good order, with its checkpoint, before it is
/// raised.
class Raised {
 public:
  template <class Function>
  void take_from(app::Simulation& simulation, Function&& function) {
    if (raised_) return;
    try {
      function();
    } catch (...) {
      if (!is_of_run_) throw;
      raised_ = std::current_exception();
      simulation.stop();
    }
  }
  void begin_run() { is_of_run_ = true; }
  /// Raises what was kept.
  void end_run() {
    is_of_run_ = false;
    if (const auto raised = std::exchange(raised_, nullptr)) std::rethrow_exception(raised);
  }

 private:
  bool is_of_run_ = false;
  std::exception_ptr raised_;
};

class Hook final : public app::Observer {
 public:
  Hook(std::int64_t every, bool with_energies, Call function, Raised& raised)
      : every_(every), with_energies_(with_energies), function_(std::move(function)), raised_(raised) {}
  bool needs_energies(std::int64_t step) const override { return with_energies_ && app::is_due(step, every_); }
  void after_step(app::Simulation& simulation) override {
    if (app::is_due(simulation.current_step(), every_))
      raised_.take_from(simulation, [&] { call_on_all(simulation.comm(), function_); });
  }

 private:
  std::int64_t every_;
  bool with_energies_;
  Call function_;
  Raised& raised_;
};

/// Raises what Python's handlers of signals (Ctrl-C) raise, on any rank.
inline void check_signals(const comm::Communicator& comm) {
  call_on_all(comm, [] {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  });
}

/// Python's signals on any rank.
class Interruption final : public app::Observer {
 public:
  explicit Interruption(Raised& raised) : raised_(raised) {}
  void after_step(app::Simulation& simulation) override {
    constexpr std::int64_t ask_every = 5;
    if (app::is_due(simulation.current_step(), ask_every))
      raised_.take_from(simulation, [&] { check_signals(simulation.comm()); });
  }

 private:
  Raised& raised_;
};

/// Energies as they were recorded, at the steps of energy.csv.
class History final : public app::Observer {
 public:
  using Row = std::vector<double>;
  explicit History(std::int64_t every) : every_(every) {}
  bool needs_energies(std::int64_t step) const override { return app::is_due(step, every_); }
  void after_step(app::Simulation& simulation) override {
    if (app::is_due(simulation.current_step(), every_)) record(simulation);
  }
  /// Records the current state, in place of an earlier row of the same step.
  void record(const app::Simulation& simulation) {
    const auto step = static_cast<double>(simulation.current_step());
    if (!rows_.empty() && rows_.back().front() == step) rows_.pop_back();
    const auto values = app::energy_values(simulation.energies(), simulation.system().box);
    Row row = {step, simulation.time()};
    row.insert(row.end(), values.begin(), values.end());
    rows_.push_back(std::move(row));
  }
  static std::vector<std::string> columns(const app::Simulation& simulation) {
    std::vector<std::string> names = {"step", "time"};
    for (const auto& column : app::energy_columns(simulation.system().box)) names.push_back(column.name);
    return names;
  }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  std::int64_t every_;
  std::vector<Row> rows_;
};

}  // namespace tessera::bindings
