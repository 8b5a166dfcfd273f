// The Python module tessera._ranks_<mpi>: the ranks that a launcher started, messages of bytes between all of them, and
// files that they write together.
#include "module.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "errors.h"
#include "tessera/base/error.h"
#include "tessera/comm/communicator.h"
#include "tessera/io/write/choose.h"
#include "tessera/io/write/frame_file.h"
#include "tessera/io/write/write.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tessera;

/// Returns a list of the bytes of every rank, in rank order.
nb::list all_gather(const comm::Communicator& world, const nb::bytes& data) {
  const std::span own(static_cast<const std::byte*>(data.data()), data.size());
  std::vector<std::vector<std::byte>> found;
  {
    const nb::gil_scoped_release release;
    found = world.all_gather(own);
  }
  nb::list all;
  for (const auto& one : found) all.append(nb::bytes(one.data(), one.size()));
  return all;
}

namespace write = io::write;
using Doubles = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Returns the method and its options, of which those that are given stand. The root reads the machine file where there
/// is one.
write::Choice chosen(const comm::Communicator& world, const std::string& method, const std::string& order_name,
                     int writers, std::int64_t batch, const std::string& machine, const std::string& path,
                     const write::WriteProblem& problem, const write::Format& format) {
  const auto order = order_name == "owned" ? write::Order::owned : write::Order::sorted;
  auto choice = write::agree_on_choice(world, [&] {
    const auto system = write::file_system_of(machine, std::filesystem::weakly_canonical(path).string());
    auto found = write::choose(write::methods(), problem, format, order, system ? &*system : nullptr);
    if (method != "auto") found.method = &write::method(method);
    return found;
  });
  choice.options.order = order;
  if (writers > 0) choice.options.writers = writers;
  if (batch > 0) choice.options.batch = batch;
  return choice;
}

/// Sets the cell of a frame (3,3) Å, or zeros for none.
void set_cell(write::Frame& frame, const std::array<double, 9>& cell) {
  frame.cell = cell;
  frame.periodicity = io::text::periodicity_of(cell);
}

/// Writes a configuration of which this rank has the atoms from number `first` on. Returns the name of the method.
std::string write_configuration(const comm::Communicator& world, const std::string& path,
                                const std::string& format_name, const std::string& method, const std::string& order,
                                int writers, std::int64_t batch, const std::string& machine, const std::string& title,
                                const std::array<double, 9>& cell, std::int64_t step, double timestep, double time,
                                const std::vector<std::string>& names, const Integers& species, std::int64_t first,
                                const Doubles& positions, const Doubles& velocities) {
  const auto n = species.shape(0);
  const bool has_velocities = velocities.shape(0) > 0;
  if (positions.shape(0) != n || positions.shape(1) != 3 || (has_velocities && velocities.shape(0) != n) ||
      velocities.shape(1) != 3)
    throw nb::value_error("the arrays of atoms have different shapes");
  const nb::gil_scoped_release release;
  write::Frame frame;
  frame.title = title;
  set_cell(frame, cell);
  frame.moment = {step, timestep, time};
  for (const auto& name : names) frame.species.push_back({io::text::name_of(name), 0, 0});
  write::AtomRows atoms(has_velocities ? 1 : 0, n);
  for (std::size_t i = 0; i < n; ++i) {
    atoms[i].id = first + static_cast<std::int64_t>(i);
    atoms[i].species = species.data()[i];
    std::copy_n(positions.data() + 3 * i, 3, atoms[i].position.begin());
    if (has_velocities) std::copy_n(velocities.data() + 3 * i, 3, atoms.values(i, 1));
  }
  const auto& format = write::format(format_name);
  const auto problem = write::problem_of(world, frame, static_cast<std::int64_t>(n), format);
  const auto choice = chosen(world, method, order, writers, batch, machine, path, problem, format);
  write::write_frame(world, path, frame, atoms, format, *choice.method, choice.options);
  return choice.method->name;
}

/// Frames of which each rank has the atoms from number `first` on, one after the other in one file.
class Frames {
 public:
  Frames(const comm::Communicator& world, const std::string& path, const std::string& format_name,
         const std::string& method, const std::string& order, int writers, std::int64_t batch,
         const std::string& machine, const std::string& title, const std::array<double, 9>& cell, double timestep,
         const std::vector<std::string>& names, const std::vector<double>& masses, const std::vector<double>& charges,
         const Integers& species, std::int64_t first) {
    const auto n = species.shape(0);
    if (masses.size() != names.size() || charges.size() != names.size())
      throw nb::value_error("the kinds of atoms have different lengths");
    const nb::gil_scoped_release release;
    for (std::size_t i = 0; i < names.size(); ++i)
      frame_.species.push_back({io::text::name_of(names[i]), masses[i], charges[i]});
    frame_.title = title;
    set_cell(frame_, cell);
    frame_.moment.timestep = timestep;
    const auto& format = write::format(format_name);
    atoms_ = write::AtomRows(format.level, n);
    for (std::size_t i = 0; i < n; ++i) atoms_[i] = {first + static_cast<std::int64_t>(i), species.data()[i], {}};
    const auto problem = write::problem_of(world, frame_, static_cast<std::int64_t>(n), format);
    const auto choice = chosen(world, method, order, writers, batch, machine, path, problem, format);
    file_.emplace(world, path, frame_, static_cast<std::int64_t>(n), format, *choice.method, choice.options,
                  std::nullopt);
  }

  /// Adds a frame. `values`: positions, velocities and forces (levels,n,3) as far as the format holds them.
  void append(std::int64_t step, double time, const std::array<double, 9>& cell, const Values& values) {
    const auto n = atoms_.size();
    if (static_cast<int>(values.shape(0)) != atoms_.level() + 1 || values.shape(1) != n || values.shape(2) != 3)
      throw nb::value_error("the arrays of a frame have another shape");
    const nb::gil_scoped_release release;
    frame_.moment.step = step;
    frame_.moment.time = time;
    set_cell(frame_, cell);
    for (int k = 0; k <= atoms_.level(); ++k)
      for (std::size_t i = 0; i < n; ++i)
        std::copy_n(values.data() + 3 * (static_cast<std::size_t>(k) * n + i), 3, atoms_.values(i, k));
    file_->append(frame_, atoms_);
  }

  void synchronize() const {
    const nb::gil_scoped_release release;
    file_->synchronize();
  }

 private:
  write::Frame frame_;
  write::AtomRows atoms_{0};
  std::optional<write::FrameFile> file_;
};

}  // namespace

void register_ranks(nb::module_& module) {
  module.doc() = "The ranks that a launcher of one MPI started.";
  register_errors();
  module.def("library", &comm::Communicator::library_version, "The MPI library this module runs on.");
  nb::class_<comm::Communicator>(module, "World", "All ranks. MPI starts with the first.")
      .def("__init__", [](comm::Communicator* place) { new (place) comm::Communicator(comm::Communicator::world()); })
      .def_prop_ro("rank", &comm::Communicator::rank)
      .def_prop_ro("size", &comm::Communicator::size)
      .def("all_gather", &all_gather, "data"_a, "Returns the bytes of every rank, in rank order. Collective.")
      .def("write", &write_configuration, "path"_a, nb::kw_only(), "format"_a, "method"_a, "order"_a, "writers"_a,
           "batch"_a, "machine"_a, "title"_a, "cell"_a, "step"_a, "timestep"_a, "time"_a, "names"_a, "species"_a,
           "first"_a, "positions"_a, "velocities"_a,
           "Writes a file of atoms of these kinds, of which this rank has those from number `first` on: (n,3) Å and "
           "Å/ps, or (0,3) without velocities. Returns the method. Collective. Raises InputError and RuntimeError.");
  nb::class_<Frames>(module, "Frames", "Frames that ranks append to one file. Collective. Raises as World.write.")
      .def(nb::init<const comm::Communicator&, const std::string&, const std::string&, const std::string&,
                    const std::string&, int, std::int64_t, const std::string&, const std::string&,
                    const std::array<double, 9>&, double, const std::vector<std::string>&, const std::vector<double>&,
                    const std::vector<double>&, const Integers&, std::int64_t>(),
           "world"_a, "path"_a, nb::kw_only(), "format"_a, "method"_a, "order"_a, "writers"_a, "batch"_a, "machine"_a,
           "title"_a, "cell"_a, "timestep"_a, "names"_a, "masses"_a, "charges"_a, "species"_a, "first"_a,
           nb::keep_alive<1, 2>())
      .def("append", &Frames::append, "step"_a, "time"_a, "cell"_a, "values"_a,
           "Appends a frame of (levels,n,3) positions, velocities and forces of this rank's atoms.")
      .def("synchronize", &Frames::synchronize);
  module.def("finalize", &comm::Communicator::finalize, "Ends MPI. Collective.");
}
