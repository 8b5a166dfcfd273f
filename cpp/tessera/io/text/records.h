// DL_POLY's records: 72 characters and a line end, so that the place of every atom in a file follows from its number.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::io::text {

inline constexpr std::int64_t record_bytes = 73;

/// Returns a record with this text, which is cut or filled with blanks. Characters that are no ASCII, or none that is
/// shown, become question marks.
std::string record_of(std::string_view text);

/// Returns DL_POLY's key of the shape of a cell (3,3) Å, imcon: 0 none (zeros), 1 a cube, 2 a cuboid, 3 another
/// parallelepiped.
int periodicity_of(const std::array<double, 9>& cell);

/// An atom's name in a record: eight characters, filled with blanks.
using Name = std::array<char, 8>;
Name name_of(std::string_view text);

/// Writes the record of an atom in CONFIG and REVCON: a8, i10.
void write_name_record(const Name& name, std::int64_t id, char* out);
/// Writes the record of an atom in HISTORY: a8, i10, 3f12.6. Masses are in amu, charges in e, displacements in Å.
void write_name_record(const Name& name, std::int64_t id, double mass, double charge, double displacement, char* out);
/// Writes three numbers, 3g20.10: a position, velocity or force.
void write_value_record(const double* values, char* out);

/// What a CONFIG says about its moment, if it comes from a run.
struct Moment {
  std::int64_t step = 0;
  double timestep = 0, time = 0;  // ps
};

/// Returns the first records of CONFIG: title, keys, and the three vectors of the cell (3,3) Å where `periodicity`
/// (DL_POLY's imcon) is not 0. `level` is 0 for positions, 1 with velocities, 2 with forces.
std::string config_header(const std::string& title, int level, int periodicity, std::int64_t n_atoms,
                          const std::optional<Moment>& moment, const std::array<double, 9>& cell);
/// Returns the first records of a HISTORY, of so many frames and records; history_frame_header() those of each frame.
std::string history_header(const std::string& title, int level, int periodicity, std::int64_t n_atoms,
                           std::int64_t n_frames, std::int64_t n_records);
std::string history_frame_header(const Moment& moment, int level, int periodicity, std::int64_t n_atoms,
                                 const std::array<double, 9>& cell);

}  // namespace tessera::io::text
