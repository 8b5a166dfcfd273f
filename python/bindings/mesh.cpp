#include "core.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/box.h"
#include "tessera/md/pme/kernel.h"

namespace nb = nanobind;
using namespace nb::literals;
namespace pme = tessera::md::pme;

void register_mesh(nb::module_& module) {
  using Mesh = nb::ndarray<std::int64_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
  using Fractions = nb::ndarray<const std::int32_t, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;
  using Charges = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  module.attr("charge_scale") = pme::charge_scale<double>;
  module.def(
      "spread",
      [](const Mesh& mesh, const std::array<std::int64_t, 3>& grid, const std::array<std::int64_t, 3>& lower, int order,
         const Fractions& fractions, const Charges& charges) {
        if (order != 4 && order != 6 && order != 8) throw nb::value_error("order must be 4, 6 or 8");
        if (fractions.shape(0) != charges.shape(0)) throw nb::value_error("as many charges as fractions are needed");
        const nb::gil_scoped_release release;
        const std::array extent{static_cast<std::int64_t>(mesh.shape(0)), static_cast<std::int64_t>(mesh.shape(1)),
                                static_cast<std::int64_t>(mesh.shape(2))};
        const pme::SpreadTarget<double> target{pme::MeshWindow(grid, lower, extent, extent[2], order), mesh.data(), 0,
                                               extent[0]};
        const auto* fraction = reinterpret_cast<const tessera::Fraction*>(fractions.data());
        std::vector<std::int32_t> atoms;
        pme::select_atoms<double>(target.window, order, 0, extent[0], {fraction, fractions.shape(0)},
                                  {charges.data(), charges.size()}, atoms);
        pme::spread_reference(target, order, atoms, fraction, charges.data());
      },
      "mesh"_a.noconvert(), "grid"_a, "lower"_a, "order"_a, "fractions"_a, "charges"_a,
      "Adds charges (n,) e at fractions (n,3) in units of 2⁻³² of the box, from −½ on, to part of a mesh that begins at "
      "`lower`, as whole numbers of 1/charge_scale e. Splines that do not fit into it are left out.");
}
