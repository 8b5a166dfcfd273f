#include "tessera/grid/levels/region_exchange.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/grid/phases.h"

namespace tessera::grid {

namespace {

constexpr int tag = 72;

std::int64_t points_of(const std::vector<fft::MovedBox>& pieces) {
  std::int64_t sum = 0;
  for (const auto& piece : pieces) sum += piece.box.size();
  return sum;
}

/// Calls visit(first point) for each row of a box.
template <class Visit>
void for_rows(const IndexBox& box, Visit&& visit) {
  for (auto x = box.lower[0]; x < box.upper[0]; ++x)
    for (auto y = box.lower[1]; y < box.upper[1]; ++y) visit(Index3{x, y, box.lower[2]});
}

}  // namespace

template <class Real>
RegionExchange<Real>::RegionExchange(const GridLayout& layout, std::vector<IndexBox> regions, int components,
                                     const comm::Communicator& comm)
    : layout_(layout), comm_(comm), components_(components) {
  TESSERA_CHECK(layout.ranks() == comm.size() && regions.size() == layout.boxes.size());
  const auto rank = static_cast<std::size_t>(comm.rank());
  box_ = layout.boxes[rank];
  region_ = regions[rank];
  strides_ = {region_.extent(1) * region_.extent(2) * components_, region_.extent(2) * components_};
  memory_.resize(static_cast<std::size_t>(region_.size() * components_));
  for (auto& region : regions) region = without_outside(region, layout.shape, layout.is_periodic);
  const auto exchange = fft::plan_exchange(layout.shape, layout.boxes, regions, comm.rank());
  std::map<int, Peer> peers;
  for (const auto& piece : exchange.send) peers[piece.peer].send.push_back(piece);
  for (const auto& piece : exchange.receive)
    if (piece.peer != comm.rank())
      peers[piece.peer].receive.push_back(piece);
    else if (piece.shift != Index3{})
      local_.push_back(piece);
  peers.erase(comm.rank());
  for (auto& [peer, its] : peers) {
    its.rank = peer;
    peers_.push_back(std::move(its));
  }
}

/// Puts the values of a piece, whose rows row_of(first point) gives, to their places in the region, times their phase.
template <class Real>
template <class Row>
void RegionExchange<Real>::place(const fft::MovedBox& piece, Row&& row_of) {
  std::complex<double> phase = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    const auto factor = piece.shift[d] < 0 ? std::conj(phases_[d]) : phases_[d];
    for (auto left = std::abs(piece.shift[d]) / layout_.shape[d]; left > 0; --left) phase *= factor;
  }
  const auto n = piece.box.extent(2) * components_;
  const auto target = [&](const Index3& row) {
    return around({row[0] + piece.shift[0], row[1] + piece.shift[1], row[2] + piece.shift[2]});
  };
  for_rows(piece.box, [&](const Index3& row) { std::copy_n(row_of(row), n, target(row)); });
  if (components_ == 1 || phase == 1.0) return;
  for (auto x = piece.box.lower[0]; x < piece.box.upper[0]; ++x)
    turn_rows(target({x, piece.box.lower[1], piece.box.lower[2]}), n, piece.box.extent(1), strides_.y,
              std::complex<Real>(phase));
}

template <class Real>
std::array<bool, 3> RegionExchange<Real>::wraps(const Phases& phases) const {
  std::array<bool, 3> found{};
  for (std::size_t d = 0; d < 3; ++d)
    found[d] = layout_.is_periodic[d] && phases[d] == 1.0 && box_.lower[d] == 0 && box_.upper[d] == layout_.shape[d] &&
               region_.lower[d] <= 0 && region_.upper[d] >= layout_.shape[d];
  return found;
}

template <class Real>
void RegionExchange<Real>::bring(const Real* from, std::int64_t fields, const Phases& phases) {
  from_ = from;
  phases_ = phases;
  for (auto& peer : peers_)
    if (const auto n = points_of(peer.receive) * components_ * fields; n > 0) {
      peer.incoming.resize(static_cast<std::size_t>(n));
      requests_.push_back(comm_.start_receive(std::as_writable_bytes(std::span(peer.incoming)), peer.rank, tag));
    }
  for (auto& peer : peers_) {
    const auto n = points_of(peer.send) * components_ * fields;
    if (n == 0) continue;
    peer.outgoing.resize(static_cast<std::size_t>(n));
    Real* next = peer.outgoing.data();
    for (std::int64_t field = 0; field < fields; ++field)
      for (const auto& piece : peer.send)
        for_rows(piece.box, [&](const Index3& row) {
          next = std::copy_n(from + field * values_of_field() + offset_in_box(row), piece.box.extent(2) * components_,
                             next);
        });
    requests_.push_back(comm_.start_send(std::as_bytes(std::span(peer.outgoing)), peer.rank, tag));
  }
  comm::Communicator::wait_all(requests_);
  requests_.clear();
}

template <class Real>
void RegionExchange<Real>::fill(std::int64_t field, const std::array<bool, 3>& leaves_out) {
  const auto is_left_out = [&](const fft::MovedBox& piece) {
    for (std::size_t d = 0; d < 3; ++d)
      if (leaves_out[d] && piece.shift[d] != 0) return true;
    return false;
  };
  for (const auto& piece : local_)
    if (!is_left_out(piece))
      place(piece, [&](const Index3& row) { return from_ + field * values_of_field() + offset_in_box(row); });
  for (const auto& peer : peers_) {
    const Real* next = peer.incoming.data() + field * points_of(peer.receive) * components_;
    for (const auto& piece : peer.receive) {
      const Real* begin = next;
      next += piece.box.size() * components_;
      if (is_left_out(piece)) continue;
      place(piece, [&](const Index3&) {
        const Real* row = begin;
        begin += piece.box.extent(2) * components_;
        return row;
      });
    }
  }
}

template class RegionExchange<float>;
template class RegionExchange<double>;

}  // namespace tessera::grid
