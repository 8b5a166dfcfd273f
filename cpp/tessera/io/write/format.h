// How a configuration becomes bytes: a header, and for each atom a record of a fixed size, so that the place of every
// atom in a file follows from its number. All write methods share these functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/io/write/frame.h"

namespace tessera::io::write {

struct Format {
  const char* name;
  const char* about;
  std::int64_t atom_bytes;
  bool has_numbers;  // of atoms; without them only sorted atoms can be told apart
  /// All bytes before the first atom of a file with one frame.
  std::string (*header)(const Frame& frame, std::int64_t n_atoms);
  /// Writes the records of atoms, atom_bytes each.
  void (*encode)(const Frame& frame, const Atoms& atoms, char* out);
  /// Of formats whose files hold frames one after the other, all of the same length, null in others: what stands before
  /// the first of so many frames, and before the atoms of each. Both, and a frame, end with a line end.
  std::string (*file_header)(const Frame& frame, std::int64_t n_atoms, std::int64_t n_frames) = nullptr;
  std::string (*frame_header)(const Frame& frame, std::int64_t n_atoms) = nullptr;
  /// Whether a file that begins with this header has frames of as many atoms, and of the same quantities.
  bool (*is_of)(std::string_view file_header, const Frame& frame, std::int64_t n_atoms) = nullptr;
  /// Another format of such records, whose measurements stand for this one's.
  const char* measured_as = nullptr;
  int level = 0;  // 0: positions; 1: velocities, too; 2: forces, too

  bool holds_frames() const { return file_header != nullptr; }
};

/// The registry: CONFIG, HISTORY, binary, XDR and NetCDF of the AMBER convention.
std::span<const Format> formats();
/// Finds a format by its name. Throws InputError, which names the nearest known one, where there is none.
const Format& format(const std::string& name);

// The entries, in the folder formats.
extern const Format config, config_velocities, history, history_velocities, history_forces, binary, xdr, netcdf_float,
    netcdf_double;

/// A configuration as it was read.
struct Contents {
  Frame frame;              // masses and charges are 0
  std::vector<Atom> atoms;  // in the order of the file
};

/// Reads what the formats binary and xdr write; the first bytes say which it is. Throws InputError.
Contents contents_from_binary(std::string_view bytes, const std::string& name);

}  // namespace tessera::io::write
