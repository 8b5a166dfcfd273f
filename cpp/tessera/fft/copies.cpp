#include "tessera/fft/copies.h"

#include <algorithm>
#include <cstring>

namespace tessera::fft {

void Copies::add(const IndexBox& box, const Block& from, const Block& to, const Index3& shift) {
  if (box.is_empty()) return;
  const auto& l = box.lower;
  const std::int64_t b = value_size_;
  list_.push_back({from.memory, to.memory, from.flat(l[0], l[1], l[2]) * b, from.stride_x * b, from.stride_y * b,
                   from.batch_stride * b, to.flat(l[0] + shift[0], l[1] + shift[1], l[2] + shift[2]) * b,
                   to.stride_x * b, to.stride_y * b, to.batch_stride * b, box.extent(1), box.extent(2) * b});
  first_row_.push_back(first_row_.back() + box.extent(0) * box.extent(1));
}

void Copies::run(std::byte* const* memories, std::int64_t fields, ThreadPool& threads) const {
  for (std::int64_t field = 0; field < fields; ++field)
    threads.parallel_for(first_row_.back(), [&](std::int64_t begin, std::int64_t end) {
      auto i = static_cast<std::size_t>(std::upper_bound(first_row_.begin(), first_row_.end(), begin) -
                                        first_row_.begin() - 1);
      for (std::int64_t row = begin; row < end; ++i) {
        const auto& copy = list_[i];
        const std::byte* source = memories[copy.from] + copy.source + field * copy.source_batch;
        std::byte* target = memories[copy.to] + copy.target + field * copy.target_batch;
        const std::int64_t last = std::min(end, first_row_[i + 1]);
        std::int64_t x = (row - first_row_[i]) / copy.n_y, y = (row - first_row_[i]) % copy.n_y;
        for (; row < last; ++row) {
          std::memcpy(target + x * copy.target_x + y * copy.target_y, source + x * copy.source_x + y * copy.source_y,
                      static_cast<std::size_t>(copy.row));
          if (++y == copy.n_y) ++x, y = 0;
        }
      }
    });
}

}  // namespace tessera::fft
