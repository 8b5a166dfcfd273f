// Reads times between hosts from a table in CSV.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tessera/machine/partition.h"

namespace tessera::machine {

struct RttTable {
  std::vector<std::string> hosts;
  TimeMatrix times;  // in the unit of the file
};

/// Reads a square matrix with host names in the first row and the first column, in the same order. An empty field or
/// nan is unknown, the diagonal is ignored, and fields may be quoted. Throws InputError that names file, line and
/// column.
RttTable read_rtt_csv(const std::filesystem::path& path);
RttTable rtt_table_from_text(const std::string& text, const std::string& name);

}  // namespace tessera::machine
