// The Python module tessera._grid_<mpi>: stencils on distributed NumPy arrays, linked once for each MPI.
#include "module.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "errors.h"
#include "grid.h"
#include "tessera/base/simd/instruction_set.h"
#include "tessera/comm/communicator.h"
#include "tessera/grid/choice/agree.h"
#include "tessera/grid/choice/rates.h"
#include "tessera/grid/operator.h"
#include "tessera/grid/stencil.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tessera;
using namespace tessera::bindings;
using Steps = std::array<std::array<double, 3>, 3>;
using Terms = std::pair<std::vector<Index3>, std::vector<double>>;

std::array<Vec3, 3> vectors(const Steps& steps) {
  std::array<Vec3, 3> found;
  for (std::size_t d = 0; d < 3; ++d) found[d] = {steps[d][0], steps[d][1], steps[d][2]};
  return found;
}

/// Returns the options, of which an empty approach, a batch of 0 and a slope below 0 are chosen by the map of the
/// machine and by its cores.
template <class Real>
grid::OperatorOptions options_of(const Grid& grid, const grid::Stencil& stencil, const std::string& approach,
                                 std::int64_t batch, int slope, bool is_complex,
                                 const std::array<std::complex<double>, 3>& phases, bool shares_memory) {
  grid::OperatorWish wish;
  wish.approach = approach;
  if (batch > 0) wish.given.batch = batch;
  if (slope >= 0) wish.given.slope = slope;
  const auto& [layout, wires] = grid.distributed();
  const auto choice = grid::choose_for_operator<Real>(stencil, is_complex ? 2 : 1, layout, wires.get(), wish,
                                                      grid.comm(), grid.threads());
  return {choice.approach, choice.batch, choice.slope, is_complex, phases, shares_memory};
}

std::array<double, 4> rates_of(const Grid& grid, const Terms& terms, bool is_float, bool is_complex) {
  const grid::Stencil stencil{terms.first, terms.second};
  const auto& layout = grid.distributed().layout;
  const int components = is_complex ? 2 : 1;
  const auto rates = is_float ? grid::agree_on_rates<float>(stencil, components, layout, grid.comm(), grid.threads())
                              : grid::agree_on_rates<double>(stencil, components, layout, grid.comm(), grid.threads());
  return {rates.point, rates.packing, rates.synchronising, rates.overlap};
}

/// The caller keeps the grid.
template <class Real>
class Operator {
 public:
  Operator(const Grid& grid, const Terms& terms, const std::string& approach, std::int64_t batch, int slope,
           bool is_complex, const std::array<std::complex<double>, 3>& phases, bool shares_memory)
      : stencil_{terms.first, terms.second},
        options_(options_of<Real>(grid, stencil_, approach, batch, slope, is_complex, phases, shares_memory)),
        operator_(stencil_, grid.distributed().layout, options_, grid.comm(), grid.threads()) {}

  template <class Value>
  void apply(const nb::ndarray<const Value, nb::c_contig, nb::device::cpu>& from,
             const nb::ndarray<Value, nb::c_contig, nb::device::cpu>& to, std::int64_t fields) {
    const nb::gil_scoped_release others;
    const auto n = from.size() * sizeof(Value) / sizeof(Real);
    operator_.apply(std::span(reinterpret_cast<const Real*>(from.data()), n),
                    std::span(reinterpret_cast<Real*>(to.data()), n), fields);
  }
  template <class Value>
  void apply_apart(const nb::ndarray<const Value, nb::c_contig, nb::device::cpu>& from,
                   const nb::ndarray<Value, nb::c_contig, nb::device::cpu>& to, std::int64_t fields) {
    const nb::gil_scoped_release others;
    const auto n_of = [](const auto& array) { return array.size() * sizeof(Value) / sizeof(Real); };
    operator_.apply_apart(std::span(reinterpret_cast<const Real*>(from.data()), n_of(from)),
                          std::span(reinterpret_cast<Real*>(to.data()), n_of(to)), fields);
  }
  bool sends_messages() const { return operator_.sends_messages(); }
  const std::string& approach() const { return options_.approach; }
  std::int64_t batch() const { return options_.batch; }
  int slope() const { return options_.slope; }
  void set_phases(const std::array<std::complex<double>, 3>& phases) { operator_.set_phases(phases); }
  std::array<double, grid::n_grid_phases> seconds() const { return operator_.seconds(); }

 private:
  grid::Stencil stencil_;
  grid::OperatorOptions options_;
  grid::StencilOperator<Real> operator_;
};

template <class Real>
void register_operator(nb::module_& module, const char* name) {
  using O = Operator<Real>;
  nb::class_<O>(module, name)
      .def(nb::init<const Grid&, const Terms&, const std::string&, std::int64_t, int, bool,
                    const std::array<std::complex<double>, 3>&, bool>(),
           "grid"_a, "terms"_a, nb::kw_only(), "approach"_a, "batch"_a, "slope"_a, "is_complex"_a, "phases"_a,
           "shares_memory"_a, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("approach", &O::approach)
      .def_prop_ro("batch", &O::batch)
      .def_prop_ro("slope", &O::slope)
      .def("set_phases", &O::set_phases)
      .def_prop_ro("seconds", &O::seconds)
      .def_prop_ro("sends_messages", &O::sends_messages)
      .def("apart_real", &O::template apply_apart<Real>)
      .def("apart_complex", &O::template apply_apart<std::complex<Real>>)
      .def("apply_real", &O::template apply<Real>)
      .def("apply_complex", &O::template apply<std::complex<Real>>);
}

}  // namespace

void register_grid(nb::module_& module) {
  limit_instruction_set();
  module.doc() = "Stencils on distributed grids on one MPI.";
  register_errors();
  module.def("library", &comm::Communicator::library_version, "The MPI library this module runs on.");
  module.def("approaches", [] {
    std::vector<std::string> names;
    for (const auto& entry : grid::approaches()) names.emplace_back(entry.name);
    return names;
  });
  module.def("laplacian", [](int order, const Steps& steps) {
    const auto stencil = grid::laplacian(order, vectors(steps));
    return Terms{stencil.offsets, stencil.coefficients};
  });
  module.def("gradient", [](int order, int axis, const Steps& steps) {
    const auto stencil = grid::gradient(order, axis, vectors(steps));
    return Terms{stencil.offsets, stencil.coefficients};
  });
  nb::class_<Grid>(module, "Grid")
      .def(nb::init<const Index3&, const std::array<bool, 3>&, const std::optional<Index3>&, const std::string&,
                    std::optional<int>, int>(),
           "shape"_a, nb::kw_only(), "is_periodic"_a, "processes"_a.none(), "machine_file"_a, "fortran_handle"_a.none(),
           "threads"_a, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("processes", &Grid::processes)
      .def_prop_ro("bounds", &Grid::bounds)
      .def("agree", &Grid::agree)
      .def("rates", &rates_of, "terms"_a, "is_float"_a, "is_complex"_a, nb::call_guard<nb::gil_scoped_release>(),
           "The rates of cores for a stencil (choice/rates.h): point, packing, synchronising, overlap. Collective.");
  register_operator<float>(module, "OperatorFloat");
  register_operator<double>(module, "OperatorDouble");
  register_poisson(module);
  register_eigen(module);
  register_transfer(module);
}
