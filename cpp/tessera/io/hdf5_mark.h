// Clears the mark "being written" in the superblock of an HDF5 file.
#pragma once

#include "tessera/base/files/descriptor.h"

namespace tessera::io {

/// Clears the mark of a file of superblock version 3, as `h5clear --status` does, while the file stays open for writing
/// elsewhere. A file without such a superblock is left alone. Throws RunError where the file can't be written.
void clear_open_mark(const Descriptor& file);

}  // namespace tessera::io
