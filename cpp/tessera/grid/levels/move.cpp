#include "tessera/grid/levels/move.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>

#include "tessera/grid/layout.h"
#include "tessera/grid/phases.h"
#include "tessera/grid/tags.h"

namespace tessera::grid {

namespace {

template <class Real>
void copy_box(const IndexBox& box, const Real* from, const Place& source, Real* to, const Place& target,
              ThreadPool& threads) {
  threads.parallel_for(box.extent(0), [&](std::int64_t begin, std::int64_t end) {
    for (auto x = box.lower[0] + begin; x < box.lower[0] + end; ++x)
      for (auto y = box.lower[1]; y < box.upper[1]; ++y) {
        const Index3 row{x, y, box.lower[2]};
        std::copy_n(from + source.at(row), box.extent(2) * source.components, to + target.at(row));
      }
  });
}

/// Returns the place with points numbered as their sender numbers them.
Place shifted_back(Place place, const Index3& shift) {
  for (std::size_t d = 0; d < 3; ++d) place.box.lower[d] -= shift[d], place.box.upper[d] -= shift[d];
  return place;
}

}  // namespace

template <class Real>
Move<Real>::Move(const MovedBoxes& boxes, const Place& from, const Place& to, bool leaves_own,
                 const comm::Communicator& comm, ThreadPool& threads)
    : grid_(boxes.grid), from_(from), to_(to), comm_(comm), threads_(threads) {
  auto inside = boxes.to;
  for (auto& box : inside) box = without_outside(box, boxes.grid, boxes.is_periodic);
  auto exchange = fft::plan_exchange(boxes.grid, boxes.from, inside, comm.rank());
  for (const auto& piece : exchange.receive)
    if (piece.peer == comm.rank() && !(leaves_own && piece.shift == Index3{})) own_.push_back(piece);
  sends_ = by_peer(exchange.send, comm.rank());
  receives_ = by_peer(exchange.receive, comm.rank());
}

template <class Real>
std::vector<typename Move<Real>::Part> Move<Real>::by_peer(const std::vector<fft::MovedBox>& pieces, int rank) const {
  std::vector<Part> parts;
  for (const auto& piece : pieces) {
    if (piece.peer == rank) continue;
    if (parts.empty() || parts.back().peer != piece.peer) parts.push_back({piece.peer, {}, 0, {}});
    parts.back().pieces.push_back(piece);
  }
  return parts;
}

template <class Real>
bool Move<Real>::is_left_out(const fft::MovedBox& piece) const {
  for (std::size_t d = 0; d < 3; ++d)
    if (leaves_out_[d] && piece.shift[d] != 0) return true;
  return false;
}

template <class Real>
std::int64_t Move<Real>::size_of(const Part& part) const {
  std::int64_t size = 0;
  for (const auto& piece : part.pieces)
    if (!is_left_out(piece)) size += piece.box.size() * from_.components;
  return size;
}

template <class Real>
void Move<Real>::send(const Real* from, std::int64_t fields, const Phases& phases,
                      const std::array<bool, 3>& leaves_out) {
  sent_ = from;
  phases_ = phases;
  leaves_out_ = leaves_out;
  for (auto& part : receives_) {
    part.size = size_of(part);
    if (part.size == 0) continue;
    part.values.resize(static_cast<std::size_t>(part.size * fields));
    requests_.push_back(comm_.start_receive(std::as_writable_bytes(std::span(part.values)), part.peer, move_tag));
  }
  for (auto& part : sends_) {
    part.size = size_of(part);
    if (part.size == 0) continue;
    part.values.resize(static_cast<std::size_t>(part.size * fields));
    Real* next = part.values.data();
    for (std::int64_t field = 0; field < fields; ++field)
      for (const auto& piece : part.pieces) {
        if (is_left_out(piece)) continue;
        const auto target = dense(piece.box, from_.components);
        copy_box(piece.box, from + field * from_.size(), from_, next, target, threads_);
        next += target.size();
      }
    requests_.push_back(comm_.start_send(std::as_bytes(std::span(part.values)), part.peer, move_tag));
  }
}

/// Writes the values of a piece, times their phase, to their place.
template <class Real>
void Move<Real>::put(const fft::MovedBox& piece, const Real* from, const Place& source, Real* to) {
  const auto target = shifted_back(to_, piece.shift);
  std::complex<double> phase = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    const auto factor = piece.shift[d] < 0 ? std::conj(phases_[d]) : phases_[d];
    for (auto left = std::abs(piece.shift[d]) / grid_[d]; left > 0; --left) phase *= factor;
  }
  const auto& box = piece.box;
  if (to_.components == 1 || phase == 1.0) return copy_box(box, from, source, to, target, threads_);
  threads_.parallel_for(box.extent(0), [&](std::int64_t begin, std::int64_t end) {
    for (auto x = box.lower[0] + begin; x < box.lower[0] + end; ++x) {
      const Index3 row{x, box.lower[1], box.lower[2]};
      copy_rows_turned(from + source.at(row), source.stride_y, to + target.at(row), target.stride_y,
                       box.extent(2) * to_.components, box.extent(1), std::complex<Real>(phase));
    }
  });
}

template <class Real>
void Move<Real>::place(std::int64_t field, Real* to) {
  for (const auto& piece : own_)
    if (!is_left_out(piece)) put(piece, sent_ + field * from_.size(), from_, to);
  comm::Communicator::wait_all(requests_);
  requests_.clear();
  for (const auto& part : receives_) {
    const Real* next = part.values.data() + field * part.size;
    for (const auto& piece : part.pieces) {
      if (is_left_out(piece)) continue;
      const auto source = dense(piece.box, from_.components);
      put(piece, next, source, to);
      next += source.size();
    }
  }
}

template <class Real>
void Move<Real>::execute(const Real* from, Real* to, std::int64_t fields) {
  send(from, fields);
  for (std::int64_t field = 0; field < fields; ++field) place(field, to + field * to_.size());
}

template class Move<float>;
template class Move<double>;

}  // namespace tessera::grid
