// XTC trajectories: several ranks compress whole frames in turn, on helper threads, and the root writes them in order.
// A frame is one stream of bits, in which the place of an atom follows from all before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tessera/app/trajectory/sink.h"
#include "tessera/comm/communicator.h"
#include "tessera/io/write_behind.h"
#include "tessera/io/xtc.h"

namespace tessera::app {

class XtcSink final : public FrameSink {
 public:
  /// Begins a file of so many atoms, or goes on after its first `frames` frames where that is given and the file is
  /// there. `comm` must outlive it. Throws InputError, RunError. Collective.
  XtcSink(const std::string& path, std::optional<std::int64_t> frames, std::int64_t n_atoms,
          const comm::Communicator& comm);

  /// Appends a frame, of which all rows are on one rank.
  void append(Frame frame) override;
  void synchronize() override;
  std::int64_t n_frames() const override { return file_ ? n_before_ + n_appended_ : 0; }
  bool is_in_place() const override { return !file_ || file_->is_in_place(); }

 private:
  void write_encoded();

  const comm::Communicator& comm_;
  const std::string path_;
  std::int64_t n_appended_ = 0, n_before_ = 0;
  std::optional<io::XtcWriter> file_;                  // on the root
  std::map<std::int64_t, std::vector<char>> to_come_;  // on the root: frames that others must be written before
  std::int64_t n_written_ = 0;                         // on the root: frames that were handed to the helper thread

  std::mutex mutex_;                // of encoded_
  std::vector<std::byte> encoded_;  // frames that this rank has compressed: number, size, bytes
  io::WriteBehind helper_;          // the last member: its thread uses the others
};

}  // namespace tessera::app
