// The fields of fields.h by printf: what they are compared with, and what the serial writes of the past did.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::io::text {

std::string f20_10_by_printf(double value);
std::string g20_10_by_printf(double value);
std::string f12_6_by_printf(double value);
std::string i10_by_printf(std::int64_t value);

/// Writes three numbers as 3g20.10 by one printf where that can do it: 60 characters and a null.
void write_three_by_printf(const double* values, char* out);

}  // namespace tessera::io::text
