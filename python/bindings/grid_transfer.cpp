// Transfers between two grids of the Python module tessera._grid_<mpi>.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/complex.h>

#include <complex>
#include <cstdint>
#include <span>

#include "grid.h"
#include "tessera/grid/levels/transfer.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::bindings {

namespace {

/// The caller keeps both grids, which are on one group of ranks.
template <class Real>
class Transfer {
 public:
  Transfer(const Grid& from, const Grid& to, bool halves, int order, bool is_complex, const grid::Phases& phases)
      : transfer_(halves ? grid::TransferKind::restriction : grid::TransferKind::interpolation, order,
                  from.distributed().layout, to.distributed().layout, is_complex, from.comm(), from.threads()),
        phases_(phases) {}

  template <class Value>
  void apply(const nb::ndarray<const Value, nb::c_contig, nb::device::cpu>& from,
             const nb::ndarray<Value, nb::c_contig, nb::device::cpu>& to, std::int64_t fields) {
    const nb::gil_scoped_release others;
    constexpr auto components = sizeof(Value) / sizeof(Real);
    transfer_.apply(std::span(reinterpret_cast<const Real*>(from.data()), from.size() * components),
                    std::span(reinterpret_cast<Real*>(to.data()), to.size() * components), fields, phases_);
  }

 private:
  grid::Transfer<Real> transfer_;
  grid::Phases phases_;
};

template <class Real>
void register_for(nb::module_& module, const char* name) {
  using T = Transfer<Real>;
  nb::class_<T>(module, name)
      .def(nb::init<const Grid&, const Grid&, bool, int, bool, const grid::Phases&>(), "from"_a, "to"_a, nb::kw_only(),
           "halves"_a, "order"_a, "is_complex"_a, "phases"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("apply_real", &T::template apply<Real>)
      .def("apply_complex", &T::template apply<std::complex<Real>>);
}

}  // namespace

void register_transfer(nb::module_& module) {
  register_for<float>(module, "TransferFloat");
  register_for<double>(module, "TransferDouble");
}

}  // namespace tessera::bindings
