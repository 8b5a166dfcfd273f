// The tags of messages between ranks of a grid, so that messages of different kinds are never taken for each other.
#pragma once

namespace tessera::grid {

/// Of moves between layouts.
inline constexpr int move_tag = 70;
/// Of halos, by the number of the thread that communicates.
inline constexpr int first_halo_tag = 71;

}  // namespace tessera::grid
