#include "tessera/md/vacuum/frame.h"

#include <algorithm>
#include <cmath>

namespace tessera::md::vacuum {

namespace {

std::array<std::int32_t, 3> values_of(const Fraction& f) { return {f.x, f.y, f.z}; }

std::int32_t half(std::int32_t f) {
  const auto below = f >> 1;
  return below + (f & below & 1);  // of the two that are equally near, the even one
}

}  // namespace

void Extent::add(const Fraction& f) {
  const auto values = values_of(f);
  for (std::size_t d = 0; d < 3; ++d) {
    lower[d] = std::min(lower[d], values[d]);
    upper[d] = std::max(upper[d], values[d]);
  }
}

double Extent::diagonal(const Box& frame) const {
  const auto extent = [&](std::size_t d) {
    return std::max(0.0, static_cast<double>(upper[d]) - static_cast<double>(lower[d]));
  };
  return norm(frame.unit_vectors() * Vec3{extent(0), extent(1), extent(2)});
}

Extent extent_of_all(const Extent& own, const comm::Communicator& comm) {
  std::array<std::int64_t, 6> most{};
  for (std::size_t d = 0; d < 3; ++d) most[d] = -std::int64_t{own.lower[d]}, most[3 + d] = own.upper[d];
  comm.all_reduce_max(most);
  Extent all{};
  for (std::size_t d = 0; d < 3; ++d) {
    all.lower[d] = static_cast<std::int32_t>(-most[d]);
    all.upper[d] = static_cast<std::int32_t>(most[3 + d]);
  }
  return all;
}

double range(const Extent& atoms, const Box& frame, double cutoff) {
  constexpr double step = 8;  // Å
  return std::min(cutoff, step * std::ceil(atoms.diagonal(frame) / step));
}

Fit fit(Box& frame, Extent& atoms, double cutoff, double buffer) {
  constexpr double ranges = 8;
  Fit found;
  // Halves are rounded, so the range is that of the extent as it is now: a second call finds nothing to do.
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    const double least = ranges * (range(atoms, frame, cutoff) + buffer);
    std::array<double, 3> by{1, 1, 1};
    for (std::size_t d = 0; d < 3; ++d) {
      const double edge = frame.edges()[d];
      const bool is_within = atoms.lower[d] >= -eighth && atoms.upper[d] < eighth;
      if (is_within && edge >= std::min(least, longest_edge)) continue;
      if (edge >= longest_edge) {
        found.is_full = true;
        continue;
      }
      by[d] = 2;
      ++found.doublings[d];
      atoms.lower[d] = half(atoms.lower[d]);
      atoms.upper[d] = half(atoms.upper[d]);
      has_changed = true;
    }
    frame = stretched(frame, by);
  }
  for (const double edge : frame.edges()) found.is_full |= edge >= 2 * longest_edge;
  return found;
}

Box around(Box frame, const Vec3& place) {
  const std::array<double, 3> r = {std::abs(place.x), std::abs(place.y), std::abs(place.z)};
  constexpr double far = 1e9;  // Å: no frame is so long, and none could tell what is not a number
  for (std::size_t d = 0; d < 3; ++d)
    while (4 * r[d] >= frame.edges()[d] && frame.edges()[d] < far) {
      std::array<double, 3> by{1, 1, 1};
      by[d] = 2;
      frame = stretched(frame, by);
    }
  return frame;
}

Fraction halved(const Fraction& f, const Doublings& doublings) {
  auto values = values_of(f);
  for (std::size_t d = 0; d < 3; ++d)
    for (int i = 0; i < doublings[d]; ++i) values[d] = half(values[d]);
  return {values[0], values[1], values[2]};
}

std::array<double, 3> scale_between(const Box& from, const Box& to) {
  return {from.a().x / to.a().x, from.b().y / to.b().y, from.c().z / to.c().z};
}

}  // namespace tessera::md::vacuum
