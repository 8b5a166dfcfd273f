// A file of frames, one after the other, each of which ranks write together by a method of the registry.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tessera/base/files/descriptor.h"
#include "tessera/comm/communicator.h"
#include "tessera/io/write/format.h"
#include "tessera/io/write/method.h"

namespace tessera::io::write {

/// Of a format that a run goes on with, the last byte of a frame, a line end, is written when all others are, then the
/// count in the header of the file: ranks that are killed lose at most that frame, and readers, which want whole lines,
/// see it as not complete.
///
/// All members are collective, but those that are const.
class FrameFile {
 public:
  /// Begins a file, or goes on after its first `frames` frames where that is given and the file is there, and cuts off
  /// later ones. `like`: a frame as all are but for moment and cell, which the header of the file tells of; `n_own`:
  /// atoms of this rank in the first frame; in others they may be others, as many on all ranks together. References
  /// must outlive it. Throws InputError where the method or its options can't be, or the file holds other or fewer
  /// frames; RunError.
  FrameFile(const comm::Communicator& comm, std::string path, const Frame& like, std::int64_t n_own,
            const Format& format, const Method& method, const WriteOptions& options,
            std::optional<std::int64_t> frames);

  /// Appends a frame, of which `atoms` are this rank's; it is lost where the file is not in its place. Throws RunError.
  void append(const Frame& frame, const Atoms& atoms);
  /// Waits until all frames are on the disk. Throws RunError.
  void synchronize() const;
  std::int64_t n_frames() const { return n_frames_; }
  /// Returns false once a file that this rank has open was removed, moved or replaced.
  bool is_in_place() const { return !file_ || file_->is_in_place(); }

 private:
  std::int64_t begin_of(std::int64_t frame) const { return file_header_bytes_ + frame * frame_bytes_; }
  void go_on(std::int64_t n_frames);
  void plan_for(const Atoms& atoms);
  bool is_in_place_on_root() const;
  void write_rows(const Destination& destination, const Frame& frame, const Atoms& atoms);
  void write_file_header() const;

  const comm::Communicator& comm_;
  std::string path_;
  Frame like_;
  const Format& format_;
  const Method& method_;
  WriteOptions options_;
  WriteProblem problem_;
  WritePlan plan_;
  std::int64_t n_atoms_ = 0, n_frames_ = 0;
  std::int64_t file_header_bytes_ = 0, frame_bytes_ = 0;
  std::optional<Descriptor> file_;  // on the root and on ranks with atoms
};

}  // namespace tessera::io::write
