// Writes arrays of doubles as NumPy files, version 1.0.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera::io {

/// Writes a C-ordered float64 array of this shape; the file appears whole or not at all. Throws RunError.
void write_npy(const std::string& path, std::span<const double> values, const std::vector<std::int64_t>& shape);

}  // namespace tessera::io
