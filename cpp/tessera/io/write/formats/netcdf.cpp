#include "tessera/io/write/formats/netcdf.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/math/elementary.h"

namespace tessera::io::write::netcdf {

namespace {

template <class Word>
void append_word(Word word, std::string& out) {
  for (int shift = 8 * (static_cast<int>(sizeof word) - 1); shift >= 0; shift -= 8)
    out += static_cast<char>(word >> shift & 0xff);
}

std::int64_t rounded_up(std::int64_t n) { return (n + 3) / 4 * 4; }

std::int64_t size_of(Type type) { return type == Type::character ? 1 : type == Type::real ? 4 : 8; }

/// Writes a header as the specification of the file formats has it (NUG, "File Format Specifications"): lengths and
/// indices have 4 bytes, in CDF-5 8; tags and types have 4, places of variables 8.
class HeaderWriter {
 public:
  HeaderWriter() = default;  // of values alone
  explicit HeaderWriter(Version version) : is_wide_(version == Version::cdf5) {
    bytes_ = "CDF";
    bytes_ += static_cast<char>(version);
  }

  void tag(std::int32_t value) { append_word(static_cast<std::uint32_t>(value), bytes_); }
  void length(std::int64_t value) {
    if (is_wide_)
      place(value);
    else
      append_word(static_cast<std::uint32_t>(value), bytes_);
  }
  void place(std::int64_t value) { append_word(static_cast<std::uint64_t>(value), bytes_); }
  void text(const std::string& value) {
    length(std::ssize(value));
    bytes_ += value;
    pad();
  }
  void list(std::int32_t its_tag, std::size_t n) {
    tag(n == 0 ? 0 : its_tag);
    length(static_cast<std::int64_t>(n));
  }
  void attributes(const std::vector<Attribute>& all) {
    list(attribute_tag, all.size());
    for (const auto& one : all) {
      text(one.name);
      tag(static_cast<std::int32_t>(Type::character));
      text(one.text);
    }
  }
  void values(const Variable& variable) {
    bytes_ += variable.text;
    for (const double number : variable.numbers) {
      if (variable.type == Type::real)
        append_word(std::bit_cast<std::uint32_t>(static_cast<float>(number)), bytes_);
      else
        append_word(std::bit_cast<std::uint64_t>(number), bytes_);
    }
    pad();
  }

  std::int64_t size() const { return std::ssize(bytes_); }
  std::string take() { return std::move(bytes_); }

  static constexpr std::int32_t dimension_tag = 10, variable_tag = 11, attribute_tag = 12;

 private:
  void pad() { bytes_.resize(static_cast<std::size_t>(rounded_up(size())), '\0'); }

  bool is_wide_ = false;
  std::string bytes_;
};

bool has_frames(const Layout& layout, const Variable& variable) {
  return layout.dimensions[static_cast<std::size_t>(variable.dimensions.front())].length == 0;
}

/// Returns the bytes of a variable, or of its part in each frame.
std::int64_t bytes_of(const Layout& layout, const Variable& variable) {
  auto bytes = size_of(variable.type);
  for (const int index : variable.dimensions)
    if (const auto length = layout.dimensions[static_cast<std::size_t>(index)].length; length > 0) bytes *= length;
  return rounded_up(bytes);
}

/// Writes the header alone, where the first variable stands at `first`.
HeaderWriter without_values(const Layout& layout, std::int64_t n_frames, std::int64_t first) {
  HeaderWriter out(layout.version);
  out.length(n_frames);
  out.list(HeaderWriter::dimension_tag, layout.dimensions.size());
  for (const auto& one : layout.dimensions) {
    out.text(one.name);
    out.length(one.length);
  }
  out.attributes(layout.attributes);
  out.list(HeaderWriter::variable_tag, layout.variables.size());
  auto place = first;
  for (const auto& one : layout.variables) {
    out.text(one.name);
    out.length(std::ssize(one.dimensions));
    for (const int index : one.dimensions) out.length(index);
    out.attributes(one.attributes);
    out.tag(static_cast<std::int32_t>(one.type));
    out.length(bytes_of(layout, one));
    out.place(place);
    place += bytes_of(layout, one);
  }
  return out;
}

/// Returns lengths (Å) and angles (degrees) of a cell: a, b, c, alpha, beta, gamma.
std::array<std::vector<double>, 2> lengths_and_angles(const std::array<double, 9>& cell) {
  const auto dot = [](const double* a, const double* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; };
  std::array<std::vector<double>, 2> found;
  for (std::size_t i = 0; i < 3; ++i) {
    const double* edge = cell.data() + 3 * i;
    const double *a = cell.data() + 3 * ((i + 1) % 3), *b = cell.data() + 3 * ((i + 2) % 3);
    const std::array across{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    found[0].push_back(std::sqrt(dot(edge, edge)));
    found[1].push_back(math::atan2(std::sqrt(dot(across.data(), across.data())), dot(a, b)) * 180 / std::numbers::pi);
  }
  return found;
}

template <class Word>
Word most_significant_first(Word word) {
  if constexpr (std::endian::native == std::endian::big)
    return word;
  else if constexpr (sizeof word == 4)
    return __builtin_bswap32(word);
  else
    return __builtin_bswap64(word);
}

template <class Real, class Word>
void encode_as(const Atoms& atoms, char* out) {
  for (const auto& atom : atoms)
    for (const double x : atom.position) {
      const auto word = most_significant_first(std::bit_cast<Word>(static_cast<Real>(x)));
      std::memcpy(out, &word, sizeof word);
      out += sizeof word;
    }
}

}  // namespace

Version version_for(std::int64_t n_atoms, Type type) {
  return n_atoms * atom_bytes(type) <= (std::int64_t{1} << 32) - 4 ? Version::cdf2 : Version::cdf5;
}

Layout layout(const Frame& frame, std::int64_t n_atoms, Type type, const More& more) {
  if (n_atoms == 0)
    throw InputError("a file in the format netcdf has at least one atom, but there is none; choose another format");
  constexpr int frames = 0, spatial = 1, atoms = 2, cell_spatial = 3, label = 4, cell_angular = 5;
  Layout found;
  found.version = version_for(n_atoms, type);
  found.dimensions = {{"frame", 0}, {"spatial", 3}, {"atom", n_atoms}};
  found.attributes = {{"title", frame.title},
                      {"program", "tessera"},
                      {"programVersion", TESSERA_VERSION},
                      {"Conventions", "AMBER"},
                      {"ConventionVersion", "1.0"}};
  found.variables = {{"spatial", Type::character, {spatial}, {}, "xyz", {}}};
  const auto time = Variable{"time", Type::real, {frames}, {{"units", "picosecond"}}, "", {frame.moment.time}};
  if (frame.periodicity != 0) {
    for (const Dimension& one : {Dimension{"cell_spatial", 3}, {"label", 5}, {"cell_angular", 3}})
      found.dimensions.push_back(one);
    found.variables.push_back({"cell_spatial", Type::character, {cell_spatial}, {}, "abc", {}});
    found.variables.push_back({"cell_angular", Type::character, {cell_angular, label}, {}, "alphabeta gamma", {}});
    found.variables.push_back(time);
    const auto [lengths, angles] = lengths_and_angles(frame.cell);
    found.variables.push_back(
        {"cell_lengths", Type::real64, {frames, cell_spatial}, {{"units", "angstrom"}}, "", lengths});
    found.variables.push_back({"cell_angles", Type::real64, {frames, cell_angular}, {{"units", "degree"}}, "", angles});
  } else {
    found.variables.push_back(time);
  }
  const auto add = [&](const char* name, const char* units) {
    found.variables.push_back({name, type, {frames, atoms, spatial}, {{"units", units}}, "", {}});
  };
  add("coordinates", "angstrom");
  if (more.velocities) add("velocities", "angstrom/picosecond");
  if (more.forces) add("forces", "kilocalorie/mole/angstrom");
  return found;
}

std::string file_header(const Layout& layout, std::int64_t n_frames) {
  auto out = without_values(layout, n_frames, without_values(layout, n_frames, 0).size());
  for (const auto& one : layout.variables)
    if (!has_frames(layout, one)) out.values(one);
  return out.take();
}

std::string frame_header(const Layout& layout) {
  HeaderWriter out;
  for (const auto& one : layout.variables)
    if (has_frames(layout, one)) out.values(one);
  return out.take();
}

void encode(const Atoms& atoms, Type type, char* out) {
  if (type == Type::real)
    encode_as<float, std::uint32_t>(atoms, out);
  else
    encode_as<double, std::uint64_t>(atoms, out);
}

}  // namespace tessera::io::write::netcdf

namespace tessera::io::write {

namespace {

using netcdf::More;

template <netcdf::Type type, More more>
std::string file_header(const Frame& frame, std::int64_t n_atoms, std::int64_t n_frames) {
  return netcdf::file_header(netcdf::layout(frame, n_atoms, type, more), n_frames);
}

template <netcdf::Type type, More more>
std::string frame_header(const Frame& frame, std::int64_t n_atoms) {
  return netcdf::frame_header(netcdf::layout(frame, n_atoms, type, more));
}

template <netcdf::Type type, More more>
std::string header(const Frame& frame, std::int64_t n_atoms) {
  const auto layout = netcdf::layout(frame, n_atoms, type, more);
  return netcdf::file_header(layout, 1) + netcdf::frame_header(layout);
}

template <netcdf::Type type>
void encode(const Frame&, const Atoms& atoms, char* out) {
  netcdf::encode(atoms, type, out);
}

template <netcdf::Type type, More more = More{}>
constexpr Format format_of(const char* name, const char* about) {
  constexpr int level = (more.velocities ? 1 : 0) + (more.forces ? 1 : 0);
  return {.name = name,
          .about = about,
          .atom_bytes = netcdf::atom_bytes(type),
          .has_numbers = false,
          .header = header<type, more>,
          .encode = encode<type>,
          .file_header = file_header<type, more>,
          .frame_header = frame_header<type, more>,
          .measured_as = type == netcdf::Type::real ? "netcdf" : "netcdf-double",
          .level = level,
          .has_blocks = level > 0};
}

constexpr auto single = netcdf::Type::real;

}  // namespace

const Format netcdf_float = format_of<single>("netcdf", "NetCDF of the AMBER convention: 12 bytes an atom");
const Format netcdf_velocities =
    format_of<single, More{true, false}>("netcdf-velocities", "the same with velocities: 24 bytes an atom");
const Format netcdf_forces =
    format_of<single, More{true, true}>("netcdf-forces", "the same with velocities and forces: 36 bytes an atom");
const Format netcdf_forces_alone =
    format_of<single, More{false, true}>("netcdf-forces-alone", "the same with forces alone: 24 bytes an atom");
const Format netcdf_double =
    format_of<netcdf::Type::real64>("netcdf-double", "the same with coordinates in doubles: 24 bytes an atom");

std::optional<netcdf::Type> netcdf_type(const Format& format) {
  if (format.has_blocks) return std::nullopt;
  if (format.encode == netcdf_float.encode) return netcdf::Type::real;
  if (format.encode == netcdf_double.encode) return netcdf::Type::real64;
  return std::nullopt;
}

}  // namespace tessera::io::write
