// Poisson's equation in the Python module tessera._grid_<mpi>.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "grid.h"
#include "tessera/grid/poisson/poisson.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::bindings {

namespace {

/// The caller keeps the grid.
class Poisson {
 public:
  Poisson(const Grid& grid, const std::array<double, 3>& steps, const std::string& method, int order, double tolerance,
          int max_iterations, bool has_images)
      : solver_({grid.distributed().layout, steps, grid.comm(), grid.threads()},
                {method, order, tolerance, max_iterations, has_images}) {}

  std::pair<int, double> solve(const nb::ndarray<const double, nb::c_contig, nb::device::cpu>& density,
                               const nb::ndarray<double, nb::c_contig, nb::device::cpu>& potential, bool has_guess) {
    const nb::gil_scoped_release others;
    const auto result = solver_.solve(std::span(density.data(), density.size()),
                                      std::span(potential.data(), potential.size()), has_guess);
    return {result.iterations, result.residual};
  }

 private:
  grid::PoissonSolver solver_;
};

}  // namespace

void register_poisson(nb::module_& module) {
  module.def("poisson_methods", [] {
    std::vector<std::string> names;
    for (const auto& entry : grid::poisson_methods()) names.emplace_back(entry.name);
    return names;
  });
  nb::class_<Poisson>(module, "Poisson")
      .def(nb::init<const Grid&, const std::array<double, 3>&, const std::string&, int, double, int, bool>(), "grid"_a,
           nb::kw_only(), "steps"_a, "method"_a, "order"_a, "tolerance"_a, "max_iterations"_a, "has_images"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def("solve", &Poisson::solve);
}

}  // namespace tessera::bindings
