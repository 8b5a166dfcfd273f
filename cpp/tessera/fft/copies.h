// Copies values between blocks if no sweep does so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/fft/blocks.h"

namespace tessera::fft {

/// Lists boxes to copy, whose rows threads share.
class Copies {
 public:
  explicit Copies(std::int64_t value_size) : value_size_(value_size) {}

  bool is_empty() const { return list_.empty(); }
  /// Adds a copy of the values of `box` (inside from.box) to `box` + shift in the other block.
  void add(const IndexBox& box, const Block& from, const Block& to, const Index3& shift = {});
  /// Copies the values of this many fields.
  void run(std::byte* const* memories, std::int64_t fields, ThreadPool& threads) const;

 private:
  /// Describes rows along z; offsets and strides are in bytes.
  struct Copy {
    int from, to;  // indices of memories
    std::int64_t source, source_x, source_y, source_batch;
    std::int64_t target, target_x, target_y, target_batch;
    std::int64_t n_y, row;
  };

  std::int64_t value_size_;
  std::vector<Copy> list_;
  std::vector<std::int64_t> first_row_{0};  // number of rows before each copy
};

}  // namespace tessera::fft
