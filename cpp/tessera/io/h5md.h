// H5MD 1.1 trajectories (P. de Buyl, P. H. Colberg, F. Höfling, Comput. Phys. Commun. 185, 1546 (2014),
// doi:10.1016/j.cpc.2014.01.018), which MDAnalysis opens, with the names of mdtraj's HDF5 layout linked to the same
// arrays, so that mdtraj.load_hdf5 opens the same file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "tessera/base/box.h"
#include "tessera/base/files/descriptor.h"
#include "tessera/io/hdf5.h"

namespace tessera::io {

struct H5mdHeader {
  std::int64_t n_atoms = 0;
  bool has_velocities = false;
  bool is_periodic = true;
  std::string author = "unknown";
  std::string creator = "tessera";
  std::string creator_version = {};
  std::string topology = {};  // JSON of mdtraj's HDF5 convention; empty: none
};

/// Where the rows of a frame stand: bytes of the file.
struct H5mdPlaces {
  std::int64_t positions = 0, velocities = 0;
};

/// Writes rows of a file that another process has made, past HDF5.
class H5mdRows {
 public:
  /// Throws RunError.
  static H5mdRows open(const std::string& path) { return H5mdRows(Descriptor::open_to_change(path)); }
  /// Writes rows of the atoms from `first` on: positions (m,3) Å and, where frames have them, velocities (m,3) Å/ps.
  /// Throws RunError.
  void put(const H5mdPlaces& places, std::int64_t first, std::span<const float> positions,
           std::span<const float> velocities) const;
  bool is_in_place() const { return file_.is_in_place(); }
  /// Waits until all rows are on the disk.
  void synchronize() const { file_.synchronize(); }

 private:
  explicit H5mdRows(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;
};

/// Appends frames. Each is handed to the operating system before it counts; the file can be read at any moment.
///
/// Several processes fill a frame together: the one that made the file begins it, each puts its rows there (H5mdRows),
/// and when all have, the first one finishes it.
class H5mdWriter {
 public:
  /// Begins a file; nothing may have the name. Throws RunError.
  static H5mdWriter create(const std::string& path, const H5mdHeader& header);
  /// Continues after the first `n_frames` frames; later ones are cut off. Throws InputError if the file has fewer
  /// frames or another number of atoms.
  static H5mdWriter continue_after(const std::string& path, std::int64_t n_frames, const H5mdHeader& header);

  /// Appends a frame: time in ps, positions (n,3) Å, velocities (n,3) Å/ps where the header says so. Throws RunError.
  void append(std::int64_t step, double time, const Box& box, std::span<const float> positions,
              std::span<const float> velocities = {});
  /// Makes room for the rows of the next frame. Throws RunError.
  H5mdPlaces begin_frame();
  /// Makes the frame, all rows of which are written, part of the file. Throws RunError.
  void finish_frame(std::int64_t step, double time, const Box& box);
  std::int64_t n_frames() const { return n_frames_; }
  /// Returns whether the path still names this file: not once it was removed, moved or replaced.
  bool is_in_place() const { return file_.is_in_place(); }
  /// Waits until all frames are on the disk.
  void synchronize() const { file_.synchronize(); }

 private:
  H5mdWriter(Hdf5File file, const H5mdHeader& header)
      : file_(std::move(file)), rows_(H5mdRows::open(file_.path())), header_(header) {}

  Hdf5File file_;
  H5mdRows rows_;
  H5mdHeader header_;
  std::int64_t n_frames_ = 0;
};

}  // namespace tessera::io
