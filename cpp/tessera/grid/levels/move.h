// Moves values of a grid between the boxes that ranks have in two layouts of it, or to what surrounds their boxes.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <vector>

#include "tessera/base/index_box.h"
#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/fft/plan.h"

namespace tessera::grid {

using Phases = std::array<std::complex<double>, 3>;

/// Where the values of a box are in memory, z fastest. Strides count numbers; a value has one or two (complex).
struct Place {
  IndexBox box;
  std::int64_t stride_x = 0, stride_y = 0;
  int components = 1;

  std::int64_t size() const { return box.is_empty() ? 0 : box.extent(0) * stride_x; }
  std::int64_t at(const Index3& point) const {
    return (point[0] - box.lower[0]) * stride_x + (point[1] - box.lower[1]) * stride_y +
           (point[2] - box.lower[2]) * components;
  }
};

/// Returns the place of a box without gaps.
inline Place dense(const IndexBox& box, int components = 1) {
  return {box, box.extent(1) * box.extent(2) * components, box.extent(2) * components, components};
}

/// Which boxes: disjoint ones that cover the grid to send from, and any to receive into. These may overlap and leave
/// the grid: what is beyond a periodic edge is an image, and what is beyond another edge is left as it is.
struct MovedBoxes {
  Index3 grid{};
  std::array<bool, 3> is_periodic{true, true, true};
  std::vector<IndexBox> from, to;  // by rank
};

/// How often and where values are moved never depends on them, so that a move is planned once. The values of several
/// fields go in one message to each rank. The communicator and the threads must outlive it.
template <class Real>
class Move {
 public:
  /// Makes a move between places whose values have as many components. With `leaves_own`, values that are in this
  /// rank's boxes of both layouts at the same point are not copied.
  Move(const MovedBoxes& boxes, const Place& from, const Place& to, bool leaves_own, const comm::Communicator& comm,
       ThreadPool& threads);

  /// Moves `fields` fields, one after the other. Collective.
  void execute(const Real* from, Real* to, std::int64_t fields = 1);

  /// Begins a move in two steps: sends fields, which stay where they are until each was placed; in(r + edge d) =
  /// phases[d] · in(r). What is beyond an edge along directions that `leaves_out` names, on all ranks the same, is not
  /// moved. Collective.
  void send(const Real* from, std::int64_t fields, const Phases& phases = {1, 1, 1},
            const std::array<bool, 3>& leaves_out = {});
  /// Writes the values of one of these fields to their places.
  void place(std::int64_t field, Real* to);

 private:
  struct Part {
    int peer = 0;
    std::vector<fft::MovedBox> pieces;
    std::int64_t size = 0;     // of one field, without what is left out
    std::vector<Real> values;  // of all fields
  };
  bool is_left_out(const fft::MovedBox& piece) const;
  std::int64_t size_of(const Part& part) const;
  std::vector<Part> by_peer(const std::vector<fft::MovedBox>& pieces, int rank) const;
  void put(const fft::MovedBox& piece, const Real* from, const Place& source, Real* to);

  Index3 grid_;
  Place from_, to_;
  const comm::Communicator& comm_;
  ThreadPool& threads_;
  std::vector<Part> sends_, receives_;
  std::vector<fft::MovedBox> own_;
  std::vector<comm::Request> requests_;
  const Real* sent_ = nullptr;  // the fields that were sent last, and their phases
  Phases phases_{1, 1, 1};
  std::array<bool, 3> leaves_out_{};
};

extern template class Move<float>;
extern template class Move<double>;

}  // namespace tessera::grid
