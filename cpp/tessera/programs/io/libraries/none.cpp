#include "tessera/programs/io/library_methods.h"

namespace tessera::programs {

std::span<const io::write::Method* const> library_methods() { return {}; }

}  // namespace tessera::programs
