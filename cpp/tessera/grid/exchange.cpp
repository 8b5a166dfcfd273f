#include "tessera/grid/exchange.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <span>
#include <thread>

#include "tessera/base/error.h"

namespace tessera::grid {

namespace {

std::int64_t values_of(const std::vector<HaloPiece>& pieces, std::int64_t components) {
  std::int64_t sum = 0;
  for (const auto& piece : pieces) sum += piece.box.size() * components;
  return sum;
}

IndexBox target_of(const HaloPiece& piece) {
  IndexBox target = piece.box;
  for (std::size_t d = 0; d < 3; ++d) target.lower[d] += piece.shift[d], target.upper[d] += piece.shift[d];
  return target;
}

/// Waits, and lets other ranks that share this core run meanwhile.
template <class Ready>
void wait_until(Ready&& is_ready) {
  while (!is_ready()) std::this_thread::yield();
}

}  // namespace

template <class Real>
HaloExchange<Real>::HaloExchange(const GridLayout& layout, const HaloShape& shape, const ExchangeOptions& options,
                                 const comm::Communicator& comm)
    : layout_(layout),
      shape_(shape),
      options_(options),
      comm_(comm),
      box_(layout.boxes[static_cast<std::size_t>(comm.rank())]),
      ends_are_given_(layout.processes[2] > 1 || options.copies_images[2]) {
  // A rank with all points along z finds what lies beyond a row's ends in the row.
  HaloShape planned = shape;
  if (!ends_are_given_) planned.reach[0][2] = planned.reach[1][2] = 0;
  const auto c = options_.components;
  std::vector<HaloPiece> aliases;
  const auto stages = plan_halo(layout, planned, comm.rank(), options_.by_direction);
  for (const auto& stage : stages) {
    first_of_stage_.push_back(peers_.size());
    for (const auto& peer : stage.peers)
      peers_.push_back({peer, peer.send_points() * c, peer.receive_points() * c, {}, {}, false});
    for (const auto& piece : stage.local) {
      // Complex fields' images are copied, as phases may turn them.
      bool is_copied = options_.components == 2 || target_of(piece).lower[2] != box_.lower[2];
      for (std::size_t d = 0; d < 3; ++d) is_copied |= options_.copies_images[d] && piece.shift[d] != 0;
      (is_copied ? images_ : aliases).push_back(piece);
    }
  }
  first_of_stage_.push_back(peers_.size());
  image_values_ = grid::values_of(images_, c);

  // Where rows lie. What no piece covers is beyond an edge that is not periodic.
  if (!box_.is_empty()) {
    const auto extents = Index3{box_.extent(0), box_.extent(1), box_.extent(2) * c};
    const auto& [below, above] = shape_.reach;
    places_.assign(static_cast<std::size_t>((extents[0] + below[0] + above[0]) * (1 + below[1] + above[1])),
                   {zeros, 0});
    for (std::int64_t x = 0; x < extents[0]; ++x)
      places_[static_cast<std::size_t>((x + below[0]) * (1 + below[1] + above[1]))] = {own,
                                                                                       x * extents[1] * extents[2]};
    if (!(layout.is_periodic[0] && layout.is_periodic[1]))
      zeros_.resize(static_cast<std::size_t>(extents[1] * extents[2]));
    place_pieces(own, aliases);
    place_pieces(images, images_);
    for (std::size_t p = 0; p < peers_.size(); ++p) place_pieces(n_fixed + static_cast<int>(p), peers_[p].plan.receive);
  }
  for (auto& slot : slots_) slot.buffers.resize(peers_.size());

  if (comm.size() == 1) return;
  // The host's ranks read each other's surfaces where they were packed.
  std::int64_t bytes = sizeof(Counters);
  for (auto& at : slots_)
    for (auto& peer : peers_) {
      peer.sent_at[static_cast<std::size_t>(&at - slots_.data())] = bytes;
      bytes += (peer.send_values * options_.most_fields * static_cast<std::int64_t>(sizeof(Real)) + 63) / 64 * 64;
    }
  shared_.emplace(comm, static_cast<std::size_t>(bytes), !options_.uses_shared_memory);
  new (shared_->mine()) Counters{};
  std::vector<comm::Request> requests;
  for (auto& peer : peers_) {
    peer.is_on_host = shared_->of(peer.plan.rank) != nullptr;
    if (!peer.is_on_host) continue;
    requests.push_back(comm.start_receive(comm::writable_bytes_of(peer.seen_at), peer.plan.rank, options_.tag));
    requests.push_back(comm.start_send(comm::bytes_of(peer.sent_at), peer.plan.rank, options_.tag));
  }
  comm::Communicator::wait_all(requests);
  comm.barrier();  // all counters are zero
}

/// Notes where rows around the box are in the values that a source sends of a field, piece after piece.
template <class Real>
void HaloExchange<Real>::place_pieces(int source, const std::vector<HaloPiece>& pieces) {
  const auto c = options_.components;
  const auto& [below, above] = shape_.reach;
  const auto row_values = box_.extent(2) * c;
  std::int64_t offset = 0;
  for (const auto& piece : pieces) {
    const auto target = target_of(piece);
    if (target.lower[2] < box_.lower[2] || target.upper[2] > box_.upper[2]) {
      end_pieces_.push_back({source, offset, target});
    } else {
      TESSERA_CHECK(target.extent(2) == box_.extent(2));
      for (auto x = target.lower[0]; x < target.upper[0]; ++x)
        for (auto y = target.lower[1]; y < target.upper[1]; ++y) {
          std::int64_t place = 0;
          if (y < box_.lower[1])
            place = 1 + y - (box_.lower[1] - below[1]);
          else if (y >= box_.upper[1])
            place = 1 + below[1] + y - box_.upper[1];
          else if (y > box_.lower[1])
            continue;  // it follows the first row
          else
            TESSERA_CHECK(target.lower[1] == box_.lower[1] && target.upper[1] == box_.upper[1]);
          auto at = offset + ((x - target.lower[0]) * target.extent(1) + y - target.lower[1]) * row_values;
          if (source == own) at = box_.flat({x - piece.shift[0], y - piece.shift[1], box_.lower[2]}) * c;
          places_[static_cast<std::size_t>((x - box_.lower[0] + below[0]) * (1 + below[1] + above[1]) + place)] = {
              source, at};
        }
    }
    offset += piece.box.size() * c;
  }
}

template <class Real>
bool HaloExchange<Real>::sends_messages() const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [](const Peer& peer) { return !peer.is_on_host && peer.send_values + peer.receive_values > 0; });
}

template <class Real>
void HaloExchange<Real>::set_phases(const std::array<std::complex<double>, 3>& phases) {
  options_.phases = phases;
}

template <class Real>
Real* HaloExchange<Real>::outgoing_of(Slot& slot, int index, std::size_t peer) const {
  if (!peers_[peer].is_on_host) return slot.buffers[peer].outgoing.data();
  return reinterpret_cast<Real*>(shared_->mine() + peers_[peer].sent_at[static_cast<std::size_t>(index)]);
}
template <class Real>
const Real* HaloExchange<Real>::incoming_of(const Slot& slot, int index, std::size_t peer) const {
  const auto& its = peers_[peer];
  if (!its.is_on_host) return slot.buffers[peer].incoming.data();
  return reinterpret_cast<const Real*>(shared_->of(its.plan.rank) + its.seen_at[static_cast<std::size_t>(index)]);
}
template <class Real>
auto HaloExchange<Real>::counters_of(int rank) const -> const Counters& {
  return *reinterpret_cast<const Counters*>(shared_->of(rank));
}

/// Copies the pieces of a field, each times the phases of the images that it is for.
template <class Real>
void HaloExchange<Real>::pack(const std::vector<HaloPiece>& pieces, const Real* field, Real* to) const {
  const auto c = options_.components;
  for (const auto& piece : pieces) {
    const auto& box = piece.box;
    const auto row = box.extent(2) * c;
    Real* const begin = to;
    for (auto x = box.lower[0]; x < box.upper[0]; ++x)
      for (auto y = box.lower[1]; y < box.upper[1]; ++y)
        to = std::copy_n(field + box_.flat({x, y, box.lower[2]}) * c, row, to);
    for (std::size_t d = 0; d < 3; ++d) {
      if (options_.phases[d] == 1.0) continue;
      const std::complex<Real> phase(piece.shift[d] < 0 ? std::conj(options_.phases[d]) : options_.phases[d]);
      for (auto left = std::abs(piece.shift[d]) / layout_.shape[d]; left > 0; --left) turn(begin, to - begin, phase);
    }
  }
}

template <class Real>
void HaloExchange<Real>::post(int index, std::size_t stage, ThreadPool& threads, GridTimers& timers) {
  auto& slot = slots_[static_cast<std::size_t>(index)];
  const auto begin = first_of_stage_[stage], end = first_of_stage_[stage + 1];
  if (begin == end) return;
  for (auto p = begin; p < end; ++p) {
    const auto& peer = peers_[p];
    if (peer.is_on_host || peer.receive_values == 0) continue;
    auto& values = slot.buffers[p].incoming;
    values.resize(static_cast<std::size_t>(peer.receive_values * slot.fields));
    slot.requests.push_back(comm_.start_receive(comm::writable_bytes_of(values), peer.plan.rank, options_.tag));
  }
  timers.time(GridPhase::packing, [&] {
    for (auto p = begin; p < end; ++p)
      if (const auto n = static_cast<std::size_t>(peers_[p].send_values * slot.fields); !peers_[p].is_on_host)
        slot.buffers[p].outgoing.resize(n);
    threads.parallel_for(slot.fields, [&](std::int64_t first, std::int64_t last) {
      for (auto field = first; field < last; ++field)
        for (auto p = begin; p < end; ++p)
          pack(peers_[p].plan.send, slot.from + field * values_of_field(),
               outgoing_of(slot, index, p) + field * peers_[p].send_values);
    });
  });
  if (shared_)
    reinterpret_cast<Counters*>(shared_->mine())
        ->filled[static_cast<std::size_t>(index)][stage]
        .store(slot.uses, std::memory_order_release);
  for (auto p = begin; p < end; ++p)
    if (!peers_[p].is_on_host && peers_[p].send_values > 0)
      slot.requests.push_back(
          comm_.start_send(comm::bytes_of(slot.buffers[p].outgoing), peers_[p].plan.rank, options_.tag));
}

template <class Real>
void HaloExchange<Real>::wait(int index, std::size_t stage) {
  auto& slot = slots_[static_cast<std::size_t>(index)];
  for (auto p = first_of_stage_[stage]; p < first_of_stage_[stage + 1]; ++p)
    if (peers_[p].is_on_host)
      wait_until([&] {
        comm::Communicator::progress(slot.requests);
        return counters_of(peers_[p].plan.rank)
                   .filled[static_cast<std::size_t>(index)][stage]
                   .load(std::memory_order_acquire) >= slot.uses;
      });
  comm::Communicator::wait_all(slot.requests);
  slot.requests.clear();
}

template <class Real>
void HaloExchange<Real>::start(int index, const Real* from, std::int64_t fields, ThreadPool& threads,
                               GridTimers& timers) {
  TESSERA_CHECK(fields <= options_.most_fields);
  auto& slot = slots_[static_cast<std::size_t>(index)];
  slot.from = from;
  slot.fields = fields;
  // What was packed before must have been read.
  timers.time(GridPhase::waiting, [&] {
    for (const auto& peer : peers_)
      if (peer.is_on_host)
        wait_until([&] {
          return counters_of(peer.plan.rank).emptied[static_cast<std::size_t>(index)].load(std::memory_order_acquire) >=
                 slot.uses;
        });
  });
  ++slot.uses;
  if (!options_.by_direction) post(index, 0, threads, timers);
  if (images_.empty()) return;
  timers.time(GridPhase::packing, [&] {
    slot.images.resize(static_cast<std::size_t>(image_values_ * fields));
    threads.parallel_for(fields, [&](std::int64_t first, std::int64_t last) {
      for (auto field = first; field < last; ++field)
        pack(images_, from + field * values_of_field(), slot.images.data() + field * image_values_);
    });
  });
}

template <class Real>
void HaloExchange<Real>::finish(int index, ThreadPool& threads, GridTimers& timers) {
  for (std::size_t stage = 0; stage + 1 < first_of_stage_.size(); ++stage) {
    if (options_.by_direction) post(index, stage, threads, timers);
    timers.time(GridPhase::waiting, [&] { wait(index, stage); });
  }
  if (ends_are_given_) timers.time(GridPhase::packing, [&] { fill_ends(index, threads); });
}

template <class Real>
void HaloExchange<Real>::progress(int slot) const {
  comm::Communicator::progress(slots_[static_cast<std::size_t>(slot)].requests);
}

template <class Real>
void HaloExchange<Real>::release(int slot) {
  if (shared_)
    reinterpret_cast<Counters*>(shared_->mine())
        ->emptied[static_cast<std::size_t>(slot)]
        .store(slots_[static_cast<std::size_t>(slot)].uses, std::memory_order_release);
}

/// Returns where the values of a source for a field begin.
template <class Real>
const Real* HaloExchange<Real>::base_of(const Slot& slot, int index, int source, std::int64_t field) const {
  if (source == zeros) return zeros_.data();
  if (source == own) return slot.from + field * values_of_field();
  if (source == images) return slot.images.data() + field * image_values_;
  const auto p = static_cast<std::size_t>(source - n_fixed);
  return incoming_of(slot, index, p) + field * peers_[p].receive_values;
}

/// Collects what lies beyond the ends of rows (FieldRows::ends).
template <class Real>
void HaloExchange<Real>::fill_ends(int index, ThreadPool& threads) {
  auto& slot = slots_[static_cast<std::size_t>(index)];
  const auto c = options_.components;
  const auto& [below, above] = shape_.reach;
  const auto row_values = (below[2] + above[2]) * c, rows = box_.extent(1) + below[1] + above[1];
  const auto of_field = (box_.extent(0) + below[0] + above[0]) * rows * row_values;
  if (const auto n = static_cast<std::size_t>(of_field * slot.fields); slot.ends.size() < n) slot.ends.resize(n);
  threads.parallel_for(slot.fields, [&](std::int64_t first, std::int64_t last) {
    for (auto field = first; field < last; ++field)
      for (const auto& piece : end_pieces_) {
        const Real* next = base_of(slot, index, piece.source, field) + piece.offset;
        const auto& target = piece.target;
        const auto before = target.lower[2] < box_.lower[2] ? target.lower[2] - (box_.lower[2] - below[2])
                                                            : below[2] + target.lower[2] - box_.upper[2];
        const auto n = target.extent(2) * c;
        for (auto x = target.lower[0]; x < target.upper[0]; ++x)
          for (auto y = target.lower[1]; y < target.upper[1]; ++y) {
            const auto row = (x - box_.lower[0] + below[0]) * rows + y - box_.lower[1] + below[1];
            std::copy_n(next, n, slot.ends.data() + field * of_field + row * row_values + before * c);
            next += n;
          }
      }
  });
}

template <class Real>
void HaloExchange<Real>::place_rows(int index, std::int64_t field, FieldRows<Real>& rows) const {
  const auto& slot = slots_[static_cast<std::size_t>(index)];
  rows.extents = {box_.extent(0), box_.extent(1), box_.extent(2)};
  rows.components = options_.components;
  rows.reach = shape_.reach;
  rows.rows.resize(places_.size());
  std::vector<const Real*> bases(n_fixed + peers_.size());
  for (std::size_t source = 0; source < bases.size(); ++source)
    bases[source] = base_of(slot, index, static_cast<int>(source), field);
  for (std::size_t i = 0; i < places_.size(); ++i)
    rows.rows[i] = bases[static_cast<std::size_t>(places_[i].source)] + places_[i].offset;
  using Kind = typename RowEnds<Real>::Kind;
  if (ends_are_given_) {
    const auto row_values = (rows.reach[0][2] + rows.reach[1][2]) * rows.components;
    rows.ends.kind = Kind::given;
    rows.ends.values = slot.ends.data() + field * rows.padded_planes() * rows.padded_rows() * row_values;
  } else if (layout_.is_periodic[2]) {
    rows.ends.kind = Kind::wrap;
    rows.ends.is_turned = options_.phases[2] != 1.0;
    rows.ends.phases = {std::complex<Real>(std::conj(options_.phases[2])), std::complex<Real>(options_.phases[2])};
  } else {
    rows.ends.kind = Kind::zeros;
  }
}

template class HaloExchange<float>;
template class HaloExchange<double>;

}  // namespace tessera::grid
