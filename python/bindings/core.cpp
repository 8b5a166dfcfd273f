// The Python module tessera._core: what Python and the engine must agree on to the bit.
#include "core.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>

#include <array>
#include <cstdint>
#include <string>

#include "tessera/base/random.h"
#include "tessera/base/simd/instruction_set.h"
#include "tessera/comm/communicator.h"

namespace nb = nanobind;
using namespace nb::literals;

NB_MODULE(_core, module) {
  tessera::limit_instruction_set();
  module.doc() = "The compiled part of Tessera.";
  module.def(
      "version", [] { return std::string(TESSERA_VERSION); }, "Version of the compiled part.");
  module.def(
      "simd_target", [] { return tessera::instruction_set(); },
      "Best instruction set of this processor; results are bitwise the same within one.");
  module.def("comm_library", [] { return tessera::comm::Communicator::library_version(); });
  module.def(
      "random_normals",
      [](std::uint64_t seed, std::uint32_t stream, std::uint64_t id, std::uint64_t step) {
        return tessera::random_normals(seed, static_cast<tessera::RandomStream>(stream), id, step);
      },
      "seed"_a, nb::kw_only(), "stream"_a, "id"_a, "step"_a,
      "Four standard normal deviates: a pure function of its arguments, the same as in the engine.");
  register_machine(module);
  register_fiber(module);
  register_fft_plans(module);
  register_grid_plans(module);
  register_md_plans(module);
  register_mesh(module);
  register_packing(module);
  register_history(module);
  register_config(module);
}
