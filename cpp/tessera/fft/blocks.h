// Describes boxes of mesh values in memory, from which lines are gathered and to which they are scattered. A sweep
// reads its lines from where the previous exchange left them and writes them to where the next one reads them, which
// saves separate passes over memory to pack and unpack.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/base/index_box.h"
#include "tessera/fft/lines/transpose.h"

namespace tessera::fft {

/// Holds the values of a box in memory, z fastest. All numbers count values.
struct Block {
  IndexBox box;
  int memory = 0;           // index in the memories of the block's user
  std::int64_t offset = 0;  // of box.lower
  std::int64_t stride_x = 0, stride_y = 0;
  std::int64_t batch_stride = 0;  // from one field of a batch to the next
  bool streams = false;           // values are written past the caches if possible

  std::int64_t flat(std::int64_t x, std::int64_t y, std::int64_t z) const {
    return offset + (x - box.lower[0]) * stride_x + (y - box.lower[1]) * stride_y + (z - box.lower[2]);
  }
};

/// Returns the block that is a whole array, without padding.
inline Block whole_array(const IndexBox& box, int memory) {
  return {box, memory, 0, box.extent(1) * box.extent(2), box.extent(2), box.size()};
}

/// Returns a padded block of a buffer. Rows start on cache lines, and the size of a layer is not a multiple of a page,
/// as lines along x would then map to few sets of the cache. The layout depends on the box and the size of a value
/// alone, so two ranks agree on it.
inline Block padded_block(const IndexBox& box, int memory, std::int64_t offset, std::int64_t value_size) {
  const std::int64_t line = std::max<std::int64_t>(1, 64 / value_size), page = 4096 / value_size;
  const std::int64_t row = (box.extent(2) + line - 1) / line * line;
  std::int64_t layer = row * box.extent(1);
  if (layer % page == 0) layer += line;
  return {box, memory, offset, layer, row, layer * box.extent(0)};
}

/// Describes `n` lines that are transformed together, from `first` on. Lines are counted over `width` columns of all
/// rows from column `v_begin` on, v fastest.
struct Bundle {
  std::int64_t first = 0, n = 0, v_begin = 0, width = 0;

  Bundle moved_by(std::int64_t rows) const { return {first + rows * width, n, v_begin, width}; }
};

/// Divides rows of lines into bundles of `lanes`. Bundles start at the start of a row, so that their lines are
/// neighbours in memory and aligned to cache lines; the remainders at the ends of `lanes` rows fill bundles of their
/// own.
template <int lanes>
class Bundles {
 public:
  Bundles(std::int64_t rows, std::int64_t columns)
      : rows_(rows), columns_(columns), whole_(columns / lanes), rest_(columns % lanes) {}

  std::int64_t count() const {
    const std::int64_t last = rows_ % lanes;
    return rows_ / lanes * columns_ + last * whole_ + (last * rest_ + lanes - 1) / lanes;
  }
  Bundle operator[](std::int64_t i) const {
    const std::int64_t row = i / columns_ * lanes, n_rows = std::min<std::int64_t>(lanes, rows_ - row);
    const std::int64_t in_group = i % columns_, first = (in_group - n_rows * whole_) * lanes;
    if (first < 0) return {(row + in_group / whole_) * columns_ + in_group % whole_ * lanes, lanes, 0, columns_};
    return {row * rest_ + first, std::min<std::int64_t>(lanes, n_rows * rest_ - first), whole_ * lanes, rest_};
  }

 private:
  std::int64_t rows_, columns_, whole_, rest_;
};

/// Describes the input or the output side of a sweep: the blocks that the lines of a box along one direction pass
/// through. Lines are counted over the two other directions, the last fastest.
class Side {
 public:
  Side() = default;
  Side(int direction, const IndexBox& box, const std::vector<Block>& blocks) {
    const int u = direction == 0 ? 1 : 0, v = direction == 2 ? 1 : 2;
    n_v_ = box.extent(v);
    n_points_ = box.extent(direction);
    std::vector<std::vector<int>> rows(static_cast<std::size_t>(box.extent(u)));
    for (const auto& block : blocks) {
      const IndexBox b = intersection(block.box, box);
      if (b.is_empty()) continue;
      const auto stride = [&](int d) { return d == 0 ? block.stride_x : d == 1 ? block.stride_y : 1; };
      for (auto row = b.lower[u] - box.lower[u]; row < b.upper[u] - box.lower[u]; ++row)
        rows[static_cast<std::size_t>(row)].push_back(static_cast<int>(strips_.size()));
      strips_.push_back({block.memory, block.streams, block.flat(b.lower[0], b.lower[1], b.lower[2]),
                         block.batch_stride, b.lower[direction] - box.lower[direction], b.extent(direction),
                         b.lower[u] - box.lower[u], b.lower[v] - box.lower[v], b.upper[v] - box.lower[v],
                         stride(direction), stride(u), stride(v)});
    }
    for (const auto& row : rows) {
      entries_.insert(entries_.end(), row.begin(), row.end());
      row_end_.push_back(entries_.size());
    }
  }

  /// Returns the number of points of a line.
  std::int64_t n_points() const { return n_points_; }
  std::int64_t rows() const { return static_cast<std::int64_t>(row_end_.size()); }
  std::int64_t columns() const { return n_v_; }

  /// Tells whether anything is written past the caches.
  bool streams() const {
    return std::any_of(strips_.begin(), strips_.end(), [](const Strip& strip) { return strip.streams; });
  }

  /// Finds where each point of the lines of a bundle is, if these are consecutive in memory: fills `places`, and
  /// `streams` with the blocks' values. Returns false if they are not consecutive.
  template <class Value, class Place>
  bool find_places(std::byte* const* memories, std::int64_t field, const Bundle& bundle, Place* places,
                   bool* streams = nullptr) const {
    std::int64_t found = 0;
    for_runs(bundle, [&](const Strip& s, std::int64_t offset, std::int64_t, std::int64_t count) {
      if (count != bundle.n || s.v_stride != 1 || found + s.length > n_points_) {
        found = n_points_ + 1;
        return;
      }
      Value* at = reinterpret_cast<Value*>(memories[s.memory]) + offset + field * s.batch_stride;
      for (std::int64_t i = 0; i < s.length; ++i) places[s.begin + i] = reinterpret_cast<Place>(at + i * s.line_stride);
      if (streams != nullptr) std::fill_n(streams + s.begin, s.length, s.streams);
      found += s.length;
    });
    return found == n_points_;
  }

  /// Gathers the lines of a bundle of one field of a batch into scratch: point i of line l at i · lanes + l.
  template <int lanes, class Value>
  void gather(std::byte* const* memories, std::int64_t field, const Bundle& bundle, Value* scratch) const {
    for_runs(bundle, [&](const Strip& s, std::int64_t offset, std::int64_t line, std::int64_t count) {
      const Value* from = reinterpret_cast<const Value*>(memories[s.memory]) + offset + field * s.batch_stride;
      copy_lines<lanes>(from, s.line_stride, s.v_stride, scratch + s.begin * lanes + line, lanes, 1, s.length, count);
    });
  }

  /// Scatters lines from scratch. Points that are in several blocks are written to all of them.
  template <int lanes, class Value>
  void scatter(std::byte* const* memories, std::int64_t field, const Bundle& bundle, const Value* scratch) const {
    for_runs(bundle, [&](const Strip& s, std::int64_t offset, std::int64_t line, std::int64_t count) {
      Value* to = reinterpret_cast<Value*>(memories[s.memory]) + offset + field * s.batch_stride;
      copy_lines<lanes>(scratch + s.begin * lanes + line, lanes, 1, to, s.line_stride, s.v_stride, s.length, count,
                        s.streams);
    });
  }

 private:
  /// Describes a block's part of the lines: `length` points from point `begin` on, in lines from u_begin and v_begin
  /// on.
  struct Strip {
    int memory;
    bool streams;
    std::int64_t offset, batch_stride;
    std::int64_t begin, length, u_begin, v_begin, v_end;
    std::int64_t line_stride, u_stride, v_stride;
  };

  template <class Function>
  void for_runs(const Bundle& bundle, Function&& function) const {
    for (std::int64_t lane = 0; lane < bundle.n;) {
      const std::int64_t line = bundle.first + lane, u = line / bundle.width, column = line % bundle.width;
      const std::int64_t v = bundle.v_begin + column, length = std::min(bundle.n - lane, bundle.width - column);
      const auto row = static_cast<std::size_t>(u);
      for (std::size_t i = row == 0 ? 0 : row_end_[row - 1]; i < row_end_[row]; ++i) {
        const Strip& s = strips_[static_cast<std::size_t>(entries_[i])];
        const std::int64_t begin = std::max(v, s.v_begin), end = std::min(v + length, s.v_end);
        if (begin < end)
          function(s, s.offset + (u - s.u_begin) * s.u_stride + (begin - s.v_begin) * s.v_stride, lane + begin - v,
                   end - begin);
      }
      lane += length;
    }
  }

  /// Copies `length` points of `count` lines. On either side the lines or the points are consecutive.
  template <int lanes, class Value>
  static void copy_lines(const Value* from, std::int64_t from_point, std::int64_t from_line, Value* to,
                         std::int64_t to_point, std::int64_t to_line, std::int64_t length, std::int64_t count,
                         bool streams = false) {
    if (from_line == 1 && to_line == 1 && count == lanes)
      for (std::int64_t i = 0; i < length; ++i) std::copy_n(from + i * from_point, lanes, to + i * to_point);
    else if (count == 1 || (from_line == 1 && to_line == 1))
      for (std::int64_t line = 0; line < count; ++line)
        for (std::int64_t i = 0; i < length; ++i) to[i * to_point + line] = from[i * from_point + line];
    else if (from_point == 1)
      transpose(from, from_line, count, length, to, to_point, streams);
    else
      transpose(from, from_point, length, count, to, to_line, streams);
  }

  std::int64_t n_v_ = 0, n_points_ = 0;
  std::vector<Strip> strips_;
  std::vector<int> entries_;          // indices of strips, row after row
  std::vector<std::size_t> row_end_;  // index into entries_
};

}  // namespace tessera::fft
