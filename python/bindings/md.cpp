// The Python module tessera._md_<mpi>, linked once for each MPI: simulations in process. See tessera/simulation.py.
#include "module.h"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "errors.h"
#include "observers.h"
#include "tessera/app/config/read_config.h"
#include "tessera/app/config/removed_keys.h"
#include "tessera/app/config/schema.h"
#include "tessera/app/engine_settings.h"
#include "tessera/app/gather.h"
#include "tessera/app/observers/watching.h"
#include "tessera/app/output/energy_columns.h"
#include "tessera/app/run.h"
#include "tessera/app/run_outputs.h"
#include "tessera/app/simulation.h"
#include "tessera/app/start/coordinates.h"
#include "tessera/app/start/resume.h"
#include "tessera/app/start/start.h"
#include "tessera/app/system/references.h"
#include "tessera/base/error.h"
#include "tessera/base/simd/instruction_set.h"
#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/comm/job.h"
#include "tessera/comm/on_root.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tessera;
using namespace tessera::bindings;

template <class Value>
using Array = nb::ndarray<nb::numpy, Value>;
using Rows = nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;
using Parts = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using SixParts = nb::ndarray<const double, nb::shape<-1, 6>, nb::c_contig, nb::device::cpu>;
using Image = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
/// Ids (n,), positions (n,3) Å, the box (3,3) Å and the step; returns forces (n,3), parts of the energy (k,) and of the
/// virial (m,6).
using ForceCall = std::function<nb::tuple(Array<std::int64_t>, Array<double>, Array<double>, std::int64_t)>;

template <class Value>
Array<Value> array_of(std::vector<Value> values, std::initializer_list<std::size_t> shape) {
  auto* kept = new std::vector<Value>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<Value>*>(p); });
  return {kept->data(), shape, owner};
}

/// Returns an array (n,3).
Array<double> rows_of(std::vector<double> values) {
  const std::size_t n = values.size() / 3;
  return array_of(std::move(values), {n, 3});
}

/// Returns an array (3,3), whose rows are the box vectors.
Array<double> rows_of(const Box& box) {
  std::vector<double> rows;
  for (const auto& v : {box.a(), box.b(), box.c()}) rows.insert(rows.end(), {v.x, v.y, v.z});
  return rows_of(std::move(rows));
}

/// Lists the selections in settings, of which wrong ones have none: the simulation says what is wrong with them.
std::vector<std::pair<std::string, std::string>> list_selections(const std::string& settings) {
  std::vector<std::pair<std::string, std::string>> found;
  try {
    for (const auto& [key, text, decides_bits] : app::selections_of(app::parse_run_text(settings, "settings", "")))
      if (!app::Selections::is_plain(text)) found.emplace_back(key, text);
  } catch (const InputError&) {
  }
  return found;
}

/// Does a part of a run; where it throws, status.json says so.
template <class Function>
void tell_where_it_throws(app::StatusFile& status, std::string_view state, Function&& function) {
  try {
    function();
  } catch (const nb::python_error& error) {
    status.end(state, 1, text_of(error));
    throw;
  } catch (const std::exception& error) {
    status.end(state, 1, error.what());
    throw;
  }
}

/// A simulation and all that it refers to.
class Session {
 public:
  /// Starts a simulation. `settings`: a run file's text. `image`: the bytes of a system file; empty where input.system
  /// names one. `selections`: the content of a file with the atoms of each selection; empty where there are none.
  Session(const std::string& settings, const Image& image, const std::string& selections,
          std::optional<int> fortran_handle, int threads, std::string kernels)
      : comm_(fortran_handle ? comm::Communicator::duplicate_of(*fortran_handle) : comm::Communicator::world()),
        kernels_(std::move(kernels)) {
    std::string problem;
    app::RunStart start;
    try {
      config_ = app::parse_run_text(settings, "settings", "");
      if (!selections.empty()) config_.selections = app::Selections::parse(selections, "selections");
      const app::SystemSource source(config_.input.system, std::as_bytes(std::span(image.data(), image.size())));
      system_ = app::read_run_system(source, config_);
      box_of_system_ = system_.box;
      app::take_box_of_start(system_, config_);
      settings_ = app::plan_settings(config_, system_);
      app::check_trajectories(config_, system_);
      threads_.emplace(threads > 0 ? threads : static_cast<int>(config_.parallel.threads));
    } catch (const InputError& error) {
      problem = error.what();
    } catch (const std::system_error& error) {
      problem = error.what();
    }
    comm::agree_on_input(comm_, problem);
    check_same(settings + selections);
    start = app::read_start({config_.input.system, std::as_bytes(std::span(image.data(), image.size()))}, config_,
                            system_, comm_);
    comm::on_each_rank(comm_, [&] { app::add_references(start.block, config_, settings_, system_); });
    history_.emplace(config_.output.energy_every);
    make_simulation();
    simulation_->start(std::move(start.block), std::move(start.origin));
    history_->record(*simulation_);
  }

  /// Returns what is to be known of the settings; on the root.
  std::vector<std::string> notes() const {
    if (!comm_.is_root()) return {};
    const auto notes = app::notes_of_removed(config_);
    return {notes.begin(), notes.end()};
  }

  void step(std::int64_t n) {
    advance([&] { simulation_->step(n); });
  }

  /// Returns energy, greatest force, steps and how it ended. Python's signals end it at the lowest energy found.
  std::tuple<double, double, std::int64_t, std::string> minimize(double max_force, std::int64_t max_steps) {
    md::minimize::Result result;
    std::exception_ptr raised;
    advance([&] {
      result = simulation_->minimize({max_force, max_steps}, [&](const md::minimize::Progress& progress) {
        constexpr std::int64_t ask_every = 5;
        if (!app::is_due(progress.steps, ask_every)) return false;
        try {
          check_signals(comm_);
        } catch (...) {
          raised = std::current_exception();
        }
        return raised != nullptr;
      });
    });
    if (raised) std::rethrow_exception(raised);
    return {result.energy, result.max_force, result.steps, std::string(name_of(result.ending))};
  }

  /// Runs to dynamics.steps; with the output files of a run where `writes`.
  void run(bool writes) {
    if (!writes) return advance([&] { simulation_->step(simulation_->last_step() - simulation_->current_step()); });
    const bool goes_on = continued_ && continued_step_ == simulation_->current_step();
    app::RunOutputs outputs(config_, system_, goes_on, comm_);
    if (goes_on) outputs.go_on_from(*continued_);
    app::StatusFile status(config_.output.folder, comm_.is_root());
    app::Watching watching(config_.output, &status, outputs.energies(), balancer_);
    outputs.attach_to(*simulation_);
    watching.attach_to(*simulation_);
    raised_.begin_run();
    tell_where_it_throws(status, "failed", [&] {
      try {
        advance([&] { simulation_->run(); });
      } catch (...) {
        watching.detach_from(*simulation_);
        outputs.detach_from(*simulation_);
        raised_.end_run();
        throw;
      }
    });
    watching.detach_from(*simulation_);
    outputs.detach_from(*simulation_);
    const auto report = outputs.report(*simulation_, balancer_ ? &*balancer_ : nullptr);
    comm::on_root(comm_, [&] { app::write_report(config_.output.folder + "/report.json", report); });
    tell_where_it_throws(status, "stopped", [&] { raised_.end_run(); });
    status.end("finished", 0, "");
  }

  void add_hook(std::int64_t every, bool with_energies, Call function) {
    simulation_->attach(
        *hooks_.emplace_back(std::make_unique<Hook>(every, with_energies, std::move(function), raised_)));
  }

  /// Adds a force that Python computes, on the atoms with these ids or on each rank's own. What the function raises on
  /// any rank is raised, and the force is not added.
  void add_force(ForceCall function, std::optional<std::vector<std::int64_t>> ids) {
    auto own = ids.value_or(std::vector<std::int64_t>{});
    own.push_back(ids ? 1 : 0);
    auto first = own;
    comm::broadcast_resized(comm_, first);
    comm::agree_on_input(comm_, first == own ? "" : "ranks list different atoms, expected the same in the same order");
    auto force = std::make_shared<md::external::ExternalForce>();
    force->atoms = std::move(ids);
    force->function = [this, call = std::move(function)](const md::external::ExternalAtoms& atoms) {
      return call_force(call, atoms);
    };
    auto before = forces_;
    forces_.push_back(std::move(force));
    try {
      use_forces();
    } catch (...) {
      forces_ = std::move(before);
      use_forces();
      throw;
    }
  }
  void remove_force(std::size_t index) {
    forces_.erase(forces_.begin() + static_cast<std::ptrdiff_t>(index));
    use_forces();
  }

  void save(const std::string& folder) { simulation_->save(folder); }

  /// Returns what there is to say, on the root.
  std::string restore(const std::string& folder) {
    std::string note;
    const auto box_before = system_.box;
    system_.box = box_of_system_;
    app::take_box_of_restart(system_, folder);
    app::Checkpoint checkpoint;
    try {
      auto settings = app::plan_settings(config_, system_);
      checkpoint = app::resume(folder, config_, system_, comm_, settings, note);
      settings_ = std::move(settings);
    } catch (const InputError&) {
      system_.box = box_before;
      throw;
    }
    make_simulation();
    simulation_->start(checkpoint);
    use_forces();
    continued_.reset();
    std::error_code ignored;
    if (std::filesystem::equivalent(folder, config_.output.folder, ignored)) continued_ = checkpoint;
    continued_step_ = simulation_->current_step();
    return note;
  }

  std::vector<double> all(app::Quantity quantity) const {
    return app::all_vectors(simulation_->engine(), comm_, quantity);
  }
  std::vector<app::AtomVector> own(app::Quantity quantity) const {
    return app::own_vectors(simulation_->engine(), quantity);
  }

  /// Sets positions and velocities (n,3) Å and Å/ps, the same on all ranks; either may be missing.
  void place(const std::optional<Rows>& positions, const std::optional<Rows>& velocities) {
    const auto row = [](const Rows& rows, std::int64_t id) {
      const double* at = rows.data() + 3 * id;
      return Vec3{at[0], at[1], at[2]};
    };
    auto state = simulation_->engine().snapshot();
    if (positions && !system_.is_periodic)
      for (std::int64_t id = 0; id < system_.n_atoms(); ++id)
        state.box = md::vacuum::around(state.box, row(*positions, id) - system_.origin);
    comm::on_each_rank(comm_, [&] {
      for (auto& atom : state.atoms) {
        if (positions) {
          atom.position = app::wrapped_position(system_, atom.id, row(*positions, atom.id) - system_.origin, state.box);
          atom.displacement = {};
        }
        if (velocities) atom.velocity = app::rounded_velocity(system_, atom.id, row(*velocities, atom.id));
      }
    });
    simulation_->place(std::move(state));
    is_half_way_ = false;
    history_->record(*simulation_);
  }

  /// Changes the box, and the atoms with it (md::integrate::Motion::set_box). Throws InputError.
  void set_box(const Rows& rows) {
    const auto row = [&](std::int64_t i) {
      return Vec3{rows.data()[3 * i], rows.data()[3 * i + 1], rows.data()[3 * i + 2]};
    };
    simulation_->set_box({row(0), row(1), row(2)});
    history_->record(*simulation_);
  }

  /// Returns what the heat bath ("temperature", K) or the pressure bath ("pressure", bar) asks for now. Throws
  /// InputError where there is none, or several that differ.
  double bath(const std::string& key) const { return schedule_of(key).at(simulation_->time()); }
  /// Sets dynamics.temperature or dynamics.pressure from now on to this value, as TOML. Throws InputError.
  void set_bath(const std::string& key, const std::string& value) {
    std::string problem;
    auto config = config_;
    md::integrate::BathSettings baths;
    try {
      (void)schedule_of(key);
      app::read_run_text(config, app::run_schema(), fmt::format("[dynamics]\n{} = {}\n", key, value), "settings", "");
      if (key == "temperature")
        for (auto& one : config.baths) one.temperature = config.dynamics.temperature;
      baths = app::plan_settings(config, system_).baths;
    } catch (const InputError& error) {
      problem = error.what();
    }
    comm::agree_on_input(comm_, problem);
    check_same(value);
    simulation_->set_baths(config, baths);
    config_ = std::move(config);
    settings_.baths = std::move(baths);
  }

  std::string state_hash() const { return simulation_->state_hash(); }
  void agree(const std::string& problem) const { comm::agree_on_input(comm_, problem); }
  const app::Simulation& simulation() const { return *simulation_; }
  const History& history() const { return *history_; }
  const model::System& system() const { return system_; }

 private:
  const TimeSchedule& schedule_of(const std::string& key) const {
    const auto& dynamics = config_.dynamics;
    const bool is_heat = key == "temperature";
    if (is_heat ? dynamics.ensemble == app::Ensemble::nve : dynamics.ensemble != app::Ensemble::npt)
      throw InputError(fmt::format("there is no bath for the {}: dynamics.ensemble is \"{}\", expected {}", key,
                                   names_of(dynamics.ensemble)[static_cast<std::size_t>(dynamics.ensemble)],
                                   is_heat ? "\"nvt\" or \"npt\"" : "\"npt\""));
    const auto differs = [&](const auto& one) { return !(one.temperature == config_.baths.front().temperature); };
    if (!is_heat) return dynamics.pressure;
    if (config_.baths.empty()) return dynamics.temperature;
    if (std::any_of(config_.baths.begin(), config_.baths.end(), differs))
      throw InputError("the [[bath]] have different temperatures, expected one temperature of all");
    return config_.baths.front().temperature;
  }

  /// Throws InputError where ranks have different settings, as they would wait for each other for ever.
  void check_same(const std::string& settings) const {
    auto first = settings;
    comm::broadcast_resized(comm_, first);
    const auto differs = first == settings ? "" : fmt::format("ranks 0 and {} have different settings", comm_.rank());
    comm::agree_on_input(comm_, differs);
  }

  void make_simulation() {
    balancer_.reset();
    simulation_.emplace(system_, config_, settings_, comm_, *threads_, kernels_);
    app::follow_map(settings_, comm_);
    if (config_.parallel.balance && comm_.size() > 1) simulation_->attach(balancer_.emplace(*simulation_));
    simulation_->attach(interruption_);
    simulation_->attach(*history_);
    for (const auto& hook : hooks_) simulation_->attach(*hook);
  }

  template <class Function>
  void advance(Function&& function) {
    if (is_half_way_)
      throw RunError(
          fmt::format("an external force failed in step {}, which is half done: restore a checkpoint, or set positions "
                      "and velocities",
                      simulation_->current_step()));
    function();
    history_->record(*simulation_);
  }

  /// Applies forces after some have been added or removed, or a state has been restored.
  void use_forces() {
    simulation_->set_external_forces(forces_);
    is_half_way_ = false;
    history_->record(*simulation_);
  }

  md::external::ExternalResult call_force(const ForceCall& call, const md::external::ExternalAtoms& atoms) {
    md::external::ExternalResult result;
    is_half_way_ = true;
    call_on_all(comm_, [&] {
      std::vector<double> positions;
      positions.reserve(3 * atoms.position.size());
      for (const auto& r : atoms.position) positions.insert(positions.end(), {r.x, r.y, r.z});
      const auto returned = call(array_of(std::vector(atoms.id.begin(), atoms.id.end()), {atoms.id.size()}),
                                 rows_of(std::move(positions)), rows_of(atoms.box), atoms.step);
      const auto force = nb::cast<Rows>(returned[0]);
      const auto energy = nb::cast<Parts>(returned[1]);
      const auto virial = nb::cast<SixParts>(returned[2]);
      for (const auto* f = force.data(); f != force.data() + force.size(); f += 3)
        result.force.push_back({f[0], f[1], f[2]});
      result.energy.assign(energy.data(), energy.data() + energy.size());
      result.virial.resize(virial.shape(0));
      for (std::size_t i = 0; i < result.virial.size(); ++i)
        std::copy_n(virial.data() + 6 * i, 6, result.virial[i].begin());
    });
    is_half_way_ = false;
    return result;
  }

  comm::Communicator comm_;
  std::string kernels_;  // the folder of those for GPUs
  app::RunConfig config_;
  model::System system_;
  Box box_of_system_;  // that of its file
  md::EngineSettings settings_;
  std::optional<ThreadPool> threads_;
  std::optional<app::Simulation> simulation_;
  std::optional<app::CellBalancer> balancer_;
  std::optional<app::CheckpointNumbers> continued_;  // from output.folder, at the step
  std::int64_t continued_step_ = 0;
  std::optional<History> history_;
  Raised raised_;
  Interruption interruption_{raised_};
  std::vector<std::unique_ptr<Hook>> hooks_;
  md::external::ExternalForces forces_;
  bool is_half_way_ = false;  // an external force has failed in a step
};

using Release = nb::call_guard<nb::gil_scoped_release>;

}  // namespace

void register_md(nb::module_& module) {
  limit_instruction_set();
  module.doc() = "Simulations on one MPI.";
  register_errors();
  module.def("library", &comm::Communicator::library_version, "The MPI library this module runs on.");
  module.def("list_selections", &list_selections, "settings"_a,
             "(key, text) of the selections of a run file that the engine does not understand alone.");
  module.def("run_file_keys", [] {
    std::vector<std::string> names;
    for (const auto& section : app::run_schema().sections)
      for (const auto& key : section.keys) names.push_back(key.name);
    return names;
  });
  nb::enum_<app::Quantity>(module, "Quantity")
      .value("position", app::Quantity::position)
      .value("velocity", app::Quantity::velocity)
      .value("force", app::Quantity::force)
      .value("bonded_force", app::Quantity::bonded_force)
      .value("direct_force", app::Quantity::direct_force)
      .value("mesh_force", app::Quantity::mesh_force);
  nb::class_<Session>(module, "Simulation")
      .def(nb::init<const std::string&, const Image&, const std::string&, std::optional<int>, int, std::string>(),
           "settings"_a, "image"_a, "selections"_a, "fortran_handle"_a.none(), "threads"_a, "kernels"_a, Release())
      .def("step", &Session::step, Release())
      .def("run", &Session::run, Release())
      .def("minimize", &Session::minimize, Release())
      .def("save", &Session::save, Release())
      .def("notes", &Session::notes)
      .def("restore", &Session::restore, Release())
      .def("agree", &Session::agree, Release())
      .def("state_hash", &Session::state_hash, Release())
      .def("place", &Session::place, "positions"_a.none(), "velocities"_a.none(), Release())
      .def("set_box", &Session::set_box, Release())
      .def("bath", &Session::bath)
      .def("set_bath", &Session::set_bath, Release())
      .def("add_hook", &Session::add_hook)
      .def("add_force", &Session::add_force, "function"_a, "ids"_a.none(), Release())
      .def("remove_force", &Session::remove_force, Release())
      .def("all",
           [](const Session& session, app::Quantity quantity) {
             std::vector<double> values;
             {
               const nb::gil_scoped_release others;
               values = session.all(quantity);
             }
             return rows_of(std::move(values));
           })
      .def("own",
           [](const Session& session, app::Quantity quantity) {
             std::vector<std::int64_t> ids;
             std::vector<double> values;
             for (const auto& [id, value] : session.own(quantity)) {
               ids.push_back(id);
               values.insert(values.end(), {value.x, value.y, value.z});
             }
             const std::size_t n = ids.size();
             return std::pair(array_of(std::move(ids), {n}), rows_of(std::move(values)));
           })
      .def("box", [](const Session& session) { return rows_of(session.simulation().engine().global().box); })
      .def("columns", [](const Session& session) { return History::columns(session.simulation()); })
      .def("history",
           [](const Session& session) {
             std::vector<double> values;
             for (const auto& row : session.history().rows()) values.insert(values.end(), row.begin(), row.end());
             const std::size_t n = session.history().rows().size();
             return array_of(std::move(values), {n, History::columns(session.simulation()).size()});
           })
      .def("energies",
           [](const Session& session) {
             History now(0);
             now.record(session.simulation());
             return now.rows().front();
           })
      .def_prop_ro("virial",
                   [](const Session& session) {
                     const auto& virial = session.simulation().energies().virial;
                     return std::vector<double>(virial.begin(), virial.end());
                   })
      .def_prop_ro("energies_step",
                   [](const Session& session) { return session.simulation().engine().energies_step(); })
      .def_prop_ro("current_step", [](const Session& session) { return session.simulation().current_step(); })
      .def_prop_ro("time", [](const Session& session) { return session.simulation().time(); })
      .def_prop_ro("n_atoms", [](const Session& session) { return session.system().n_atoms(); });
}
