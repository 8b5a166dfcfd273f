// Serial NetCDF write (SNCW) of Todorov et al.: the master writes through the NetCDF library, all others send to it in
// turn. The other methods write the same bytes without the library, so it is measured but not among those of a run.
#pragma once

#include "tessera/io/write/method.h"

namespace tessera::programs {

/// Whether this program was built with the NetCDF library.
bool has_netcdf();

/// The method sncw. Throws InputError where this program was built without the NetCDF library.
const io::write::Method& sncw();

}  // namespace tessera::programs
