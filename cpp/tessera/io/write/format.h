// How a configuration becomes bytes: a header, and for each atom a record of a fixed size, so that the place of every
// atom in a file follows from its number. All write methods share these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/io/write/frame.h"
#include "tessera/io/write/netcdf.h"

namespace tessera::io::write {

struct Format {
  const char* name;
  const char* about;
  std::int64_t atom_bytes;
  bool has_numbers;  // of atoms; without them only sorted atoms can be told apart
  std::string (*header)(const Frame& frame, std::int64_t n_atoms);
  /// Writes the records of atoms, atom_bytes each.
  void (*encode)(const Frame& frame, std::span<const Atom> atoms, char* out);
};

/// text (CONFIG), history (HISTORY with one frame), binary, xdr, netcdf (AMBER convention), netcdf-double.
std::span<const Format> formats();
/// Finds a format by its name. Throws InputError, which names the nearest known one, where there is none.
const Format& format(const std::string& name);

/// The type of coordinates in the formats netcdf and netcdf-double; none of the others.
std::optional<netcdf::Type> netcdf_type(const Format& format);

/// A configuration as it was read.
struct Contents {
  Frame frame;              // masses and charges are 0
  std::vector<Atom> atoms;  // in the order of the file
};

/// Reads what the formats binary and xdr write; the first bytes say which it is. Throws InputError.
Contents contents_from_binary(std::string_view bytes, const std::string& name);

}  // namespace tessera::io::write
