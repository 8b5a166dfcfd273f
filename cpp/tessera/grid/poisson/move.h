// Moves values of a grid between the boxes that ranks have in two layouts of it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tessera/base/index_box.h"
#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/fft/plan.h"

namespace tessera::grid {

/// Where the values of a box are in memory, z fastest. Strides count values.
struct Place {
  IndexBox box;
  std::int64_t stride_x = 0, stride_y = 0;

  std::int64_t size() const { return box.is_empty() ? 0 : box.extent(0) * stride_x; }
  std::int64_t at(std::int64_t x, std::int64_t y) const {
    return (x - box.lower[0]) * stride_x + (y - box.lower[1]) * stride_y;
  }
};

/// Returns the place of a box without gaps.
inline Place dense(const IndexBox& box) { return {box, box.extent(1) * box.extent(2), box.extent(2)}; }

/// Which boxes: disjoint ones that cover the grid to send from, and any to receive into. These may overlap and leave
/// the grid: what is beyond a periodic edge is an image, and what is beyond another edge is left as it is.
struct MovedBoxes {
  Index3 grid{};
  std::array<bool, 3> is_periodic{true, true, true};
  std::vector<IndexBox> from, to;  // by rank
};

/// How often and where values are moved never depends on them, so that a move is planned once. The communicator and the
/// threads must outlive it.
template <class Real>
class Move {
 public:
  /// With `leaves_own`, values that are in this rank's boxes of both layouts at the same point are not copied.
  Move(const MovedBoxes& boxes, const Place& from, const Place& to, bool leaves_own, const comm::Communicator& comm,
       ThreadPool& threads);

  /// Collective.
  void execute(const Real* from, Real* to);

 private:
  struct Part {
    int peer = 0;
    std::vector<fft::MovedBox> pieces;
    std::vector<Real> values;
  };
  std::vector<Part> by_peer(const std::vector<fft::MovedBox>& pieces, int rank);

  Place from_, to_;
  const comm::Communicator& comm_;
  ThreadPool& threads_;
  std::vector<Part> sends_, receives_;
  std::vector<fft::MovedBox> own_;
  std::vector<comm::Request> requests_;
};

extern template class Move<float>;
extern template class Move<double>;

}  // namespace tessera::grid
