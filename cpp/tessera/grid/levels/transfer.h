// Restriction and interpolation between a grid and one with half as many points along some or all edges.
//
// Along each of these a value half-way between coarse ones is interpolated by the polynomial through its 2·order
// neighbours; the edges are done one after the other. Restriction is the transpose, times ½ for each of them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/grid/levels/region_exchange.h"
#include "tessera/grid/levels/rows.h"

namespace tessera::grid {

/// The greatest order of transfers.
inline constexpr int most_transfer_order = 4;

enum class TransferKind { restriction, interpolation };

/// Returns the offset that makes fine point 2i + offset[d] the coarse point i along direction d: 0 where the grid is
/// periodic; 1 where it is not, as the points on the faces are left out.
Index3 transfer_offset(const GridLayout& layout);

/// Moves fields of the box of one layout to that of the other. Boxes of both may be any. The same bits on any ranks and
/// threads. References must outlive it.
template <class Real>
class Transfer {
 public:
  /// Makes a transfer; `from` is the fine layout in a restriction, else the coarse one. Throws InputError for an order
  /// that is not within 1 … 4 and for shapes where the fine one is neither twice the coarse one (and one more where it
  /// is not periodic) nor the same.
  Transfer(TransferKind kind, int order, const GridLayout& from, const GridLayout& to, bool is_complex,
           const comm::Communicator& comm, ThreadPool& threads);

  /// Moves `fields` fields, one after the other. in(r + edge d) = phases[d] · in(r). `to` must not overlap `from`.
  /// Collective.
  void apply(std::span<const Real> from, std::span<Real> to, std::int64_t fields, const Phases& phases = {1, 1, 1});

 private:
  void find_row(const Real* from, std::int64_t x, std::int64_t y, std::vector<RowPart<Real>>& parts);
  template <class Make>
  void restrict_along(std::size_t axis, std::int64_t begin, std::int64_t end, std::int64_t values,
                      std::vector<Real>& kept, Real* to, const Make& make);
  void restrict_planes(const Real* from, Real* to, std::int64_t begin, std::int64_t end);
  void interpolate_planes(Real* to, std::int64_t begin, std::int64_t end);

  TransferKind kind_;
  int order_;
  Index3 offset_{};
  std::array<bool, 3> is_halved_{};
  ThreadPool& threads_;
  IndexBox target_;
  RegionExchange<Real> around_;
  std::vector<Real> weights_;      // of the pairs of neighbours
  std::vector<Real> sum_weights_;  // of rows that sum_rows sums
  std::array<bool, 3> wraps_{};    // along these directions the other side is read in the place of the surroundings
};

extern template class Transfer<float>;
extern template class Transfer<double>;

}  // namespace tessera::grid
