// Executes one redistribution of a transform: pack, send, receive, unpack; a rank's own part is copied straight.
#pragma once

#include <cstddef>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/fft/plan.h"

namespace tessera::fft {

class Reshape {
 public:
  /// `from` and `to` are this rank's boxes; values have `value_size` bytes. Ranks use the same tag.
  Reshape(const Exchange& exchange, const IndexBox& from, const IndexBox& to, std::size_t value_size, int tag,
          const comm::Communicator& comm, ThreadPool& threads);

  /// True where every value stays where it is, so that the caller may use one array for both.
  bool is_identity() const { return is_identity_; }

  /// Collective unless is_identity(). Fills the whole of `to`.
  void execute(const std::byte* from, std::byte* to);

 private:
  /// Rows along z copied between two arrays; offsets and strides in bytes.
  struct Copy {
    std::size_t source, source_x, source_y;
    std::size_t target, target_x, target_y;
    std::int64_t n_x, n_y;
    std::size_t row;
  };
  struct Message {
    int peer;
    std::size_t begin, end;  // bytes of the buffer
  };
  /// Copies by rows: first_row[i] is how many rows stand before copies[i].
  struct Copies {
    std::vector<Copy> list;
    std::vector<std::int64_t> first_row{0};
    void add(const Copy& copy);
  };

  void run(const Copies& copies, const std::byte* source, std::byte* target);

  const comm::Communicator& comm_;
  ThreadPool& threads_;
  int tag_;
  bool is_identity_;
  Copies pack_, keep_, unpack_;
  std::vector<Message> sends_, receives_;
  std::vector<std::byte> send_buffer_, receive_buffer_;
  std::vector<comm::Request> requests_;
};

}  // namespace tessera::fft
