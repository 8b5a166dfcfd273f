// XTC trajectories: several ranks compress whole frames in turn, on helper threads, and the root writes them in order.
// A frame is one stream of bits, in which the place of an atom follows from all before it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/app/trajectory/format.h"
#include "tessera/app/trajectory/one_file/open_writer.h"
#include "tessera/app/trajectory/settings.h"
#include "tessera/app/trajectory/sink.h"
#include "tessera/base/error.h"
#include "tessera/comm/communicator.h"
#include "tessera/comm/on_root.h"
#include "tessera/io/write_behind.h"
#include "tessera/io/xtc.h"

namespace tessera::app {

namespace {

class XtcSink final : public FrameSink {
 public:
  /// Begins a file of so many atoms, or goes on after its first `frames` frames where that is given and the file is
  /// there. `comm` must outlive it. Throws InputError, RunError. Collective.
  XtcSink(const std::string& path, std::optional<std::int64_t> frames, std::int64_t n_atoms,
          const comm::Communicator& comm);

  /// Appends a frame, all of whose rows are on one rank.
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

XtcSink::XtcSink(const std::string& path, std::optional<std::int64_t> frames, std::int64_t n_atoms,
                 const comm::Communicator& comm)
    : comm_(comm), path_(path), helper_(most_bytes_held) {
  comm::on_root(comm, [&] {
    file_.emplace(open_writer<io::XtcWriter>(path, frames, n_atoms));
    n_before_ = file_->n_frames();
  });
}

void XtcSink::append(Frame frame) {
  const auto number = n_appended_++;
  comm::on_each_rank(comm_, [&] {
    if (frame.positions.empty()) return;
    const auto bytes = std::ssize(frame.positions) * 4;
    helper_.hand_over(bytes, [this, number, held = std::make_shared<const Frame>(std::move(frame))] {
      const auto encoded = io::encode_xtc(path_, held->step, held->time, held->box, held->positions);
      const std::array<std::int64_t, 2> head = {number, std::ssize(encoded)};
      const std::lock_guard lock(mutex_);
      for (const std::span<const std::byte> part : {comm::bytes_of(head), comm::bytes_of(encoded)})
        encoded_.insert(encoded_.end(), part.begin(), part.end());
    });
  });
  write_encoded();
}

void XtcSink::synchronize() {
  comm::on_each_rank(comm_, [&] { helper_.wait(); });
  write_encoded();
  comm::on_root(comm_, [&] {
    helper_.wait();
    TESSERA_CHECK(n_written_ == n_appended_);
    file_->synchronize();
  });
}

/// Hands the frames that follow the last one to the helper thread of the root.
void XtcSink::write_encoded() {
  std::vector<std::byte> own;
  {
    const std::lock_guard lock(mutex_);
    own = std::exchange(encoded_, {});
  }
  const auto gathered = comm_.gather(own, 0);
  comm::on_root(comm_, [&] {
    for (const auto& frames : gathered)
      for (std::size_t at = 0; at < frames.size();) {
        std::array<std::int64_t, 2> head{};
        std::memcpy(head.data(), frames.data() + at, sizeof head);
        at += sizeof head;
        auto& bytes = to_come_[head[0]];
        bytes.resize(static_cast<std::size_t>(head[1]));
        std::memcpy(bytes.data(), frames.data() + at, bytes.size());
        at += bytes.size();
      }
    for (auto next = to_come_.find(n_written_); next != to_come_.end(); next = to_come_.find(++n_written_)) {
      auto bytes = std::make_shared<const std::vector<char>>(std::move(next->second));
      to_come_.erase(next);
      helper_.hand_over(std::ssize(*bytes), [this, bytes] { file_->append_encoded(*bytes); });
    }
  });
}

std::int64_t xtc_atom_bytes(const FrameContents& /*contents*/) {
  return 4;  // water at 0.01 Å takes a third of 12 bytes
}

std::int64_t xtc_frame_bytes(const TrajectorySettings& settings, std::int64_t n_atoms, bool /*is_periodic*/) {
  return xtc_atom_bytes(settings.contents) * n_atoms + 92;
}

std::unique_ptr<FrameSink> open_xtc(const Opening& o) {
  return std::make_unique<XtcSink>(o.settings.path, o.frames, o.n_atoms(), o.comm);
}

}  // namespace

extern constinit const TrajectoryFormat xtc_format = {.name = "xtc",
                                                      .method = "sdaw",
                                                      .is_rounded = true,
                                                      .takes_turns = true,
                                                      .atom_bytes = xtc_atom_bytes,
                                                      .frame_bytes = xtc_frame_bytes,
                                                      .open = open_xtc};

}  // namespace tessera::app
