#include "tessera/app/trajectory/one_file/xtc_frames.h"

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "tessera/app/trajectory/one_file/open_writer.h"
#include "tessera/base/error.h"
#include "tessera/comm/on_root.h"

namespace tessera::app {

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

}  // namespace tessera::app
