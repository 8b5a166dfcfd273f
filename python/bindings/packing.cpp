#include "packing.h"

#include <nanobind/ndarray.h>

#include <cstddef>
#include <span>

#include "tessera/io/segments/packing.h"

namespace nb = nanobind;
using namespace nb::literals;
namespace segments = tessera::io::segments;

void register_packing(nb::module_& module) {
  using Values = nb::ndarray<const float, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;
  using Out = nb::ndarray<float, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;
  module.def(
      "pack",
      [](const Values& values, double unit) {
        const auto bytes = [&] {
          const nb::gil_scoped_release release;
          return segments::pack({values.data(), values.size()}, unit);
        }();
        return nb::bytes(bytes.data(), bytes.size());
      },
      "values"_a, "unit"_a,
      "The bytes of (n,3) numbers, rounded to multiples of a unit. Raises ValueError where a number is not finite or "
      "has "
      "no place among integers of 4 bytes.");
  module.def(
      "unpack",
      [](const nb::bytes& bytes, double unit, const Out& out) {
        const nb::gil_scoped_release release;
        segments::unpack({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, unit,
                         {out.data(), out.size()});
      },
      "data"_a, "unit"_a, "out"_a.noconvert(),
      "Puts the numbers of these bytes into `out` (n,3). Raises ValueError where they are not of n rows.");
}
