// The tags of messages between ranks of a grid, so that messages of different kinds are never taken for each other.
#pragma once

namespace tessera::grid {

/// The tag of moves between layouts.
inline constexpr int move_tag = 70;
/// The first tag of halos, which are numbered by the thread that communicates.
inline constexpr int first_halo_tag = 71;

}  // namespace tessera::grid
