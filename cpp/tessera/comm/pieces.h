// Long messages are cut into pieces, as MPI 3 counts with int.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace tessera::comm {

inline constexpr std::size_t largest_message = std::size_t{1} << 30;

/// Calls `start` with each piece of a message. Sender and receiver cut it alike.
template <class Byte, class Start>
void in_pieces(std::span<Byte> data, Start&& start) {
  for (std::size_t offset = 0; offset < data.size(); offset += largest_message)
    start(data.subspan(offset, std::min(largest_message, data.size() - offset)));
}

}  // namespace tessera::comm
