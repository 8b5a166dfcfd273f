// The Python module tessera._ranks_<mpi>: the ranks that a launcher started, and messages of bytes between all of them.
#include "module.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <span>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/comm/communicator.h"

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

}  // namespace

void register_ranks(nb::module_& module) {
  module.doc() = "The ranks that a launcher of one MPI started.";
  const nb::exception<InputError> input_error(module, "InputError");
  module.def("library", &comm::Communicator::library_version, "The MPI library this module runs on.");
  nb::class_<comm::Communicator>(module, "World", "All ranks. MPI starts with the first.")
      .def("__init__", [](comm::Communicator* place) { new (place) comm::Communicator(comm::Communicator::world()); })
      .def_prop_ro("rank", &comm::Communicator::rank)
      .def_prop_ro("size", &comm::Communicator::size)
      .def("all_gather", &all_gather, "data"_a, "Returns the bytes of every rank, in rank order. Collective.");
  module.def("finalize", &comm::Communicator::finalize, "Ends MPI. Collective.");
}
