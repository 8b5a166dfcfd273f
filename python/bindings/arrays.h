// Boxes and lists of messages as NumPy arrays.
#pragma once

#include <nanobind/ndarray.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "tessera/base/index_box.h"

/// (n, 2, 3): first index and end of each box.
using Boxes =
    nanobind::ndarray<const std::int64_t, nanobind::shape<-1, 2, 3>, nanobind::c_contig, nanobind::device::cpu>;
using Rows = nanobind::ndarray<nanobind::numpy, std::int64_t>;

inline std::vector<tessera::IndexBox> boxes_of(const Boxes& array) {
  std::vector<tessera::IndexBox> boxes(array.shape(0));
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (std::size_t d = 0; d < 3; ++d) {
      boxes[i].lower[d] = array(i, 0, d);
      boxes[i].upper[d] = array(i, 1, d);
    }
  return boxes;
}

/// Returns rows of three numbers, as an array of that shape.
inline Rows matrix(std::vector<std::array<std::int64_t, 3>> rows, std::initializer_list<std::size_t> shape) {
  auto* kept = new std::vector<std::array<std::int64_t, 3>>(std::move(rows));
  const nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<decltype(kept)>(p); });
  return {kept->data(), shape, owner};
}

/// Returns rows as an array (n, 3).
inline Rows matrix(std::vector<std::array<std::int64_t, 3>> rows) {
  const std::size_t n = rows.size();
  return matrix(std::move(rows), {n, 3});
}

/// Returns boxes as an array (n, 2, 3).
inline Rows array_of(const std::vector<tessera::IndexBox>& boxes) {
  std::vector<std::array<std::int64_t, 3>> rows;
  for (const auto& box : boxes) rows.insert(rows.end(), {box.lower, box.upper});
  return matrix(std::move(rows), {boxes.size(), 2, 3});
}
