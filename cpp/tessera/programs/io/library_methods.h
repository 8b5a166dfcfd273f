// Write methods by libraries of files, which some programs have beside those of the registry. Each program is linked
// with one file of the folder libraries: NetCDF, PnetCDF and HDF5 that is built for MPI live in programs of their own,
// as two builds of HDF5 can't be in one.
#pragma once

#include <span>

#include "tessera/io/write/method.h"

namespace tessera::programs {

/// Returns the methods of this program, which may have none.
std::span<const io::write::Method* const> library_methods();

}  // namespace tessera::programs
