// Where frames go: the files of one format.
#pragma once

#include <cstdint>

#include "tessera/app/trajectory/frame.h"

namespace tessera::app {

/// Bytes of frames that a rank holds until they are written, or two frames, if that is more.
inline constexpr std::int64_t most_bytes_held = 64 << 20;

/// All members are collective, but those that are const.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  /// Appends a frame, of which each rank has the rows that it makes. It may be written later. Throws RunError.
  virtual void append(Frame frame) = 0;
  /// Waits until all frames are on the disk. Throws RunError.
  virtual void synchronize() = 0;
  /// Counts the frames that the files hold, also of earlier legs. On the root.
  virtual std::int64_t n_frames() const = 0;
  /// Returns false once a file of this rank was removed, moved or replaced.
  virtual bool is_in_place() const = 0;
};

}  // namespace tessera::app
