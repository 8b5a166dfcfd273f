#include "tessera/grid/poisson/move.h"

#include <algorithm>
#include <span>
#include <utility>

#include "tessera/grid/layout.h"

namespace tessera::grid {

namespace {

constexpr int tag = 72;

template <class Real>
void copy_box(const IndexBox& box, const Real* from, const Place& source, Real* to, const Place& target,
              ThreadPool& threads) {
  threads.parallel_for(box.extent(0), [&](std::int64_t begin, std::int64_t end) {
    for (auto x = box.lower[0] + begin; x < box.lower[0] + end; ++x)
      for (auto y = box.lower[1]; y < box.upper[1]; ++y)
        std::copy_n(from + source.at(x, y) + box.lower[2] - source.box.lower[2], box.extent(2),
                    to + target.at(x, y) + box.lower[2] - target.box.lower[2]);
  });
}

/// The place as points are numbered by who sends them.
Place shifted_back(Place place, const Index3& shift) {
  for (std::size_t d = 0; d < 3; ++d) place.box.lower[d] -= shift[d], place.box.upper[d] -= shift[d];
  return place;
}

}  // namespace

template <class Real>
Move<Real>::Move(const MovedBoxes& boxes, const Place& from, const Place& to, bool leaves_own,
                 const comm::Communicator& comm, ThreadPool& threads)
    : from_(from), to_(to), comm_(comm), threads_(threads) {
  auto inside = boxes.to;
  for (auto& box : inside) box = without_outside(box, boxes.grid, boxes.is_periodic);
  auto exchange = fft::plan_exchange(boxes.grid, boxes.from, inside, comm.rank());
  for (const auto& piece : exchange.receive)
    if (piece.peer == comm.rank() && !(leaves_own && piece.shift == Index3{})) own_.push_back(piece);
  sends_ = by_peer(exchange.send, comm.rank());
  receives_ = by_peer(exchange.receive, comm.rank());
}

template <class Real>
std::vector<typename Move<Real>::Part> Move<Real>::by_peer(const std::vector<fft::MovedBox>& pieces, int rank) {
  std::vector<Part> parts;
  for (const auto& piece : pieces) {
    if (piece.peer == rank) continue;
    if (parts.empty() || parts.back().peer != piece.peer) parts.push_back({piece.peer, {}, {}});
    parts.back().pieces.push_back(piece);
  }
  for (auto& part : parts) {
    std::int64_t n = 0;
    for (const auto& piece : part.pieces) n += piece.box.size();
    part.values.resize(static_cast<std::size_t>(n));
  }
  return parts;
}

template <class Real>
void Move<Real>::execute(const Real* from, Real* to) {
  for (auto& part : receives_)
    requests_.push_back(comm_.start_receive(std::as_writable_bytes(std::span(part.values)), part.peer, tag));
  for (auto& part : sends_) {
    Real* next = part.values.data();
    for (const auto& piece : part.pieces) {
      copy_box(piece.box, from, from_, next, dense(piece.box), threads_);
      next += piece.box.size();
    }
    requests_.push_back(comm_.start_send(std::as_bytes(std::span(part.values)), part.peer, tag));
  }
  for (const auto& piece : own_) copy_box(piece.box, from, from_, to, shifted_back(to_, piece.shift), threads_);
  comm::Communicator::wait_all(requests_);
  requests_.clear();
  for (const auto& part : receives_) {
    const Real* next = part.values.data();
    for (const auto& piece : part.pieces) {
      copy_box(piece.box, next, dense(piece.box), to, shifted_back(to_, piece.shift), threads_);
      next += piece.box.size();
    }
  }
}

template class Move<float>;
template class Move<double>;

}  // namespace tessera::grid
