// Copies values between blocks where no sweep does so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/fft/blocks.h"

namespace tessera::fft {

/// A list of boxes to copy, shared out over threads by rows.
class Copies {
 public:
  explicit Copies(std::int64_t value_size) : value_size_(value_size) {}

  bool is_empty() const { return list_.empty(); }
  /// The values of `box` (inside from.box), to `box` + shift in the other block.
  void add(const IndexBox& box, const Block& from, const Block& to, const Index3& shift = {});
  /// Of as many fields.
  void run(std::byte* const* memories, std::int64_t fields, ThreadPool& threads) const;

 private:
  /// Rows along z; offsets and strides in bytes.
  struct Copy {
    int from, to;  // memories
    std::int64_t source, source_x, source_y, source_batch;
    std::int64_t target, target_x, target_y, target_batch;
    std::int64_t n_y, row;
  };

  std::int64_t value_size_;
  std::vector<Copy> list_;
  std::vector<std::int64_t> first_row_{0};  // rows before each of the list
};

}  // namespace tessera::fft
