// XTC trajectories, GROMACS' compressed format: positions rounded to 0.01 Å in about a third of a DCD's room.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/box.h"
#include "tessera/base/files/descriptor.h"

namespace tessera::io {

/// Positions are rounded to this, Å.
inline constexpr double xtc_resolution = 0.01;

/// Returns the bytes of a frame, which are the same wherever in a file it stands: positions (n,3) Å, time in ps. Throws
/// RunError, which names the file, where a position is too large for the format.
std::vector<char> encode_xtc(const std::string& path, std::int64_t step, double time, const Box& box,
                             std::span<const float> positions);

/// Appends frames. A frame is written at once: a process that is killed loses at most that frame.
class XtcWriter {
 public:
  /// Begins a file; nothing may have the name. Throws RunError if it can't be made.
  static XtcWriter create(const std::string& path, std::int64_t n_atoms);
  /// Continues after the first `n_frames` frames; later ones are cut off. Throws InputError if the file has fewer
  /// frames or another number of atoms.
  static XtcWriter continue_after(const std::string& path, std::int64_t n_frames, std::int64_t n_atoms);

  /// Appends a frame. Throws RunError, also where a position is too large for the format.
  void append(std::int64_t step, double time, const Box& box, std::span<const float> positions);
  /// Appends the bytes of a frame, which encode_xtc() has made. Throws RunError.
  void append_encoded(std::span<const char> bytes);
  std::int64_t n_frames() const { return n_frames_; }
  /// Returns whether the path still names this file: not once it was removed, moved or replaced.
  bool is_in_place() const { return file_.is_in_place(); }
  /// Waits until all frames are on the disk.
  void synchronize() const { file_.synchronize(); }

 private:
  XtcWriter(Descriptor file, std::int64_t n_atoms) : file_(std::move(file)), n_atoms_(n_atoms) {}

  Descriptor file_;
  std::int64_t n_atoms_, n_frames_ = 0, end_ = 0;  // end_: of the last frame, bytes
};

}  // namespace tessera::io
