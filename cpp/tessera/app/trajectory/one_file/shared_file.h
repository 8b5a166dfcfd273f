// Frames in one file that several ranks write, each its rows, on helper threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "tessera/app/trajectory/exchange.h"
#include "tessera/app/trajectory/format.h"
#include "tessera/app/trajectory/settings.h"
#include "tessera/app/trajectory/sink.h"
#include "tessera/comm/communicator.h"
#include "tessera/comm/on_root.h"
#include "tessera/io/write_behind.h"

namespace tessera::app {

/// One frame is being written at a time, so that a file never holds rows behind a frame that is not whole; later ones
/// wait in memory.
///
/// `File` is one format's: begin() and finish(frame) are collective, put(first_row, frame) writes rows on the helper
/// thread of a rank that has any, and begin() is called again when finish() is done.
template <class File>
class SharedFileSink final : public FrameSink {
 public:
  /// Keeps references, which must outlive it.
  SharedFileSink(std::unique_ptr<File> file, const FrameExchange& exchange, const comm::Communicator& comm)
      : comm_(comm), file_(std::move(file)) {
    const auto& shares = exchange.shares();
    std::int64_t most_rows = 1;
    for (int share = 0; share < shares.n_shares(); ++share) most_rows = std::max(most_rows, shares.n_rows(share));
    most_waiting_ = std::max<std::int64_t>(2, most_bytes_held / (12 * most_rows * exchange.contents().n_quantities()));
    if (exchange.own_share() >= 0) first_row_ = shares.first_row(exchange.own_share());
  }

  void append(Frame frame) override {
    waiting_.push_back(std::make_shared<const Frame>(std::move(frame)));
    if (waiting_.size() == 1)
      begin_first();
    else if (is_first_finished() && waiting_.size() > 1)
      finish_first();  // after a wait for the disk, frames are written faster than they come
    while (std::ssize(waiting_) > most_waiting_) finish_first();
  }
  void synchronize() override {
    while (!waiting_.empty()) finish_first();
    comm::on_each_rank(comm_, [&] { file_->synchronize(); });
  }
  std::int64_t n_frames() const override { return file_->n_frames() + std::ssize(waiting_); }
  bool is_in_place() const override { return file_->is_in_place(); }

 private:
  void begin_first() {
    file_->begin();
    if (first_row_ < 0) return;
    helper_.hand_over(0, [this, frame = waiting_.front()] { file_->put(first_row_, *frame); });
  }
  void end_first() {
    file_->finish(*waiting_.front());
    waiting_.pop_front();
    if (!waiting_.empty()) begin_first();
  }
  /// Goes on to the next frame where all ranks have written the first, and tells whether they have.
  bool is_first_finished() {
    std::int64_t is_busy = 0;
    comm::on_each_rank(comm_, [&] { is_busy = helper_.is_idle() ? 0 : 1; });
    if (comm::all_reduce_max(comm_, is_busy) != 0) return false;
    end_first();
    return true;
  }
  void finish_first() {
    comm::on_each_rank(comm_, [&] { helper_.wait(); });
    end_first();
  }

  const comm::Communicator& comm_;
  std::unique_ptr<File> file_;
  std::int64_t most_waiting_ = 2;                     // frames
  std::int64_t first_row_ = -1;                       // of this rank's rows; −1: none
  std::deque<std::shared_ptr<const Frame>> waiting_;  // the first is being written
  io::WriteBehind helper_{0};                         // the last member: its thread uses the others
};

template <class File, class Header>
std::unique_ptr<FrameSink> open_shared(const Opening& o, const Header& header) {
  auto file = std::make_unique<File>(o.settings.path, o.frames, header, o.exchange.own_share() >= 0, o.comm);
  return std::make_unique<SharedFileSink<File>>(std::move(file), o.exchange, o.comm);
}

}  // namespace tessera::app
