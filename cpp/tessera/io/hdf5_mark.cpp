// Superblock version 3 (HDF5 File Format Specification 3.0, II.A): signature (8 bytes), version, sizes of offsets and
// lengths, consistency flags (byte 11), four addresses, checksum of all that (Jenkins' lookup3, 4 bytes).
// http://burtleburtle.net/bob/c/lookup3.c (B. Jenkins, 2006, public domain), hashlittle() with initval 0.
#include "tessera/io/hdf5_mark.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace tessera::io {
namespace {

constexpr std::size_t checked_bytes = 44, version_byte = 8, offset_size_byte = 9, flags_byte = 11;

std::uint32_t lookup3(const std::uint8_t* data, std::size_t size) {
  std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(size), b = a, c = a;
  const auto word = [&](std::size_t i, std::size_t n) {
    std::uint32_t value = 0;
    for (std::size_t k = 0; k < n; ++k) value |= static_cast<std::uint32_t>(data[i + k]) << (8 * k);
    return value;
  };
  while (size > 12) {
    a += word(0, 4), b += word(4, 4), c += word(8, 4);
    a -= c, a ^= std::rotl(c, 4), c += b;
    b -= a, b ^= std::rotl(a, 6), a += c;
    c -= b, c ^= std::rotl(b, 8), b += a;
    a -= c, a ^= std::rotl(c, 16), c += b;
    b -= a, b ^= std::rotl(a, 19), a += c;
    c -= b, c ^= std::rotl(b, 4), b += a;
    data += 12;
    size -= 12;
  }
  if (size == 0) return c;
  const auto part = [&](std::size_t i) { return size > i ? word(i, std::min<std::size_t>(4, size - i)) : 0U; };
  a += part(0), b += part(4), c += part(8);
  c ^= b, c -= std::rotl(b, 14);
  a ^= c, a -= std::rotl(c, 11);
  b ^= a, b -= std::rotl(a, 25);
  c ^= b, c -= std::rotl(b, 16);
  a ^= c, a -= std::rotl(c, 4);
  b ^= a, b -= std::rotl(a, 14);
  c ^= b, c -= std::rotl(b, 24);
  return c;
}

}  // namespace

void clear_open_mark(const Descriptor& file) {
  std::array<std::uint8_t, checked_bytes + 4> block{};
  if (file.read_at(block.data(), block.size(), 0) != block.size()) return;
  if (std::memcmp(block.data(), "\211HDF\r\n\032\n", 8) != 0 || block[version_byte] != 3 ||
      block[offset_size_byte] != 8)
    return;
  if (block[flags_byte] == 0) return;
  block[flags_byte] = 0;
  const std::uint32_t sum = lookup3(block.data(), checked_bytes);
  for (std::size_t k = 0; k < 4; ++k) block[checked_bytes + k] = static_cast<std::uint8_t>(sum >> (8 * k));
  file.write_at(block.data(), block.size(), 0);
}

}  // namespace tessera::io
