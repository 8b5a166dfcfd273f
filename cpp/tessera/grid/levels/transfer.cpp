#include "tessera/grid/levels/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <tuple>

#include "tessera/base/error.h"
#include "tessera/grid/levels/rows.h"

namespace tessera::grid {

namespace {

constexpr std::size_t most_terms = 2 * most_transfer_order + 1;

/// Returns the weights of the neighbours at ±½, ±3⁄2 … in the polynomial through 2·order points, at its middle.
std::vector<double> pair_weights(int order) {
  if (order == 1) return {0.5};
  if (order == 2) return {0.5625, -0.0625};
  if (order == 3) return {0.5859375, -0.09765625, 0.01171875};
  return {0.59814453125, -0.11962890625, 0.02392578125, -0.00244140625};
}

std::int64_t modulo(std::int64_t i, std::int64_t n) { return (i % n + n) % n; }
std::int64_t half_down(std::int64_t n) { return n >= 0 ? n / 2 : -((1 - n) / 2); }

/// Returns which edges are halved; along the others both grids have the same points.
std::array<bool, 3> halved_edges(const GridLayout& from, const GridLayout& to) {
  std::array<bool, 3> is_halved{};
  for (std::size_t d = 0; d < 3; ++d) is_halved[d] = from.shape[d] != to.shape[d];
  return is_halved;
}

/// Returns the points of one grid from which a box of the other grid is computed.
IndexBox source_region(TransferKind kind, int order, const std::array<bool, 3>& is_halved, const Index3& offset,
                       const IndexBox& box) {
  if (box.is_empty()) return {};
  IndexBox region;
  for (std::size_t d = 0; d < 3; ++d) {
    const auto first = box.lower[d], last = box.upper[d] - 1;
    if (!is_halved[d]) {
      region.lower[d] = first;
      region.upper[d] = last + 1;
    } else if (kind == TransferKind::restriction) {
      region.lower[d] = 2 * first + offset[d] - (2 * order - 1);
      region.upper[d] = 2 * last + offset[d] + (2 * order - 1) + 1;
    } else {
      region.lower[d] = half_down(first - offset[d]) - (order - 1);
      region.upper[d] = half_down(last - offset[d]) + order + 1;
    }
  }
  return region;
}

std::vector<IndexBox> source_regions(TransferKind kind, int order, const GridLayout& from, const GridLayout& to) {
  if (order < 1 || order > most_transfer_order)
    throw InputError(fmt::format("order {} of a transfer; expected 1 to {}", order, most_transfer_order));
  const auto& [coarse, fine] = kind == TransferKind::restriction ? std::tie(to, from) : std::tie(from, to);
  const auto offset = transfer_offset(fine);
  const auto is_halved = halved_edges(from, to);
  for (std::size_t d = 0; d < 3; ++d)
    if (coarse.is_periodic[d] != fine.is_periodic[d] ||
        (is_halved[d] && fine.shape[d] != 2 * coarse.shape[d] + offset[d]))
      throw InputError(fmt::format("grids of {} and {} points along {}, {}; expected {} fine ones, or as many",
                                   coarse.shape[d], fine.shape[d], "xyz"[d],
                                   fine.is_periodic[d] ? "periodic" : "not periodic", 2 * coarse.shape[d] + offset[d]));
  std::vector<IndexBox> regions;
  for (const auto& box : to.boxes) regions.push_back(source_region(kind, order, is_halved, offset, box));
  return regions;
}

}  // namespace

Index3 transfer_offset(const GridLayout& layout) {
  Index3 offset{};
  for (std::size_t d = 0; d < 3; ++d) offset[d] = layout.is_periodic[d] ? 0 : 1;
  return offset;
}

template <class Real>
Transfer<Real>::Transfer(TransferKind kind, int order, const GridLayout& from, const GridLayout& to, bool is_complex,
                         const comm::Communicator& comm, ThreadPool& threads)
    : kind_(kind),
      order_(order),
      offset_(transfer_offset(from)),
      is_halved_(halved_edges(from, to)),
      threads_(threads),
      target_(to.boxes.at(static_cast<std::size_t>(comm.rank()))),
      around_(from, source_regions(kind, order, from, to), is_complex ? 2 : 1, kind == TransferKind::restriction, comm,
              threads) {
  const bool halves = kind == TransferKind::restriction;
  if (halves) sum_weights_.push_back(static_cast<Real>(0.5));
  for (const auto weight : pair_weights(order)) {
    weights_.push_back(static_cast<Real>(halves ? 0.5 * weight : weight));
    sum_weights_.insert(sum_weights_.end(), 2, weights_.back());
  }
}

/// Finds the parts of row (x, y) of the region where they lie: in the field, around it, or on its other side.
template <class Real>
void Transfer<Real>::find_row(const Real* from, std::int64_t x, std::int64_t y, std::vector<RowPart<Real>>& parts) {
  const auto& box = around_.box();
  const auto& region = around_.region();
  const std::int64_t components = around_.components();
  if (wraps_[0]) x = modulo(x, box.upper[0]);
  if (wraps_[1]) y = modulo(y, box.upper[1]);
  parts.clear();
  const auto add = [&](std::int64_t begin, std::int64_t end, bool is_inside) {
    if (begin < end)
      parts.push_back(
          {is_inside ? from + around_.offset_in_box({x, y, begin}) : around_.around({x, y, begin}), end - begin});
  };
  const bool is_own = box.lower[0] <= x && x < box.upper[0] && box.lower[1] <= y && y < box.upper[1];
  if (!is_own && !wraps_[2]) return add(region.lower[2], region.upper[2], false);
  const auto own_begin = std::clamp(box.lower[2], region.lower[2], region.upper[2]);
  const auto own_end = std::clamp(box.upper[2], own_begin, region.upper[2]);
  if (is_own) {  // rows a few on are fetched ahead
    constexpr std::int64_t rows_ahead = 4;
    const Real* next = from + around_.offset_in_box({x, y + rows_ahead, own_begin});
    const Real* end = from + around_.values_of_field();
    for (std::int64_t i = 0; i < (own_end - own_begin) * components && next + i < end; i += 64 / sizeof(Real))
      __builtin_prefetch(next + i);
  }
  if (wraps_[2]) {  // in parts of at most a period, as the region may reach around more than once
    for (auto z = region.lower[2]; z < region.upper[2];) {
      const auto begin = modulo(z, own_end), end = std::min(own_end, begin + region.upper[2] - z);
      add(begin, end, is_own);
      z += end - begin;
    }
  } else {
    add(region.lower[2], own_begin, false);
    add(own_begin, own_end, true);
    add(own_end, region.upper[2], false);
  }
}

/// Restricts along one edge: calls make(i, where) for fine rows or planes of `values` numbers in turn, of which as many
/// are kept as a coarse one is made from, and sums them to those from `begin` to `end`, `stride` numbers apart.
template <class Real>
template <class Make>
void Transfer<Real>::restrict_along(std::size_t axis, std::int64_t begin, std::int64_t end, std::int64_t values,
                                    std::vector<Real>& kept, Real* to, const Make& make) {
  if (!is_halved_[axis]) {
    for (auto i = begin; i < end; ++i, to += values) make(i, to);
    return;
  }
  const std::int64_t reach = 2 * order_ - 1;
  const auto window = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * reach + 1)));
  kept.resize(static_cast<std::size_t>(window * values));
  const auto place = [&](std::int64_t i) { return kept.data() + (i & (window - 1)) * values; };
  std::array<const Real*, most_terms> terms{};
  auto next = 2 * begin + offset_[axis] - reach;
  for (auto i = begin; i < end; ++i, to += values) {
    const auto centre = 2 * i + offset_[axis];
    for (; next <= centre + reach; ++next) make(next, place(next));
    terms[0] = place(centre);
    for (std::int64_t k = 1; k <= reach; k += 2) {
      terms[static_cast<std::size_t>(k)] = place(centre + k);
      terms[static_cast<std::size_t>(k) + 1] = place(centre - k);
    }
    sum_rows<Real>(std::span<const Real* const>(terms.data(), sum_weights_.size()), sum_weights_, to, values);
  }
}

/// Makes coarse planes from `begin` to `end`. Fine points are read once, in the order in which they lie: each row is
/// restricted along z, then rows along y, then planes along x.
template <class Real>
void Transfer<Real>::restrict_planes(const Real* from, Real* to, std::int64_t begin, std::int64_t end) {
  const auto components = around_.components();
  const auto row_values = target_.extent(2) * components, plane_values = target_.extent(1) * row_values;
  std::vector<Real> rows, planes;
  std::vector<RowPart<Real>> parts;
  const auto make_plane = [&](std::int64_t x, Real* plane) {
    restrict_along(1, target_.lower[1], target_.upper[1], row_values, rows, plane, [&](std::int64_t y, Real* row) {
      find_row(from, x, y, parts);
      if (is_halved_[2]) {
        halve_row<Real>(weights_, components, parts, row, target_.extent(2));
      } else {
        for (const auto& part : parts) row = std::copy_n(part.values, part.n * components, row);
      }
    });
  };
  restrict_along(0, begin, end, plane_values, planes,
                 to + target_.flat({begin, target_.lower[1], target_.lower[2]}) * components, make_plane);
}

/// Makes fine planes from `begin` to `end`.
template <class Real>
void Transfer<Real>::interpolate_planes(Real* to, std::int64_t begin, std::int64_t end) {
  const auto& region = around_.region();
  const auto components = around_.components();
  const auto pitch = around_.place().stride_y, plane_values = around_.place().stride_x;
  std::vector<Real> mixed_x(static_cast<std::size_t>(plane_values)), mixed_y(static_cast<std::size_t>(pitch));
  std::array<const Real*, most_terms> rows{};
  /// Sums what is half-way between `low` and the next, which is `step` numbers on.
  const auto mix = [&](const Real* low, std::int64_t step, std::vector<Real>& sum) {
    const auto terms = sum_weights_.size();
    for (std::size_t k = 0; k < terms; k += 2) {
      rows[k] = low - static_cast<std::int64_t>(k / 2) * step;
      rows[k + 1] = low + static_cast<std::int64_t>(k / 2 + 1) * step;
    }
    sum_rows<Real>(std::span<const Real* const>(rows.data(), terms), sum_weights_, sum.data(),
                   static_cast<std::int64_t>(sum.size()));
    return sum.data();
  };
  // The fine row: perhaps a point half-way at first, pairs, and perhaps a coarse point at last.
  const auto z_begin = target_.lower[2] - offset_[2], z_end = target_.upper[2] - offset_[2];
  const auto first_pair = half_down(z_begin + 1), pairs = std::max<std::int64_t>(0, half_down(z_end) - first_pair);
  // As double_row does: the value just below one.
  const auto half_way = [&](const Real* value) {
    Real sum = 0;
    for (std::size_t k = 0; k < weights_.size(); ++k) {
      const auto step = static_cast<std::ptrdiff_t>(k) * components;
      const Real both = value[-step - components] + value[step];
      sum = k == 0 ? weights_[k] * both : std::fma(weights_[k], both, sum);
    }
    return sum;
  };
  // Along an edge a fine point is a coarse one, or half-way between it and the next.
  const auto below = [&](std::size_t d, std::int64_t i) { return is_halved_[d] ? half_down(i - offset_[d]) : i; };
  const auto is_between = [&](std::size_t d, std::int64_t i) { return is_halved_[d] && (i - offset_[d]) % 2 != 0; };
  for (auto x = begin; x < end; ++x) {
    const Real* plane = around_.around({below(0, x), region.lower[1], region.lower[2]});
    if (is_between(0, x)) plane = mix(plane, plane_values, mixed_x);
    for (auto y = target_.lower[1]; y < target_.upper[1]; ++y) {
      const Real* coarse = plane + (below(1, y) - region.lower[1]) * pitch;
      if (is_between(1, y)) coarse = mix(coarse, pitch, mixed_y);
      Real* fine = to + target_.flat({x, y, target_.lower[2]}) * components;
      if (!is_halved_[2]) {
        std::copy_n(coarse, pitch, fine);
        continue;
      }
      coarse -= region.lower[2] * components;  // so that it is indexed by points
      if (z_begin < 2 * first_pair)
        for (std::int64_t c = 0; c < components; ++c) *fine++ = half_way(coarse + first_pair * components + c);
      double_row<Real>(weights_, components, coarse + first_pair * components, fine, pairs);
      if (z_end > 2 * (first_pair + pairs))
        std::copy_n(coarse + (first_pair + pairs) * components, components, fine + 2 * pairs * components);
    }
  }
}

template <class Real>
void Transfer<Real>::apply(std::span<const Real> from, std::span<Real> to, std::int64_t fields, const Phases& phases) {
  const auto from_values = around_.values_of_field(), to_values = target_.size() * around_.components();
  TESSERA_CHECK(static_cast<std::int64_t>(from.size()) == fields * from_values &&
                static_cast<std::int64_t>(to.size()) == fields * to_values);
  // What restricting reads once is read where it lies: this rank's own values, also as images of one another.
  if (kind_ == TransferKind::restriction) wraps_ = around_.wraps(phases);
  const auto batch = around_.fields_at_once();
  for (std::int64_t first = 0; first < fields; first += batch) {
    const auto n = std::min(batch, fields - first);
    around_.bring(from.data() + first * from_values, n, phases, wraps_);
    for (std::int64_t field = 0; field < n; ++field) {
      around_.fill(field);
      const Real* its = from.data() + (first + field) * from_values;
      Real* made = to.data() + (first + field) * to_values;
      threads_.parallel_for(target_.extent(0), [&](std::int64_t begin, std::int64_t end) {
        if (kind_ == TransferKind::restriction)
          restrict_planes(its, made, target_.lower[0] + begin, target_.lower[0] + end);
        else
          interpolate_planes(made, target_.lower[0] + begin, target_.lower[0] + end);
      });
    }
  }
}

template class Transfer<float>;
template class Transfer<double>;

}  // namespace tessera::grid
