// H5MD 1.1 trajectories (P. de Buyl, P. H. Colberg, F. Höfling, Comput. Phys. Commun. 185, 1546 (2014),
// doi:10.1016/j.cpc.2014.01.018), which MDAnalysis opens, with the names of mdtraj's HDF5 layout linked to the same
// arrays, so that mdtraj.load_hdf5 opens the same file.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tessera/base/box.h"
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

/// Appends frames. Each is handed to the operating system before `append` returns; the file can be read at any moment.
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
  std::int64_t n_frames() const { return n_frames_; }
  /// False once the file was removed, moved or replaced.
  bool is_in_place() const { return file_.is_in_place(); }
  /// Waits until all frames are on the disk.
  void synchronize() const { file_.synchronize(); }

 private:
  H5mdWriter(Hdf5File file, const H5mdHeader& header) : file_(std::move(file)), header_(header) {}

  Hdf5File file_;
  H5mdHeader header_;
  std::int64_t n_frames_ = 0;
};

}  // namespace tessera::io
