// DCD trajectories (CHARMM's, as NAMD and X-PLOR write it): float32 Å, a unit cell each frame, little-endian.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "tessera/base/box.h"
#include "tessera/base/files/descriptor.h"

namespace tessera::io {

/// The length of a record of coordinates has 31 bits.
inline constexpr std::int64_t most_dcd_atoms = std::numeric_limits<std::int32_t>::max() / 4;

/// The header of a DCD file; frame i is of step first_step + i·every.
struct DcdHeader {
  std::int64_t n_atoms = 0;
  std::int64_t first_step = 0;
  std::int64_t every = 1;  // steps between frames
  double timestep = 0;     // ps
  std::string title = {};  // up to 79 characters
};

/// Appends frames. The last bytes of a frame are written when all others are, then the count in the header: processes
/// that are killed lose at most that frame, and readers, which go by the size of the file, see only whole ones.
///
/// Several processes fill a frame together: each puts its rows, and when all have, the one that began the file finishes
/// the frame and the others skip it.
class DcdWriter {
 public:
  /// Begins a file; nothing may have the name. Throws InputError with too many atoms, RunError if it can't be made.
  static DcdWriter create(const std::string& path, const DcdHeader& header);
  /// Continues after the first `n_frames` frames; later ones are cut off. Throws InputError if the file has fewer
  /// frames or another number of atoms.
  static DcdWriter continue_after(const std::string& path, std::int64_t n_frames, const DcdHeader& header);

  /// Opens the file, with so many frames, that another process has begun or goes on with. Throws RunError.
  static DcdWriter open_beside(const std::string& path, std::int64_t n_frames, const DcdHeader& header);

  /// Appends a frame: positions (n,3) Å. Throws RunError.
  void append(const Box& box, std::span<const float> positions);
  /// Writes rows of the next frame: positions (m,3) Å of the atoms from `first` on. Throws RunError.
  void put_rows(std::int64_t first, std::span<const float> positions) const;
  /// Makes the next frame, all rows of which are written, part of the file. Throws RunError.
  void finish_frame(const Box& box);
  void skip_frame() { ++n_frames_; }
  std::int64_t n_frames() const { return n_frames_; }
  /// Returns whether the path still names this file: not once it was removed, moved or replaced.
  bool is_in_place() const { return file_.is_in_place(); }
  /// Waits until all frames are on the disk.
  void synchronize() const { file_.synchronize(); }

 private:
  DcdWriter(Descriptor file, const DcdHeader& header) : file_(std::move(file)), header_(header) {}
  void write_counts() const;
  std::int64_t next_frame() const;  // byte where it begins

  Descriptor file_;
  DcdHeader header_;
  std::int64_t n_frames_ = 0;
};

}  // namespace tessera::io
