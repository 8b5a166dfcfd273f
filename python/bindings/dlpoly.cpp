#include "core.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "tessera/io/text/config.h"
#include "tessera/io/text/history.h"

namespace nb = nanobind;
using namespace nb::literals;
using tessera::io::text::Config;
using tessera::io::text::History;

void register_history(nb::module_& module) {
  using Out = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
  nb::class_<History>(module, "History", "Frames of DL_POLY's HISTORY. Raises InputError.")
      .def(nb::init<const std::string&>(), "path"_a, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("title", &History::title)
      .def_prop_ro("level", &History::level)
      .def_prop_ro("n_atoms", &History::n_atoms)
      .def_prop_ro("bytes", &History::bytes)
      .def_prop_ro("is_cut", &History::is_cut)
      .def_prop_ro(
          "frames",
          [](const History& history) {
            nb::list frames;
            for (const auto& frame : history.frames()) {
              nb::list cell;
              for (const double number : frame.cell) cell.append(number);
              frames.append(
                  nb::make_tuple(frame.moment.step, frame.moment.timestep, frame.moment.time, frame.periodicity, cell));
            }
            return frames;
          },
          "Step, time step and time in ps, imcon and the nine numbers of the cell in Å of each frame.")
      .def(
          "atoms",
          [](const History& history) {
            const auto atoms = history.atoms();
            return nb::make_tuple(atoms.names, atoms.masses, atoms.charges);
          },
          "Names, masses in amu and charges in e.")
      .def(
          "read",
          [](const History& history, std::int64_t frame, const Out& out) {
            if (out.shape(0) != static_cast<std::size_t>(history.n_atoms()) ||
                out.shape(1) != static_cast<std::size_t>(history.level()) + 1 || out.shape(2) != 3)
              throw nb::value_error("out has another shape");
            const nb::gil_scoped_release release;
            history.read(frame, out.data());
          },
          "frame"_a, "out"_a.noconvert(), "Puts a frame into `out` (n, level + 1, 3), Å, Å/ps, amu Å/ps².");
}

namespace {

/// Makes arrays in the memory of the configuration, which goes with the last of them.
nb::tuple in_python(Config&& found) {
  auto kept = std::make_unique<Config>(std::move(found));
  Config& config = *kept;
  const nb::capsule owner(kept.release(), [](void* pointer) noexcept { delete static_cast<Config*>(pointer); });
  const auto n = config.ids.size(), n_values = static_cast<std::size_t>(config.level) + 1;
  nb::list cell;
  for (const double number : config.cell) cell.append(number);
  return nb::make_tuple(
      config.level, config.periodicity, cell,
      nb::ndarray<nb::numpy, std::uint8_t>(reinterpret_cast<std::uint8_t*>(config.names.data()), {n, 8}, owner),
      nb::ndarray<nb::numpy, std::int64_t>(config.ids.data(), {n}, owner),
      nb::ndarray<nb::numpy, double>(config.values.data(), {n, n_values, 3}, owner));
}

}  // namespace

void register_config(nb::module_& module) {
  module.def(
      "read_config",
      [](const std::string& path) {
        Config config;
        {
          const nb::gil_scoped_release release;
          config = tessera::io::text::read_config(path);
        }
        return in_python(std::move(config));
      },
      "path"_a,
      "levcfg, imcon, the nine numbers of the cell in Å, names (n,8) with blanks, numbers (n) and values (n, levcfg + "
      "1, 3) of DL_POLY's CONFIG, in the order of the file. Raises InputError.");
  module.def(
      "config_of",
      [](const nb::bytes& text, const std::string& name) {
        return in_python(tessera::io::text::config_from_text({text.c_str(), text.size()}, name));
      },
      "text"_a, "name"_a, "The same of a text; `name` stands for its file.");
}
