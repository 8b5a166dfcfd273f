#include "tessera/grid/operator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/grid/batches.h"
#include "tessera/grid/tags.h"

namespace tessera::grid {

const std::vector<Approach>& approaches() {
  static const std::vector<Approach> entries = {{"flat-original", true, false, false},
                                                {"flat-optimized", false, true, false},
                                                {"hybrid-master-only", false, true, false},
                                                {"hybrid-multiple", false, true, true}};
  return entries;
}

const Approach& find_approach(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& entry : approaches()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw InputError(fmt::format("approach \"{}\"; expected {}", name, fmt::join(names, ", ")));
}

template <class Real>
StencilOperator<Real>::StencilOperator(Stencil stencil, const GridLayout& layout, const OperatorOptions& options,
                                       const comm::Communicator& comm, ThreadPool& threads)
    : layout_(layout),
      options_(options),
      approach_(find_approach(options.approach)),
      threads_(threads),
      components_(options.is_complex ? 2 : 1),
      box_(layout.boxes[static_cast<std::size_t>(comm.rank())]),
      kernel_(stencil, components_) {
  TESSERA_CHECK(layout.ranks() == comm.size());
  TESSERA_CHECK(stencil.offsets.size() == stencil.coefficients.size());
  if (stencil.offsets.empty()) throw InputError("the stencil has no terms; expected at least one offset");
  if (options_.batch < 1) throw InputError(fmt::format("batch = {}; expected at least 1", options_.batch));
  if (options_.slope < 0 || options_.slope > 62)
    throw InputError(fmt::format("slope = {}; expected 0 to 62", options_.slope));
  check_phases(options_.phases);
  std::int64_t workers = 1;
  if (approach_.threads_own_fields) {
    workers = threads.size();
    comm.all_reduce_min(std::span(&workers, 1));  // each thread talks to the same one of other ranks
    if (workers > 1 && comm.size() > 1 && !comm::Communicator::all_threads_may_communicate())
      throw InputError(
          "hybrid-multiple: MPI was not started for messages of all threads (MPI_THREAD_MULTIPLE); start it so, or "
          "take "
          "hybrid-master-only");
  }
  for (std::int64_t w = 0; w < workers; ++w) {
    const ExchangeOptions its{.by_direction = approach_.by_direction,
                              .uses_shared_memory = options_.uses_shared_memory,
                              .components = components_,
                              .most_fields = approach_.is_double_buffered ? options_.batch : 1,
                              .copies_images = options_.copies_images,
                              .tag = first_halo_tag + static_cast<int>(w),
                              .phases = options_.phases};
    workers_.push_back({std::make_unique<HaloExchange<Real>>(layout, HaloShape::of(stencil), its, comm), {}});
  }
}

template <class Real>
void StencilOperator<Real>::check_phases(const std::array<std::complex<double>, 3>& phases) const {
  for (std::size_t d = 0; d < 3; ++d) {
    if (phases[d] == 1.0) continue;
    if (!options_.is_complex) throw InputError("phases go with complex fields; expected 1 for real ones");
    if (!layout_.is_periodic[d])
      throw InputError(fmt::format("a phase along {}, where the grid is not periodic; expected 1", "xyz"[d]));
  }
}

template <class Real>
void StencilOperator<Real>::set_phases(const std::array<std::complex<double>, 3>& phases) {
  check_phases(phases);
  for (auto& worker : workers_) worker.exchange->set_phases(phases);
}

/// Computes a batch whose halo is there, and meanwhile lets the messages of another progress.
template <class Real>
void StencilOperator<Real>::compute(Worker& worker, ThreadPool& threads, int slot, const Work& batch,
                                    bool other_is_under_way) {
  worker.timers.time(GridPhase::computing, [&] {
    const auto planes = box_.extent(0), values = values_of_field();
    auto at_once = other_is_under_way ? std::min<std::int64_t>(planes, 32) : planes;
    if (batch.after) {
      constexpr std::int64_t cache_values = (256 << 10) / sizeof(Real);
      at_once = std::clamp<std::int64_t>(cache_values * planes / std::max<std::int64_t>(values, 1), 1, at_once);
    }
    threads.parallel_for(batch.fields * planes, [&](std::int64_t begin, std::int64_t end) {
      FieldRows<Real> rows;
      for (auto i = begin; i < end;) {  // the planes of one field together
        const auto field = i / planes, last = std::min(planes, i % planes + end - i);
        worker.exchange->place_rows(slot, field, rows);
        auto its = batch;
        its.skip(field, values);
        for (auto first = i % planes; first < last; first += at_once) {
          apply_stencil(kernel_, rows, its.to, first, std::min(last, first + at_once), its.addend, its.streams);
          if (its.after) its.after(its.field, first, std::min(last, first + at_once));
          if (other_is_under_way && begin == 0) worker.exchange->progress(1 - slot);
        }
        i = field * planes + last;
      }
    });
  });
  worker.exchange->release(slot);
}

template <class Real>
void StencilOperator<Real>::apply_one_by_one(Worker& worker, const Work& work) {
  auto one = work;
  one.fields = 1;
  for (std::int64_t field = 0; field < work.fields; ++field, one.skip(1, stride())) {
    worker.exchange->start(0, one.from, 1, threads_, worker.timers);
    worker.exchange->finish(0, threads_, worker.timers);
    compute(worker, threads_, 0, one, false);
  }
}

template <class Real>
void StencilOperator<Real>::apply_in_batches(Worker& worker, ThreadPool& threads, const Work& work) {
  const auto batches = plan_batches(work.fields, options_.batch, options_.slope);
  auto& exchange = *worker.exchange;
  auto batch = work;
  exchange.start(0, batch.from, batches.front(), threads, worker.timers);
  // The second batch would share the wire with the first, for which computing waits, and have nothing left to travel
  // while the first is computed.
  exchange.finish(0, threads, worker.timers);
  for (std::size_t k = 0; k < batches.size(); ++k) {
    const int slot = static_cast<int>(k % 2);
    const bool is_last = k + 1 == batches.size();
    batch.fields = batches[k];
    if (!is_last)
      exchange.start(1 - slot, batch.from + batch.fields * stride(), batches[k + 1], threads, worker.timers);
    if (k > 0) exchange.finish(slot, threads, worker.timers);
    compute(worker, threads, slot, batch, !is_last);
    batch.skip(batch.fields, stride());
  }
}

template <class Real>
template <class WorkOn>
void StencilOperator<Real>::divide(const Work& all, WorkOn&& work_on) {
  const auto n = static_cast<std::int64_t>(workers_.size());
  if (!approach_.threads_own_fields || all.fields < n)  // else some threads would have nothing to do
    return work_on(workers_.front(), threads_, all);
  threads_.run([&](int thread) {
    const auto first = all.fields * thread / n, last = all.fields * (thread + 1) / n;
    if (thread >= n || first == last) return;
    auto its = all;
    its.fields = last - first;
    its.skip(first, stride());
    work_on(workers_[static_cast<std::size_t>(thread)], alone_, its);
  });
}

template <class Real>
void StencilOperator<Real>::apply(std::span<const Real> from, std::span<Real> to, std::int64_t fields,
                                  const Addend<Real>& addend, const AfterPlanes& after) {
  const auto given = options_.repeats_one ? 1 : fields;
  TESSERA_CHECK(static_cast<std::int64_t>(from.size()) == given * values_of_field() && from.size() == to.size());
  if (fields == 0) return;
  // What does not fit into the caches is written past them.
  constexpr std::size_t cache_bytes = 16 << 20;
  const Work all{from.data(), to.data(), fields, addend, !after && 2 * from.size_bytes() > cache_bytes, after};
  if (!approach_.is_double_buffered) return apply_one_by_one(workers_.front(), all);
  divide(all, [&](Worker& worker, ThreadPool& threads, const Work& work) { apply_in_batches(worker, threads, work); });
}

template <class Real>
void StencilOperator<Real>::apply_apart(std::span<const Real> from, std::span<Real> to, std::int64_t fields) {
  const auto given = options_.repeats_one ? 1 : fields;
  TESSERA_CHECK(static_cast<std::int64_t>(from.size()) == given * values_of_field());
  TESSERA_CHECK(to.empty() || to.size() == from.size());
  if (fields == 0) return;
  const AfterPlanes nothing;
  const Work all{from.data(), to.data(), fields, {}, false, nothing};
  divide(all, [&](Worker& worker, ThreadPool& threads, const Work& work) {
    const bool has_batches = approach_.is_double_buffered;
    auto batch = work;
    int slot = 0;
    for (const auto n : plan_batches(work.fields, has_batches ? options_.batch : 1, has_batches ? options_.slope : 0)) {
      batch.fields = n;
      worker.exchange->start(slot, batch.from, n, threads, worker.timers);
      worker.exchange->finish(slot, threads, worker.timers);
      if (to.empty())
        worker.exchange->release(slot);
      else
        compute(worker, threads, slot, batch, false);
      batch.skip(n, stride());
      slot = has_batches ? 1 - slot : 0;
    }
  });
}

template <class Real>
std::array<double, n_grid_phases> StencilOperator<Real>::seconds() const {
  std::array<double, n_grid_phases> mean{};
  for (const auto& worker : workers_)
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += worker.timers.seconds()[i] / static_cast<double>(workers_.size());
  return mean;
}

template class StencilOperator<float>;
template class StencilOperator<double>;

}  // namespace tessera::grid
