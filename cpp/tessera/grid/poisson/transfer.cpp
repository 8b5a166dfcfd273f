#include "tessera/grid/poisson/transfer.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tessera::grid {

namespace {

std::int64_t floor_half(std::int64_t i) { return i >= 0 ? i / 2 : -((1 - i) / 2); }

/// The fine points that restricting to a coarse box reads.
IndexBox fine_around(const Level& fine, const IndexBox& coarse) {
  if (coarse.is_empty()) return {};
  IndexBox box = coarse;
  for (std::size_t d = 0; d < 3; ++d)
    if (fine.is_halved[d]) {
      box.lower[d] = fine.finer(d, coarse.lower[d]) - 1;
      box.upper[d] = fine.finer(d, coarse.upper[d] - 1) + 2;
    }
  return box;
}

/// The coarse points that interpolating to a fine box reads.
IndexBox coarse_around(const Level& fine, const IndexBox& box) {
  if (box.is_empty()) return {};
  IndexBox around = box;
  for (std::size_t d = 0; d < 3; ++d)
    if (fine.is_halved[d]) {
      const std::int64_t first = fine.finer(d, 0);
      around.lower[d] = floor_half(box.lower[d] - first);
      around.upper[d] = floor_half(box.upper[d] - 1 - first) + 2;
    }
  return around;
}

template <class Around>
MovedBoxes moved(const Level& from, const Level& to, Around&& around) {
  MovedBoxes boxes{from.layout.shape, from.layout.is_periodic, from.layout.boxes, {}};
  for (const auto& box : to.layout.boxes) boxes.to.push_back(around(box));
  return boxes;
}

/// to[i] = ¼ (a[i] + c[i]) + ½ b[i]
template <class Real>
void weigh(const Real* a, const Real* b, const Real* c, Real* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = Real(0.25) * (a[i] + c[i]) + Real(0.5) * b[i];
}
template <class Real>
void halve_sum(const Real* a, const Real* b, Real* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = Real(0.5) * (a[i] + b[i]);
}

}  // namespace

template <class Real>
LevelTransfer<Real>::LevelTransfer(const Level& fine, const Level& coarse, const comm::Communicator& comm,
                                   ThreadPool& threads)
    : fine_(fine),
      threads_(threads),
      fine_place_(dense(fine.layout.boxes[static_cast<std::size_t>(comm.rank())])),
      coarse_place_(dense(coarse.layout.boxes[static_cast<std::size_t>(comm.rank())])),
      fine_around_(dense(grid::fine_around(fine, coarse_place_.box))),
      coarse_around_(dense(grid::coarse_around(fine, fine_place_.box))),
      down_(moved(fine, coarse, [&](const IndexBox& box) { return grid::fine_around(fine, box); }), fine_place_,
            fine_around_, true, comm, threads),
      up_(moved(coarse, fine, [&](const IndexBox& box) { return grid::coarse_around(fine, box); }), coarse_place_,
          coarse_around_, false, comm, threads),
      fine_values_(static_cast<std::size_t>(fine_around_.size())),
      coarse_values_(static_cast<std::size_t>(coarse_around_.size())) {}

template <class Real>
void LevelTransfer<Real>::restrict_to_coarse(const Real* fine, Real* coarse) {
  down_.execute(fine, fine_values_.data());
  const auto& box = coarse_place_.box;
  if (box.is_empty()) return;
  const auto& [halved_x, halved_y, halved_z] = fine_.is_halved;
  const std::int64_t width = fine_around_.box.extent(2), length = box.extent(2);
  const std::int64_t own_begin = std::max(fine_place_.box.lower[2], fine_around_.box.lower[2]),
                     own_end = std::min(fine_place_.box.upper[2], fine_around_.box.upper[2]);
  threads_.parallel_for(box.extent(0), [&](std::int64_t begin, std::int64_t end) {
    std::vector<Real> whole(static_cast<std::size_t>(width));
    // Rows along z first, then those along y, then those along x: rows_z[1 + …], plane by plane.
    const std::int64_t plane = box.extent(1) * length;
    std::array<std::vector<Real>, 3> planes;
    std::array<std::vector<Real>, 3> rows;
    for (auto& values : planes) values.resize(static_cast<std::size_t>(plane));
    for (auto& values : rows) values.resize(static_cast<std::size_t>(length));
    const auto row_along_z = [&](std::int64_t x, std::int64_t y, Real* to) {
      const Real* from = fine_values_.data() + fine_around_.at(x, y);
      const auto& own = fine_place_.box;
      if (x >= own.lower[0] && x < own.upper[0] && y >= own.lower[1] && y < own.upper[1] && own_begin < own_end) {
        std::copy_n(from, width, whole.data());
        std::copy_n(fine + fine_place_.at(x, y) + own_begin - own.lower[2], own_end - own_begin,
                    whole.data() + own_begin - fine_around_.box.lower[2]);
        from = whole.data();
      }
      if (!halved_z) return void(std::copy_n(from, length, to));
      for (std::int64_t i = 0; i < length; ++i)
        to[i] = Real(0.25) * (from[2 * i] + from[2 * i + 2]) + Real(0.5) * from[2 * i + 1];
    };
    const auto plane_along_y = [&](std::int64_t x, Real* to) {
      for (std::int64_t y = box.lower[1]; y < box.upper[1]; ++y, to += length) {
        const std::int64_t at = fine_.finer(1, y);
        if (!halved_y) {
          row_along_z(x, at, to);
          continue;
        }
        if (y == box.lower[1])
          row_along_z(x, at - 1, rows[0].data());
        else
          std::swap(rows[0], rows[2]);
        row_along_z(x, at, rows[1].data());
        row_along_z(x, at + 1, rows[2].data());
        weigh(rows[0].data(), rows[1].data(), rows[2].data(), to, length);
      }
    };
    for (auto i = begin; i < end; ++i) {
      const std::int64_t at = fine_.finer(0, box.lower[0] + i);
      Real* to = coarse + i * plane;
      if (!halved_x) {
        plane_along_y(at, to);
        continue;
      }
      if (i == begin)
        plane_along_y(at - 1, planes[0].data());
      else
        std::swap(planes[0], planes[2]);
      plane_along_y(at, planes[1].data());
      plane_along_y(at + 1, planes[2].data());
      weigh(planes[0].data(), planes[1].data(), planes[2].data(), to, plane);
    }
  });
}

template <class Real>
void LevelTransfer<Real>::interpolate_to_fine(const Real* coarse, Real* fine) {
  up_.execute(coarse, coarse_values_.data());
  const auto& box = fine_place_.box;
  if (box.is_empty()) return;
  const auto& around = coarse_around_.box;
  const std::int64_t length = box.extent(2), width = around.extent(2);
  // Along an edge point i is coarse point `at`, or half way between it and the next.
  const auto nearest = [&](std::size_t d, std::int64_t i) {
    const std::int64_t offset = i - fine_.finer(d, 0);
    return fine_.is_halved[d] ? std::pair(floor_half(offset), offset % 2 != 0) : std::pair(i, false);
  };
  threads_.parallel_for(box.extent(0), [&](std::int64_t begin, std::int64_t end) {
    std::vector<Real> mixed_x(static_cast<std::size_t>(around.extent(1) * width)),
        mixed_y(static_cast<std::size_t>(width));
    for (auto i = begin; i < end; ++i) {
      const auto [x, between_x] = nearest(0, box.lower[0] + i);
      const Real* plane = coarse_values_.data() + coarse_around_.at(x, around.lower[1]);
      if (between_x) {
        halve_sum(plane, plane + coarse_around_.stride_x, mixed_x.data(), around.extent(1) * width);
        plane = mixed_x.data();
      }
      for (std::int64_t j = 0; j < box.extent(1); ++j) {
        const auto [y, between_y] = nearest(1, box.lower[1] + j);
        const Real* row = plane + (y - around.lower[1]) * width;
        if (between_y) {
          halve_sum(row, row + width, mixed_y.data(), width);
          row = mixed_y.data();
        }
        Real* to = fine + fine_place_.at(box.lower[0] + i, box.lower[1] + j);
        if (!fine_.is_halved[2]) {
          std::copy_n(row, length, to);
          continue;
        }
        const auto [first, between] = nearest(2, box.lower[2]);
        (void)first;
        std::int64_t k = 0;
        if (between) to[k++] = Real(0.5) * (row[0] + row[1]), ++row;
        for (; k + 1 < length; k += 2, ++row) to[k] = row[0], to[k + 1] = Real(0.5) * (row[0] + row[1]);
        if (k < length) to[k] = row[0];
      }
    }
  });
}

template class LevelTransfer<float>;
template class LevelTransfer<double>;

}  // namespace tessera::grid
