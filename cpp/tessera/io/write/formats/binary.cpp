// Binary: magic (8), title (72), then as integers and doubles of 8 bytes: atoms, periodicity, step, time step, time,
// cell (9). An atom is its id, its name (8 characters) and its position. XDR (RFC 4506) has the most significant byte
// first; native binary is what the processor has.
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <map>

#include "tessera/base/error.h"
#include "tessera/io/write/format.h"

namespace tessera::io::write {

namespace {

constexpr std::string_view native_magic = "TESSERAN", xdr_magic = "TESSERAX";
constexpr std::size_t title_bytes = 72, header_bytes = 8 + title_bytes + 14 * 8, binary_atom_bytes = 40;

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

template <class Value>
Value get(const char*& in, bool is_xdr) {
  std::uint64_t word = 0;
  std::memcpy(&word, in, 8);
  in += 8;
  return std::bit_cast<Value>(ordered(word, is_xdr));
}

template <bool is_xdr>
std::string binary_header(const Frame& frame, std::int64_t n_atoms) {
  std::string bytes(is_xdr ? xdr_magic : native_magic);
  bytes += frame.title.substr(0, title_bytes);
  bytes.resize(header_bytes, ' ');
  char* out = bytes.data() + 8 + title_bytes;
  for (const std::int64_t value : {n_atoms, std::int64_t{frame.periodicity}, frame.moment.step})
    out = put<is_xdr>(value, out);
  for (const double value : {frame.moment.timestep, frame.moment.time}) out = put<is_xdr>(value, out);
  for (const double value : frame.cell) out = put<is_xdr>(value, out);
  return bytes;
}

template <bool is_xdr>
void encode_binary(const Frame& frame, const Atoms& atoms, char* out) {
  for (const auto& atom : atoms) {
    out = put<is_xdr>(atom.id, out);
    std::memcpy(out, frame.species[static_cast<std::size_t>(atom.species)].name.data(), 8);
    out += 8;
    for (const double x : atom.position) out = put<is_xdr>(x, out);
  }
}

template <bool is_xdr>
constexpr Format format_of(const char* name, const char* about) {
  return {.name = name,
          .about = about,
          .atom_bytes = binary_atom_bytes,
          .has_numbers = true,
          .header = binary_header<is_xdr>,
          .encode = encode_binary<is_xdr>};
}

}  // namespace

const Format binary = format_of<false>("binary", "native binary: 40 bytes an atom");
const Format xdr = format_of<true>("xdr", "XDR (RFC 4506), the same on every processor: 40 bytes an atom");

Contents contents_from_binary(std::string_view bytes, const std::string& name) {
  const bool is_xdr = bytes.starts_with(xdr_magic);
  if (bytes.size() < header_bytes || (!is_xdr && !bytes.starts_with(native_magic)))
    throw InputError(fmt::format("{}: is no binary configuration of tessera, which begins with {} or {}", name,
                                 native_magic, xdr_magic));
  Contents contents;
  auto& frame = contents.frame;
  frame.title = bytes.substr(8, title_bytes);
  frame.title.erase(frame.title.find_last_not_of(' ') + 1);
  const char* in = bytes.data() + 8 + title_bytes;
  const auto n_atoms = get<std::int64_t>(in, is_xdr);
  frame.periodicity = static_cast<int>(get<std::int64_t>(in, is_xdr));
  frame.moment.step = get<std::int64_t>(in, is_xdr);
  frame.moment.timestep = get<double>(in, is_xdr);
  frame.moment.time = get<double>(in, is_xdr);
  for (auto& x : frame.cell) x = get<double>(in, is_xdr);
  const auto rest = bytes.size() - header_bytes;
  if (n_atoms < 0 || rest % binary_atom_bytes != 0 || rest / binary_atom_bytes != static_cast<std::size_t>(n_atoms))
    throw InputError(fmt::format("{}: has {} bytes after its header, expected {} of each of {} atoms; is it cut off?",
                                 name, rest, binary_atom_bytes, n_atoms));
  contents.atoms.resize(static_cast<std::size_t>(n_atoms));
  std::map<text::Name, std::int64_t> species;
  for (auto& atom : contents.atoms) {
    atom.id = get<std::int64_t>(in, is_xdr);
    text::Name its_name;
    std::memcpy(its_name.data(), in, 8);
    in += 8;
    const auto [found, is_new] = species.emplace(its_name, std::ssize(frame.species));
    if (is_new) frame.species.push_back({its_name, 0, 0});
    atom.species = found->second;
    for (auto& x : atom.position) x = get<double>(in, is_xdr);
  }
  return contents;
}

}  // namespace tessera::io::write
