// Brings the values around a rank's box from the ranks that have them, and the rank's own ones that are periodic
// images.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <vector>

#include "tessera/comm/communicator.h"
#include "tessera/fft/plan.h"
#include "tessera/grid/layout.h"

namespace tessera::grid {

using Phases = std::array<std::complex<double>, 3>;

/// Rows of a block of memory: numbers between planes and between rows.
struct RowStrides {
  std::int64_t x = 0, y = 0;
};

/// The surroundings of a box: one region for each rank, which may leave the grid. Values of the rank's own box are not
/// copied, those beyond edges that are not periodic are zero. References must outlive it.
template <class Real>
class RegionExchange {
 public:
  /// `regions`: by rank. Values have one or two (complex) components.
  RegionExchange(const GridLayout& layout, std::vector<IndexBox> regions, int components,
                 const comm::Communicator& comm);

  /// Brings other ranks' values around `fields` fields of the rank's box, one after the other. in(r + edge d) =
  /// phases[d] · in(r). Collective.
  void bring(const Real* from, std::int64_t fields, const Phases& phases);
  /// Puts the values around one of these fields into their places in the region. Along directions that `leaves_out`
  /// names, values beyond an edge are not put there.
  void fill(std::int64_t field, const std::array<bool, 3>& leaves_out);

  /// Tells along which directions the values beyond an edge of the region are just this rank's on the other side.
  std::array<bool, 3> wraps(const Phases& phases) const;

  const IndexBox& box() const { return box_; }
  const IndexBox& region() const { return region_; }
  int components() const { return components_; }
  std::int64_t values_of_field() const { return box_.size() * components_; }

  /// Returns where the values at (x, y, z) are in the region, and their offset in a field of the box.
  Real* around(const Index3& at) { return memory_.data() + offset(at); }
  std::int64_t offset(const Index3& at) const {
    return (at[0] - region_.lower[0]) * strides_.x + (at[1] - region_.lower[1]) * strides_.y +
           (at[2] - region_.lower[2]) * components_;
  }
  std::int64_t offset_in_box(const Index3& at) const { return box_.flat(at) * components_; }
  const RowStrides& strides() const { return strides_; }

 private:
  struct Peer {
    int rank = 0;
    std::vector<fft::MovedBox> send, receive;
    std::vector<Real> outgoing, incoming;
  };

  template <class Row>
  void place(const fft::MovedBox& piece, Row&& row_of);

  const GridLayout& layout_;
  const comm::Communicator& comm_;
  int components_;
  IndexBox box_, region_;
  RowStrides strides_;
  std::vector<Peer> peers_;           // ascending, without this rank
  std::vector<fft::MovedBox> local_;  // periodic images of this rank's own points
  std::vector<Real> memory_;          // the region of one field
  const Real* from_ = nullptr;        // what was brought last, and its phases
  Phases phases_{1, 1, 1};
  std::vector<comm::Request> requests_;
};

extern template class RegionExchange<float>;
extern template class RegionExchange<double>;

}  // namespace tessera::grid
