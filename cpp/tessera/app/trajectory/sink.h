// Where frames go: the files of one format.
#pragma once

#include <cstdint>

#include "tessera/app/trajectory/frame.h"

namespace tessera::app {

/// All members are collective, but those that are const.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  /// Appends a frame, of which each rank has the rows that it makes. It may be written later. Throws RunError.
  virtual void append(Frame frame) = 0;
  /// Waits until all frames are on the disk. Throws RunError.
  virtual void synchronize() = 0;
  /// On the root: how many frames the files hold, also of earlier legs.
  virtual std::int64_t n_frames() const = 0;
  /// False once a file of this rank was removed, moved or replaced.
  virtual bool is_in_place() const = 0;
};

}  // namespace tessera::app
