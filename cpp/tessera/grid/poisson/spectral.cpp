#include "tessera/grid/poisson/spectral.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/fft/lines/transpose.h"

namespace tessera::grid {

namespace {

/// Returns the range of part i of n points that are cut into `parts`.
std::pair<std::int64_t, std::int64_t> part(std::int64_t n, std::int64_t i, std::int64_t parts) {
  return {n * i / parts, n * (i + 1) / parts};
}

/// Returns the boxes of a × b ranks, each with whole lines along one direction.
std::vector<IndexBox> boxes_along(std::size_t whole, const Index3& shape, std::int64_t a, std::int64_t b, int ranks) {
  const std::size_t first = whole == 0 ? 1 : 0, second = whole == 2 ? 1 : 2;
  std::vector<IndexBox> boxes(static_cast<std::size_t>(ranks));
  for (std::int64_t rank = 0; rank < a * b; ++rank) {
    auto& box = boxes[static_cast<std::size_t>(rank)];
    box.upper = shape;
    std::tie(box.lower[first], box.upper[first]) = part(shape[first], rank / b, a);
    std::tie(box.lower[second], box.upper[second]) = part(shape[second], rank % b, b);
    if (box.is_empty()) box = {};
  }
  return boxes;
}

/// Returns a place whose rows begin on cache lines, and whose planes are not multiples of a page, which would fill few
/// sets of the cache along x.
template <class Real>
Place spread(const IndexBox& box) {
  constexpr std::int64_t line = fft::lanes<Real>;
  const std::int64_t row = (box.extent(2) + line - 1) / line * line;
  return {box, row * box.extent(1) + line, row};
}

}  // namespace

template <class Real>
SpectralSolver<Real>::SpectralSolver(const GridLayout& layout, const SeparableLaplacian& laplacian,
                                     const comm::Communicator& comm, ThreadPool& threads, std::int64_t most_fields)
    : threads_(threads), most_fields_(most_fields) {
  const auto& n = layout.shape;
  for (std::size_t d = 0; d < 3; ++d) {
    lines_.emplace_back(n[d], layout.is_periodic[d]);
    second_[d] = symbols(laplacian.second[d], 0, n[d], layout.is_periodic[d]);
    mean_[d] = symbols(laplacian.mean[d], 1, n[d], layout.is_periodic[d]);
  }
  for (const double value : mean_[0]) mean_x_.push_back(static_cast<Real>(value));
  set_shift(0);
  const int ranks = comm.size();
  std::int64_t b = 1;
  while (ranks / b > n[0]) ++b;
  const std::int64_t a = ranks / b;
  const auto me = static_cast<std::size_t>(comm.rank());
  const auto along_z = boxes_along(2, n, a, b, ranks), along_y = boxes_along(1, n, a, b, ranks),
             along_x = boxes_along(0, n, a, b, ranks);
  user_ = dense(layout.boxes[me]);
  given_ = dense(along_z[me]);
  planes_ = spread<Real>(along_y[me]);
  rows_ = spread<Real>(along_z[me]);
  columns_ = spread<Real>(along_x[me]);
  const auto move = [&](const std::vector<IndexBox>& from, const std::vector<IndexBox>& to, const Place& source,
                        const Place& target, std::optional<Move<Real>>& there, std::optional<Move<Real>>& back) {
    if (from == to) return;
    there.emplace(MovedBoxes{n, layout.is_periodic, from, to}, source, target, false, comm, threads);
    back.emplace(MovedBoxes{n, layout.is_periodic, to, from}, target, source, false, comm, threads);
  };
  move(layout.boxes, along_z, user_, given_, gather_, scatter_);
  move(along_z, along_y, rows_, planes_, to_planes_, from_planes_);
  move(along_y, along_x, planes_, columns_, to_columns_, from_columns_);
  if (gather_) given_values_ = fft::AlignedBuffer<Real>(most_fields * given_.size());
  plane_values_ = fft::AlignedBuffer<Real>(most_fields * planes_.size());
  if (to_planes_) row_values_ = fft::AlignedBuffer<Real>(most_fields * rows_.size());
  if (to_columns_) column_values_ = fft::AlignedBuffer<Real>(most_fields * columns_.size());
  const auto longest = *std::max_element(n.begin(), n.end());
  for (int t = 0; t < threads.size(); ++t) {
    scratch_.push_back({lines_[0].scratch(), lines_[1].scratch(), lines_[2].scratch()});
    bundles_.emplace_back(longest * lanes);
  }
}

template <class Real>
void SpectralSolver<Real>::set_shift(double shift) {
  second_x_.clear();
  for (std::size_t k = 0; k < second_[0].size(); ++k)
    second_x_.push_back(static_cast<Real>(second_[0][k] - shift * mean_[0][k]));
}

/// Transforms lines along z of a plane, a bundle at a time, side by side.
template <class Real>
void SpectralSolver<Real>::transform_z(std::size_t thread, const Real* from, std::int64_t from_stride, Real* to,
                                       std::int64_t to_stride, bool is_forward) {
  const std::int64_t length = rows_.box.extent(2), rows = rows_.box.extent(1);
  Real* bundle = bundles_[thread].data();
  for (std::int64_t y = 0; y < rows; y += lanes) {
    const std::int64_t n = std::min(lanes, rows - y);
    if (n < lanes) std::fill_n(bundle, length * lanes, Real(0));
    fft::transpose(from + y * from_stride, from_stride, n, length, bundle, lanes, false);
    transform_bundle(2, is_forward, bundle, lanes, bundle, lanes, thread);
    fft::transpose(bundle, lanes, length, n, to + y * to_stride, to_stride, false);
  }
}

template <class Real>
void SpectralSolver<Real>::transform_y(std::int64_t x, std::size_t thread, bool is_forward) {
  const std::int64_t width = planes_.box.extent(2), stride = planes_.stride_y;
  Real* plane = plane_values_.data() + x * planes_.stride_x;
  // Rows are filled up to whole bundles, so that all lanes exist.
  for (std::int64_t z = 0; z < width; z += lanes)
    transform_bundle(1, is_forward, plane + z, stride, plane + z, stride, thread);
}

template <class Real>
void SpectralSolver<Real>::transform_bundle(std::size_t direction, bool is_forward, const Real* from,
                                            std::int64_t from_stride, Real* to, std::int64_t to_stride,
                                            std::size_t thread) {
  const auto& lines = lines_[direction];
  auto& scratch = scratch_[thread][direction];
  if (is_forward)
    lines.forward(from, from_stride, to, to_stride, scratch);
  else
    lines.backward(from, from_stride, to, to_stride, scratch);
}

template <class Real>
void SpectralSolver<Real>::transform_planes(const Real* right, bool is_forward, Real* solution, std::int64_t fields) {
  // Planes stay in the cache from z to y where both lie in them. Those of all fields follow one another.
  const bool are_apart = to_planes_.has_value();
  Real* rows = are_apart ? row_values_.data() : plane_values_.data();
  const auto along_z = [&](std::int64_t x, std::size_t thread) {
    if (is_forward)
      transform_z(thread, right + x * given_.stride_x, given_.stride_y, rows + x * rows_.stride_x, rows_.stride_y,
                  true);
    else
      transform_z(thread, rows + x * rows_.stride_x, rows_.stride_y, solution + x * given_.stride_x, given_.stride_y,
                  false);
  };
  const auto for_planes = [&](std::int64_t n, auto&& work) {
    threads_.run([&](int thread) {
      const std::int64_t end = n * (thread + 1) / threads_.size();
      for (std::int64_t x = n * thread / threads_.size(); x < end; ++x) work(x, static_cast<std::size_t>(thread));
    });
  };
  const auto along_y = [&](std::int64_t x, std::size_t thread) { transform_y(x, thread, is_forward); };
  const auto n_rows = rows_.box.is_empty() ? 0 : fields * rows_.box.extent(0),
             n_planes = planes_.box.is_empty() ? 0 : fields * planes_.box.extent(0);
  if (!are_apart) {
    for_planes(n_planes, [&](std::int64_t x, std::size_t thread) {
      if (is_forward)
        along_z(x, thread), along_y(x, thread);
      else
        along_y(x, thread), along_z(x, thread);
    });
  } else if (is_forward) {
    for_planes(n_rows, along_z);
    to_planes_->execute(rows, plane_values_.data(), fields);
    for_planes(n_planes, along_y);
  } else {
    for_planes(n_planes, along_y);
    from_planes_->execute(plane_values_.data(), rows, fields);
    for_planes(n_rows, along_z);
  }
}

/// Transforms lines along x, divides by the eigenvalues, and transforms back.
template <class Real>
void SpectralSolver<Real>::divide_columns(std::int64_t fields) {
  const auto& box = columns_.box;
  if (box.is_empty()) return;
  Real* values = to_columns_ ? column_values_.data() : plane_values_.data();
  const std::int64_t length = box.extent(0), bundles = (box.extent(2) + lanes - 1) / lanes,
                     of_field = box.extent(1) * bundles, n = fields * of_field;
  threads_.run([&](int thread) {
    const auto t = static_cast<std::size_t>(thread);
    Real* bundle = bundles_[t].data();
    const std::int64_t end = n * (thread + 1) / threads_.size();
    for (std::int64_t i = n * thread / threads_.size(); i < end; ++i) {
      const std::int64_t field = i / of_field, y = i % of_field / bundles, z = i % bundles * lanes;
      Real* column = values + field * columns_.size() + y * columns_.stride_y + z;
      transform_bundle(0, true, column, columns_.stride_x, bundle, lanes, t);
      std::array<Real, static_cast<std::size_t>(lanes)> by_second{}, by_mean{};
      const auto ky = static_cast<std::size_t>(box.lower[1] + y);
      for (std::size_t l = 0; l < by_mean.size(); ++l) {
        const auto kz = static_cast<std::size_t>(
            std::min(box.lower[2] + z + static_cast<std::int64_t>(l), box.upper[2] - 1));  // lanes without a line
        by_second[l] = static_cast<Real>(mean_[1][ky] * mean_[2][kz]);
        by_mean[l] = static_cast<Real>(second_[1][ky] * mean_[2][kz] + mean_[1][ky] * second_[2][kz]);
      }
      divide_by_eigenvalues<Real>(length, second_x_.data(), mean_x_.data(), by_second.data(), by_mean.data(), bundle);
      transform_bundle(0, false, bundle, lanes, column, columns_.stride_x, t);
    }
  });
}

template <class Real>
void SpectralSolver<Real>::solve(const Real* right, Real* solution, std::int64_t fields) {
  TESSERA_CHECK(fields <= most_fields_);
  Real* given = given_values_.data();
  if (gather_) gather_->execute(right, given, fields);
  transform_planes(gather_ ? given : right, true, nullptr, fields);
  if (to_columns_) to_columns_->execute(plane_values_.data(), column_values_.data(), fields);
  divide_columns(fields);
  if (from_columns_) from_columns_->execute(column_values_.data(), plane_values_.data(), fields);
  transform_planes(nullptr, false, gather_ ? given : solution, fields);
  if (scatter_) scatter_->execute(given, solution, fields);
}

template class SpectralSolver<float>;
template class SpectralSolver<double>;

}  // namespace tessera::grid
