#include "tessera/app/imd/packets.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "tessera/base/units.h"

namespace tessera::app::imd {

namespace {

template <class Value>
void append(Bytes& bytes, const Value& value) {
  const auto of_value = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), of_value.begin(), of_value.end());
}

void append_header(Bytes& bytes, Kind kind, std::int64_t number) {
  append(bytes, htonl(static_cast<std::uint32_t>(kind)));
  append(bytes, htonl(static_cast<std::uint32_t>(number)));
}

void append_rows(Bytes& bytes, Kind kind, const std::vector<float>& rows, float scale = 1) {
  append_header(bytes, kind, std::ssize(rows) / 3);
  const auto begin = bytes.size();
  bytes.resize(begin + rows.size() * sizeof(float));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float value = scale * rows[i];
    std::memcpy(bytes.data() + begin + i * sizeof(float), &value, sizeof(float));
  }
}

constexpr double in_kilojoules = 1 / units::kilojoule;  // of a kcal/mol

void append_energies(Bytes& bytes, std::int64_t step, const md::Energies& e) {
  using md::Term;
  const double lj = e[Term::lj] + e[Term::lj_14] + e[Term::lj_tail] + e[Term::lj_mesh];
  const double coulomb = e[Term::coulomb_real] + e[Term::coulomb_14] + e[Term::coulomb_reciprocal] +
                         e[Term::coulomb_exclusion] + e[Term::coulomb_self] + e[Term::coulomb_background];
  append_header(bytes, Kind::energies, 1);
  append(bytes, static_cast<std::int32_t>(std::min<std::int64_t>(step, std::numeric_limits<std::int32_t>::max())));
  append(bytes, static_cast<float>(e.temperature));
  for (const double energy :
       {e.total(), e.potential(), lj, coulomb, e[Term::bond], e[Term::angle] + e[Term::urey_bradley],
        e[Term::dihedral] + e[Term::cmap], e[Term::improper]})
    append(bytes, static_cast<float>(in_kilojoules * energy));
}

}  // namespace

Header header_from(const std::byte* bytes) {
  std::array<std::uint32_t, 2> words{};
  std::memcpy(words.data(), bytes, sizeof(words));
  return {static_cast<std::int32_t>(ntohl(words[0])), static_cast<std::int32_t>(ntohl(words[1]))};
}

Bytes greeting(const Contents& contents) {
  Bytes bytes;
  append(bytes, htonl(static_cast<std::uint32_t>(Kind::handshake)));
  append(bytes, static_cast<std::int32_t>(contents.version));  // as it is: it tells the order of this machine's bytes
  if (contents.version < 3) return bytes;
  const std::array<bool, 7> has = {true, true, contents.has_box, true, contents.is_wrapped, true, true};
  append_header(bytes, Kind::session_info, std::ssize(has));
  for (const bool one : has) append(bytes, static_cast<std::int8_t>(one));
  return bytes;
}

Bytes frame_bytes(const Contents& contents, const Frame& frame, const md::Energies& energies, double timestep) {
  Bytes bytes;
  bytes.reserve(3 * sizeof(float) * frame.positions.size() + 256);
  if (contents.version >= 3) {
    append_header(bytes, Kind::time, 1);
    append(bytes, timestep);
    append(bytes, frame.time);
    append(bytes, frame.step);
  }
  append_energies(bytes, frame.step, energies);
  if (contents.version >= 3 && contents.has_box) {
    append_header(bytes, Kind::box, 1);
    for (const auto& edge : {frame.box.a(), frame.box.b(), frame.box.c()})
      for (const double x : {edge.x, edge.y, edge.z}) append(bytes, static_cast<float>(x));
  }
  append_rows(bytes, Kind::coordinates, frame.positions);
  if (contents.version >= 3) {
    append_rows(bytes, Kind::velocities, frame.velocities);
    append_rows(bytes, Kind::forces, frame.forces, static_cast<float>(in_kilojoules));
  }
  return bytes;
}

}  // namespace tessera::app::imd
