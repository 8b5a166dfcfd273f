// NetCDF files of the AMBER convention (http://ambermd.org/netcdf/nctraj.xhtml).
//
// A classic NetCDF file is a header, then numbers with the most significant byte first: first those that all frames
// share, then the frames. In each, coordinates stand last, and velocities and forces behind these, so an atom's place
// follows from its number as in the other formats, and every method writes the file. The layout is data:
// the header is made of it here, and the method sncw hands it to the NetCDF library, which must arrive at the same
// bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/io/write/format.h"
#include "tessera/io/write/frame.h"

namespace tessera::io::write::netcdf {

enum class Version : char { cdf2 = 2, cdf5 = 5 };
enum class Type : std::int32_t { character = 2, real = 5, real64 = 6 };

/// Returns the bytes of an atom whose coordinates have a type.
constexpr std::int64_t atom_bytes(Type type) { return type == Type::real ? 12 : 24; }

/// What frames hold of atoms beside coordinates, in Å/ps and kcal/mol/Å.
struct More {
  bool velocities = false, forces = false;
};

struct Attribute {
  std::string name, text;
};

struct Dimension {
  std::string name;
  std::int64_t length = 0;  // 0: that of frames, which grows
};

struct Variable {
  std::string name;
  Type type = Type::character;
  std::vector<int> dimensions;  // indices
  std::vector<Attribute> attributes;
  std::string text;             // its values, where it has characters
  std::vector<double> numbers;  // its values, where it has numbers; none of what atoms have
};

struct Layout {
  Version version = Version::cdf2;
  std::vector<Dimension> dimensions;
  std::vector<Attribute> attributes;
  std::vector<Variable> variables;  // those that grow with the frames last, what atoms have the last of them
};

/// Returns CDF-2, whose variables have at most 2³² − 4 bytes a frame: 357,913,941 atoms, or 178,956,970 of doubles;
/// CDF-5 beyond.
Version version_for(std::int64_t n_atoms, Type type);

/// Throws InputError without atoms, as no dimension of a classic file but that of frames may have the length 0.
Layout layout(const Frame& frame, std::int64_t n_atoms, Type type, const More& more = {});

/// Returns all bytes before the first of so many frames.
std::string file_header(const Layout& layout, std::int64_t n_frames);
/// Returns the bytes of a frame before the coordinates of the first atom.
std::string frame_header(const Layout& layout);
void encode(const Atoms& atoms, Type type, char* out);

}  // namespace tessera::io::write::netcdf

namespace tessera::io::write {

/// Returns the type of coordinates in the formats of NetCDF that have these alone; none of the others.
std::optional<netcdf::Type> netcdf_type(const Format& format);

}  // namespace tessera::io::write
