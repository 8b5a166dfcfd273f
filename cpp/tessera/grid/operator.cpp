#include "tessera/grid/operator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/grid/batches.h"

namespace tessera::grid {

namespace {

constexpr int tag = 71;

}  // namespace

const std::vector<Approach>& approaches() {
  static const std::vector<Approach> entries = {{"flat-original", true, false}, {"flat-optimized", false, true}};
  return entries;
}

const Approach& find_approach(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& entry : approaches()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw InputError(fmt::format("approach \"{}\"; expected {}", name, fmt::join(names, " or ")));
}

template <class Real>
StencilOperator<Real>::StencilOperator(Stencil stencil, const GridLayout& layout, const OperatorOptions& options,
                                       const comm::Communicator& comm, ThreadPool& threads)
    : stencil_(std::move(stencil)),
      layout_(layout),
      options_(options),
      approach_(find_approach(options.approach)),
      comm_(comm),
      threads_(threads),
      components_(options.is_complex ? 2 : 1) {
  TESSERA_CHECK(layout.ranks() == comm.size());
  TESSERA_CHECK(stencil_.offsets.size() == stencil_.coefficients.size());
  if (stencil_.offsets.empty()) throw InputError("the stencil has no terms; expected at least one offset");
  if (options_.batch < 1) throw InputError(fmt::format("batch = {}; expected at least 1", options_.batch));
  if (options_.slope < 0 || options_.slope > 62)
    throw InputError(fmt::format("slope = {}; expected 0 to 62", options_.slope));
  for (std::size_t d = 0; d < 3; ++d) {
    if (options_.phases[d] == 1.0) continue;
    if (!options_.is_complex) throw InputError("phases go with complex fields; expected 1 for real ones");
    if (!layout.is_periodic[d])
      throw InputError(fmt::format("a phase along {}, where the grid is not periodic; expected 1", "xyz"[d]));
  }
  const auto shape = HaloShape::of(stencil_);
  box_ = layout.boxes[static_cast<std::size_t>(comm.rank())];
  padded_box_ = padded(box_, shape);
  own_ = {box_.extent(1) * box_.extent(2) * components_, box_.extent(2) * components_};
  // Rows begin at multiples of a cache line, and planes not at multiples of a page, which would fill one set of it.
  constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(Real));
  strides_.y = (padded_box_.extent(2) * components_ + line - 1) / line * line;
  strides_.x = strides_.y * padded_box_.extent(1) + line;
  padded_values_ = strides_.x * padded_box_.extent(0);
  origin_ = shape.reach[0][0] * strides_.x + shape.reach[0][1] * strides_.y + shape.reach[0][2] * components_;
  stages_ = plan_halo(layout, shape, comm.rank(), approach_.by_direction);
  for (std::size_t k = 0; k < stencil_.offsets.size(); ++k) {
    const auto& offset = stencil_.offsets[k];
    kernel_.steps.push_back(offset[0] * strides_.x + offset[1] * strides_.y + offset[2] * components_);
    kernel_.coefficients.push_back(static_cast<Real>(stencil_.coefficients[k]));
  }
}

template <class Real>
Real* StencilOperator<Real>::padded_of(Slot& slot, std::int64_t field) const {
  return slot.memory.data() + field * padded_values_;
}

/// Calls visit(offset in the box's memory, offset in the padded memory, numbers) for each row of points.
template <class Real>
template <class Visit>
void StencilOperator<Real>::for_rows(const IndexBox& box, Visit&& visit) const {
  for (auto x = box.lower[0]; x < box.upper[0]; ++x)
    for (auto y = box.lower[1]; y < box.upper[1]; ++y)
      visit((x - box_.lower[0]) * own_.x + (y - box_.lower[1]) * own_.y + (box.lower[2] - box_.lower[2]) * components_,
            (x - padded_box_.lower[0]) * strides_.x + (y - padded_box_.lower[1]) * strides_.y +
                (box.lower[2] - padded_box_.lower[2]) * components_,
            box.extent(2) * components_);
}

/// Starts the messages of a stage with these fields.
template <class Real>
void StencilOperator<Real>::post(const HaloStage& stage, Slot& slot, const Real* from, std::int64_t fields) {
  slot.outgoing.resize(std::max(slot.outgoing.size(), stage.peers.size()));
  slot.incoming.resize(slot.outgoing.size());
  for (std::size_t p = 0; p < stage.peers.size(); ++p) {
    const auto& peer = stage.peers[p];
    if (const auto n = peer.receive_points() * components_ * fields; n > 0) {
      slot.incoming[p].resize(static_cast<std::size_t>(n));
      slot.requests.push_back(comm_.start_receive(std::as_writable_bytes(std::span(slot.incoming[p])), peer.rank, tag));
    }
  }
  for (std::size_t p = 0; p < stage.peers.size(); ++p) {
    const auto& peer = stage.peers[p];
    const auto of_field = peer.send_points() * components_;
    if (of_field == 0) continue;
    auto& values = slot.outgoing[p];
    values.resize(static_cast<std::size_t>(of_field * fields));
    threads_.parallel_for(fields, [&](std::int64_t begin, std::int64_t end) {
      for (auto field = begin; field < end; ++field) {
        Real* next = values.data() + field * of_field;
        for (const auto& piece : peer.send)
          for_rows(piece.box, [&](std::int64_t own, std::int64_t, std::int64_t n) {
            next = std::copy_n(from + field * values_of_field() + own, n, next);
          });
      }
    });
    slot.requests.push_back(comm_.start_send(std::as_bytes(std::span(values)), peer.rank, tag));
  }
}

/// Puts the values of a piece, row by row, to their places around the box, times their phase.
template <class Real>
void StencilOperator<Real>::place(const HaloPiece& piece, Real* padded, const Real* values) const {
  std::complex<double> phase = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    const auto factor = piece.shift[d] < 0 ? std::conj(options_.phases[d]) : options_.phases[d];
    for (auto left = std::abs(piece.shift[d]) / layout_.shape[d]; left > 0; --left) phase *= factor;
  }
  IndexBox target = piece.box;
  for (std::size_t d = 0; d < 3; ++d) target.lower[d] += piece.shift[d], target.upper[d] += piece.shift[d];
  const bool turns = phase != 1.0;
  const auto re = static_cast<Real>(phase.real()), im = static_cast<Real>(phase.imag());
  for_rows(target, [&](std::int64_t, std::int64_t to, std::int64_t n) {
    if (!turns) {
      std::copy_n(values, n, padded + to);
    } else {
      for (std::int64_t i = 0; i < n; i += 2) {
        padded[to + i] = values[i] * re - values[i + 1] * im;
        padded[to + i + 1] = values[i] * im + values[i + 1] * re;
      }
    }
    values += n;
  });
}

/// Waits for the messages and fills the halo.
template <class Real>
void StencilOperator<Real>::complete(const HaloStage& stage, Slot& slot, const Real* from, std::int64_t fields) {
  comm::Communicator::wait_all(slot.requests);
  slot.requests.clear();
  threads_.parallel_for(fields, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Real> values;
    for (auto field = begin; field < end; ++field) {
      Real* padded = padded_of(slot, field);
      for (std::size_t p = 0; p < stage.peers.size(); ++p) {
        const Real* next = slot.incoming[p].data() + field * stage.peers[p].receive_points() * components_;
        for (const auto& piece : stage.peers[p].receive) {
          place(piece, padded, next);
          next += piece.box.size() * components_;
        }
      }
      for (const auto& piece : stage.local) {
        values.clear();
        for_rows(piece.box, [&](std::int64_t own, std::int64_t, std::int64_t n) {
          const Real* row = from + field * values_of_field() + own;
          values.insert(values.end(), row, row + n);
        });
        place(piece, padded, values.data());
      }
    }
  });
}

template <class Real>
void StencilOperator<Real>::copy_inside(Slot& slot, const Real* from, std::int64_t fields) {
  const auto planes = box_.extent(0);
  threads_.parallel_for(fields * planes, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      IndexBox plane = box_;
      plane.lower[0] += i % planes;
      plane.upper[0] = plane.lower[0] + 1;
      const Real* field = from + i / planes * values_of_field();
      Real* padded = padded_of(slot, i / planes);
      for_rows(plane,
               [&](std::int64_t own, std::int64_t to, std::int64_t n) { std::copy_n(field + own, n, padded + to); });
    }
  });
}

/// Computes a batch, and meanwhile lets the messages of another progress.
template <class Real>
void StencilOperator<Real>::compute(Slot& slot, Real* to, std::int64_t fields, const Slot* under_way) {
  // What does not fit into the caches is written past them.
  constexpr std::int64_t cache_bytes = 32 << 20;
  const bool streams = 2 * fields * values_of_field() * static_cast<std::int64_t>(sizeof(Real)) > cache_bytes;
  const Index3 extents{box_.extent(0), box_.extent(1), box_.extent(2) * components_};
  const auto planes = extents[0];
  threads_.parallel_for(fields * planes, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end;) {  // the planes of one field together
      const auto field = i / planes, first = i % planes, n = std::min(planes - first, end - i);
      apply_stencil(kernel_, padded_of(slot, field) + origin_ + first * strides_.x, strides_,
                    to + field * values_of_field() + first * own_.x, own_, Index3{n, extents[1], extents[2]}, streams);
      if (under_way != nullptr && begin == 0) comm::Communicator::progress(under_way->requests);
      i += n;
    }
  });
}

template <class Real>
void StencilOperator<Real>::apply_one_by_one(const Real* from, Real* to, std::int64_t fields) {
  auto& slot = slots_[0];
  for (std::int64_t field = 0; field < fields; ++field) {
    const Real* its = from + field * values_of_field();
    copy_inside(slot, its, 1);
    for (const auto& stage : stages_) {
      post(stage, slot, its, 1);
      complete(stage, slot, its, 1);
    }
    compute(slot, to + field * values_of_field(), 1, nullptr);
  }
}

template <class Real>
void StencilOperator<Real>::apply_in_batches(const Real* from, Real* to, std::int64_t fields) {
  const auto& stage = stages_.front();
  const auto batches = plan_batches(fields, options_.batch, options_.slope);
  std::int64_t first = 0;
  post(stage, slots_[0], from, batches.front());
  for (std::size_t k = 0; k < batches.size(); ++k) {
    auto& slot = slots_[k % 2];
    const Real* its = from + first * values_of_field();
    Slot* next = nullptr;
    if (k + 1 < batches.size()) {
      next = &slots_[(k + 1) % 2];
      post(stage, *next, its + batches[k] * values_of_field(), batches[k + 1]);
    }
    copy_inside(slot, its, batches[k]);
    complete(stage, slot, its, batches[k]);
    compute(slot, to + first * values_of_field(), batches[k], next);
    first += batches[k];
  }
}

template <class Real>
void StencilOperator<Real>::apply(std::span<const Real> from, std::span<Real> to, std::int64_t fields) {
  TESSERA_CHECK(static_cast<std::int64_t>(from.size()) == fields * values_of_field() && from.size() == to.size());
  if (fields == 0) return;
  const auto at_once = approach_.is_double_buffered ? std::min(options_.batch, fields) : 1;
  for (auto& slot : slots_) {
    if (const auto n = static_cast<std::size_t>(padded_values_ * at_once); slot.memory.size() < n)
      slot.memory.resize(n);
    if (!approach_.is_double_buffered) break;
  }
  if (approach_.is_double_buffered)
    apply_in_batches(from.data(), to.data(), fields);
  else
    apply_one_by_one(from.data(), to.data(), fields);
}

template class StencilOperator<float>;
template class StencilOperator<double>;

}  // namespace tessera::grid
