// How fast one core makes text: the formatter of all methods, and printf.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tessera::programs {

/// Writes records of so many atoms to a file again and again, without waiting for a disk. Returns bytes, and
/// seconds and processor_seconds (which other programs on the machine affect less) of each repeat of: ours (the
/// formatter with a buffer), to_chars (std::to_chars with the same buffer), printf (printf, a write for each record).
/// Throws RunError.
nlohmann::json time_formatter(const std::string& path, std::int64_t n_atoms, int repeats);

}  // namespace tessera::programs
