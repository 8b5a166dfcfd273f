// The bytes of IMD, the protocol by which programs watch a run through a socket: version 3, and version 2 for VMD.
//
// A packet is a header of two 32-bit integers in network order, kind and number, and a body in the order of this
// machine. Units: ps, Å, Å/ps, kJ/mol, kJ/mol/Å.
//
// Source: IMDClient developers, IMDv3 Protocol, https://imdclient.readthedocs.io.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/app/trajectory/frame.h"
#include "tessera/md/energies.h"

namespace tessera::app::imd {

enum class Kind : std::int32_t {
  disconnect,
  energies,
  coordinates,
  go,
  handshake,
  kill,
  forces_of_client,
  pause,
  rate,
  io_error,
  session_info,
  resume,
  time,
  box,
  velocities,
  forces,
  wait
};
inline constexpr std::int32_t n_kinds = 17;

using Bytes = std::vector<std::byte>;

struct Header {
  static constexpr std::size_t bytes = 8;

  std::int32_t kind = 0, number = 0;
};
/// Reads a header, of which all bytes are there.
Header header_from(const std::byte* bytes);

/// What frames hold beside time, energies and coordinates; version 2 has neither time nor these.
struct Contents {
  std::int64_t version = 3;
  bool has_box = false;
  bool is_wrapped = false;  // every atom is in the box
};

/// Returns what a client gets first.
Bytes greeting(const Contents& contents);
/// Returns a frame of all atoms. `timestep`: ps.
Bytes frame_bytes(const Contents& contents, const Frame& frame, const md::Energies& energies, double timestep);

}  // namespace tessera::app::imd
