#include "tessera/grid/choice/rates.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "tessera/grid/choice/overlap.h"
#include "tessera/grid/operator.h"

namespace tessera::grid {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t trial_bytes = 12 << 20;  // of the fields, and as many of the results
constexpr std::int64_t most_trial_fields = 64;
constexpr double trial_seconds = 1e-3;
constexpr std::size_t fewest_turns = 3, most_turns = 50;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Stencils of a kind take as long for a point.
using Kind = std::vector<std::int64_t>;

struct Known {
  std::mutex one_at_a_time;
  std::map<Kind, CoreRates> rates;

  std::optional<CoreRates> find(const Kind& kind) {
    const std::lock_guard lock(one_at_a_time);
    const auto at = rates.find(kind);
    return at == rates.end() ? std::nullopt : std::optional(at->second);
  }
  void keep(const Kind& kind, const CoreRates& its) {
    const std::lock_guard lock(one_at_a_time);
    rates[kind] = its;
  }
};

Known& known() {
  static Known all;
  return all;
}
std::atomic<std::int64_t> trials{0};

Kind kind_of(std::int64_t bytes, const Stencil& stencil, const RateTrial& trial, int threads) {
  Kind kind{bytes, trial.components, threads, static_cast<std::int64_t>(stencil.offsets.size())};
  for (const auto& side : stencil.reach()) kind.insert(kind.end(), side.begin(), side.end());
  kind.insert(kind.end(), trial.extents.begin(), trial.extents.end());
  for (std::size_t d = 0; d < 3; ++d) kind.push_back((trial.is_periodic[d] ? 2 : 0) + (trial.is_divided[d] ? 1 : 0));
  return kind;
}

}  // namespace

double measure_synchronising(ThreadPool& threads) {
  if (threads.size() == 1) return 0;
  constexpr int n = 20;
  std::vector<double> turns;
  const auto begin = Clock::now();
  while (turns.size() < fewest_turns || (turns.size() < most_turns && seconds_since(begin) < trial_seconds)) {
    const auto start = Clock::now();
    for (int i = 0; i < n; ++i) threads.run([](int) {});
    turns.push_back(seconds_since(start) / n);
  }
  return median_of(std::move(turns));
}

template <class Real>
CoreRates measure_rates(const Stencil& stencil, const RateTrial& trial, ThreadPool& threads) {
  ++trials;
  CoreRates found{0, 0, measure_synchronising(threads), 1};
  auto extents = trial.extents;
  const auto value_bytes = static_cast<std::int64_t>(sizeof(Real));
  const auto plane_bytes = extents[1] * extents[2] * trial.components * value_bytes;
  if (extents[0] * plane_bytes == 0) return found;
  extents[0] = std::clamp<std::int64_t>(trial_bytes / plane_bytes, 1, extents[0]);
  const auto fields = std::clamp<std::int64_t>(trial_bytes / (extents[0] * plane_bytes), 1, most_trial_fields);

  // A rank alone, whose own images take the place of other ranks' faces.
  GridLayout layout{extents, trial.is_periodic, {1, 1, 1}, {{{0, 0, 0}, extents}}};
  for (std::size_t d = 0; d < 3; ++d) layout.is_periodic[d] |= trial.is_divided[d];
  OperatorOptions options{.batch = fields, .slope = 0, .is_complex = trial.components == 2};
  options.copies_images = trial.is_divided;
  const auto alone = comm::Communicator::alone();
  StencilOperator<Real> apply(stencil, layout, options, alone, threads);
  const std::vector<Real> from(static_cast<std::size_t>(fields * apply.values_of_field()), Real{1});
  std::vector<Real> to(from.size());
  apply.apply(from, to, fields);  // pages and buffers are new

  std::vector<double> computing, packing;
  const auto begin = Clock::now();
  while (computing.size() < fewest_turns || (computing.size() < most_turns && seconds_since(begin) < trial_seconds)) {
    const auto before = apply.seconds();
    apply.apply(from, to, fields);
    const auto after = apply.seconds();
    const auto spent = [&](GridPhase phase) {
      return after[static_cast<std::size_t>(phase)] - before[static_cast<std::size_t>(phase)];
    };
    computing.push_back(spent(GridPhase::computing));
    packing.push_back(spent(GridPhase::packing));
  }
  const auto n = static_cast<double>(fields), cores = static_cast<double>(threads.size());
  found.point = cores * median_of(std::move(computing)) / (n * static_cast<double>(layout.boxes[0].size()));
  if (apply.values_of_images() > 0)
    found.packing =
        cores * median_of(std::move(packing)) / (n * static_cast<double>(apply.values_of_images() * value_bytes));
  return found;
}

template <class Real>
CoreRates agree_on_rates(const Stencil& stencil, std::int64_t components, const GridLayout& layout,
                         const comm::Communicator& comm, ThreadPool& threads) {
  const auto& box = layout.boxes[static_cast<std::size_t>(comm.rank())];
  RateTrial trial{{box.extent(0), box.extent(1), box.extent(2)}, layout.is_periodic, {}, components};
  for (std::size_t d = 0; d < 3; ++d) trial.is_divided[d] = layout.processes[d] > 1;
  auto kind = kind_of(sizeof(Real), stencil, trial, threads.size());
  kind.push_back(comm.size());
  const auto slowest = [&](CoreRates rates) {
    std::array<double, 4> its{rates.point, rates.packing, rates.synchronising, -rates.overlap};
    comm.all_reduce_max(std::span<double>(its));
    return CoreRates{its[0], its[1], its[2], -its[3]};
  };
  const auto mine = known().find(kind);
  if (comm::all_reduce_max(comm, mine ? 0 : 1) == 0) return slowest(*mine);
  // All measure at the same time, as they share the memory of their host.
  auto rates = slowest(measure_rates<Real>(stencil, trial, threads));
  rates.overlap = measure_overlap<Real>(stencil, components, layout, comm, threads).value_or(rates.overlap);
  known().keep(kind, rates);
  return rates;
}

std::int64_t rate_trials() { return trials; }

template CoreRates measure_rates<float>(const Stencil&, const RateTrial&, ThreadPool&);
template CoreRates measure_rates<double>(const Stencil&, const RateTrial&, ThreadPool&);
template CoreRates agree_on_rates<float>(const Stencil&, std::int64_t, const GridLayout&, const comm::Communicator&,
                                         ThreadPool&);
template CoreRates agree_on_rates<double>(const Stencil&, std::int64_t, const GridLayout&, const comm::Communicator&,
                                          ThreadPool&);

}  // namespace tessera::grid
