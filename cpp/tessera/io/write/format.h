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
  /// These return what stands before the first of so many frames, and before the atoms of each, in formats whose files
  /// hold frames of equal length one after the other; null in others.
  std::string (*file_header)(const Frame& frame, std::int64_t n_atoms, std::int64_t n_frames) = nullptr;
  std::string (*frame_header)(const Frame& frame, std::int64_t n_atoms) = nullptr;
  /// Returns whether a file that begins with this header has frames of as many atoms, and of the same quantities, in
  /// formats whose files a restart continues; null in others. Headers and frames of these end with a line end.
  bool (*is_of)(std::string_view file_header, const Frame& frame, std::int64_t n_atoms) = nullptr;
  /// Another format of such records, whose measurements stand for this one's.
  const char* measured_as = nullptr;
  int level = 0;  // 0: positions; 1: velocities, too; 2: forces, too
  /// Whether velocities stand behind the positions of all atoms, and forces behind these; else each atom has all of its
  /// own. Then atom_bytes and encode() are of one of them.
  bool has_blocks = false;

  bool holds_frames() const { return file_header != nullptr; }
  /// Returns the number of records of a frame.
  std::int64_t n_records(std::int64_t n_atoms) const { return has_blocks ? (level + 1) * n_atoms : n_atoms; }
};

/// Returns the records of atoms in a format that has blocks, as atoms without more than a position: the velocity of the
/// atom i, of n in all, is that of the atom n + i.
AtomRows in_blocks(const Atoms& atoms, int level, std::int64_t n_atoms);

/// Returns the registry: CONFIG, HISTORY, binary, XDR and NetCDF of the AMBER convention.
std::span<const Format> formats();
/// Finds a format by its name. Throws InputError, which names the nearest known one, where there is none.
const Format& format(const std::string& name);

// The entries, in the folder formats.
extern const Format config, config_velocities, history, history_velocities, history_forces, binary, xdr, xdr_velocities,
    xdr_forces, netcdf_float, netcdf_velocities, netcdf_forces, netcdf_forces_alone, netcdf_double;

}  // namespace tessera::io::write
