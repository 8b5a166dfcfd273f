#include "core.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <cstddef>
#include <optional>
#include <span>

#include "tessera/base/error.h"
#include "tessera/io/segments/packing.h"
#include "tessera/io/xtc.h"

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
      "has no place among integers of 4 bytes.");
  module.def(
      "unpack",
      [](const nb::bytes& bytes, double unit, const Out& out) {
        const nb::gil_scoped_release release;
        segments::unpack({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, unit,
                         {out.data(), out.size()});
      },
      "data"_a, "unit"_a, "out"_a.noconvert(),
      "Puts the numbers of these bytes into `out` (n,3). Raises ValueError where they are not of n rows.");
  using BoxValues = nb::ndarray<const double, nb::shape<3, 3>, nb::c_contig, nb::device::cpu>;
  module.def(
      "encode_xtc",
      [](std::int64_t step, double time, const std::optional<BoxValues>& box, const Values& positions) {
        const auto edge = [&](int i) {
          return box ? tessera::Vec3{(*box)(i, 0), (*box)(i, 1), (*box)(i, 2)} : tessera::Vec3{};
        };
        const auto bytes = [&] {
          const nb::gil_scoped_release release;
          try {
            return tessera::io::encode_xtc("a frame", step, time, {edge(0), edge(1), edge(2)},
                                           {positions.data(), positions.size()});
          } catch (const tessera::RunError& error) {
            throw nb::value_error(error.what());
          }
        }();
        return nb::bytes(bytes.data(), bytes.size());
      },
      "step"_a, "time"_a, "box"_a.none(), "positions"_a,
      "The bytes of a frame of an XTC file: time in ps, box (3,3) and positions (n,3) in Å. Raises ValueError where a "
      "position is too large for the format.");
}
