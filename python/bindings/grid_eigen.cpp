// The parts of the eigensolver of the Python module tessera._grid_<mpi>: what python/tessera/grid/eigen.py calls.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/complex.h>

#include <array>
#include <complex>
#include <span>

#include "grid.h"
#include "tessera/grid/eigen/hamiltonian.h"
#include "tessera/grid/eigen/preconditioner.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::bindings {

namespace {

/// Arrays of doubles; Python shows complex numbers as two.
using Numbers = nb::ndarray<double, nb::c_contig, nb::device::cpu>;
using GivenNumbers = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

template <class Array>
auto span_of(const Array& array) {
  return std::span(array.data(), array.size());
}

/// The caller keeps the grid.
class Waves {
 public:
  Waves(const Grid& grid, const std::array<std::array<double, 3>, 3>& steps, int order, bool is_complex,
        const std::array<std::complex<double>, 3>& phases, const GivenNumbers& potential)
      : grid_{grid.distributed().layout, vectors(steps), is_complex, phases, grid.comm(), grid.threads()},
        hamiltonian_(grid_, order, span_of(potential)),
        preconditioner_(grid_) {}

  void apply(const GivenNumbers& from, const Numbers& to) {
    const nb::gil_scoped_release others;
    hamiltonian_.apply(span_of(from), span_of(to), static_cast<std::int64_t>(from.shape(0)));
  }
  void find_residuals(const GivenNumbers& from, const GivenNumbers& eigenvalues, const Numbers& to,
                      const Numbers& sums) {
    const nb::gil_scoped_release others;
    hamiltonian_.find_residuals(span_of(from), span_of(eigenvalues), span_of(to),
                                std::span(reinterpret_cast<std::array<double, 2>*>(sums.data()), sums.size() / 2));
  }
  void fill_with_noise(const Numbers& fields, std::int64_t first) const {
    const nb::gil_scoped_release others;
    hamiltonian_.fill_with_noise(span_of(fields), first);
  }
  void prepare_preconditioner(double level, double shift) {
    const nb::gil_scoped_release others;
    preconditioner_.set_potential(hamiltonian_.potential(), level, shift);
  }
  void precondition(const Numbers& fields) {
    const nb::gil_scoped_release others;
    preconditioner_.apply(span_of(fields), static_cast<std::int64_t>(fields.shape(0)));
  }
  void sum(const Numbers& values) const {
    const nb::gil_scoped_release others;
    grid_.comm.all_reduce_rounded_sum(span_of(values));
  }
  double greatest(double value) const {
    const nb::gil_scoped_release others;
    grid_.comm.all_reduce_max(std::span(&value, 1));
    return value;
  }
  void broadcast(const Numbers& values) const {
    const nb::gil_scoped_release others;
    grid_.comm.broadcast(std::as_writable_bytes(span_of(values)), 0);
  }
  bool is_root() const { return grid_.comm.is_root(); }

 private:
  static std::array<Vec3, 3> vectors(const std::array<std::array<double, 3>, 3>& steps) {
    std::array<Vec3, 3> found;
    for (std::size_t d = 0; d < 3; ++d) found[d] = {steps[d][0], steps[d][1], steps[d][2]};
    return found;
  }

  grid::WaveGrid grid_;
  grid::Hamiltonian hamiltonian_;
  grid::WavePreconditioner preconditioner_;
};

}  // namespace

void register_eigen(nb::module_& module) {
  nb::class_<Waves>(module, "Waves")
      .def(nb::init<const Grid&, const std::array<std::array<double, 3>, 3>&, int, bool,
                    const std::array<std::complex<double>, 3>&, const GivenNumbers&>(),
           "grid"_a, nb::kw_only(), "steps"_a, "order"_a, "is_complex"_a, "phases"_a, "potential"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def("apply", &Waves::apply)
      .def("find_residuals", &Waves::find_residuals)
      .def("fill_with_noise", &Waves::fill_with_noise)
      .def("prepare_preconditioner", &Waves::prepare_preconditioner)
      .def("precondition", &Waves::precondition)
      .def("sum", &Waves::sum)
      .def("greatest", &Waves::greatest)
      .def("broadcast", &Waves::broadcast)
      .def_prop_ro("is_root", &Waves::is_root);
}

}  // namespace tessera::bindings
