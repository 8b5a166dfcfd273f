// Binary: magic (8), title (72), then as integers and doubles of 8 bytes: level, atoms, periodicity, step, time step,
// time, cell (9). An atom is its id, its name (8 characters), its position, from level 1 on its velocity, and at level
// 2 its force. XDR (RFC 4506) has the most significant byte first; native binary is what the processor has. Frames
// stand one after the other, each with its header; docs/reference/xdr.md.
#include <bit>
#include <cstring>

#include "tessera/io/write/format.h"

namespace tessera::io::write {

namespace {

constexpr std::string_view native_magic = "TESSERAN", xdr_magic = "TESSERAX";
constexpr std::size_t title_bytes = 72, header_bytes = 8 + title_bytes + 15 * 8;

std::uint64_t ordered(std::uint64_t word, bool is_xdr) {
  return is_xdr && std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
}

template <bool is_xdr, class Value>
char* put(Value value, char* out) {
  static_assert(sizeof value == 8);
  const auto word = ordered(std::bit_cast<std::uint64_t>(value), is_xdr);
  std::memcpy(out, &word, 8);
  return out + 8;
}

template <bool is_xdr, int level>
std::string binary_header(const Frame& frame, std::int64_t n_atoms) {
  std::string bytes(is_xdr ? xdr_magic : native_magic);
  bytes += frame.title.substr(0, title_bytes);
  bytes.resize(header_bytes, ' ');
  char* out = bytes.data() + 8 + title_bytes;
  for (const std::int64_t value : {std::int64_t{level}, n_atoms, std::int64_t{frame.periodicity}, frame.moment.step})
    out = put<is_xdr>(value, out);
  for (const double value : {frame.moment.timestep, frame.moment.time}) out = put<is_xdr>(value, out);
  for (const double value : frame.cell) out = put<is_xdr>(value, out);
  return bytes;
}

std::string no_header(const Frame&, std::int64_t, std::int64_t) { return {}; }

template <bool is_xdr, int level>
void encode_binary(const Frame& frame, const Atoms& atoms, char* out) {
  for (const auto& atom : atoms) {
    out = put<is_xdr>(atom.id, out);
    std::memcpy(out, frame.species[static_cast<std::size_t>(atom.species)].name.data(), 8);
    out += 8;
    for (const double x : atom.position) out = put<is_xdr>(x, out);
    for (int k = 1; k <= level; ++k)
      for (int d = 0; d < 3; ++d) out = put<is_xdr>(values_behind(atom, k)[d], out);
  }
}

template <bool is_xdr, int level = 0>
constexpr Format format_of(const char* name, const char* about) {
  return {.name = name,
          .about = about,
          .atom_bytes = 40 + 24 * level,
          .has_numbers = true,
          .header = binary_header<is_xdr, level>,
          .encode = encode_binary<is_xdr, level>,
          .file_header = no_header,
          .frame_header = binary_header<is_xdr, level>,
          .measured_as = is_xdr ? "xdr" : nullptr,
          .level = level};
}

}  // namespace

const Format binary = format_of<false>("binary", "native binary: 40 bytes an atom");
const Format xdr = format_of<true>("xdr", "XDR (RFC 4506), the same on every processor: 40 bytes an atom");
const Format xdr_velocities = format_of<true, 1>("xdr-velocities", "the same with velocities: 64 bytes an atom");
const Format xdr_forces = format_of<true, 2>("xdr-forces", "the same with velocities and forces: 88 bytes an atom");

}  // namespace tessera::io::write
