// Numbers as people read them in messages and reports.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::app {

/// Writes a duration: "12 s", "1 min 20 s", "3 h 05 min", "2 d 4 h".
std::string duration_text(double seconds);

/// Returns the ns a day of so many ps in so many seconds; 0 where no time has passed.
double ns_per_day(double picoseconds, double seconds);

/// Writes 1234567 as "1,234,567".
std::string grouped(std::int64_t number);

/// Writes a number of bytes: "0.3 kB", "1.2 MB", "34.5 GB".
std::string size_text(std::int64_t bytes);

}  // namespace tessera::app
