#include "tessera/grid/choice/overlap.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <vector>

#include "tessera/grid/operator.h"

namespace tessera::grid {

namespace {

constexpr std::int64_t trial_batches = 6;  // of one field
constexpr int most_turns_of_trial = 5;
constexpr double seconds_of_trial = 0.1;

/// Returns the seconds of work without those of packing.
template <class Real, class Work>
double seconds_of(const StencilOperator<Real>& its, Work&& work) {
  constexpr auto packing = static_cast<std::size_t>(GridPhase::packing);
  const auto packed = its.seconds()[packing];
  const auto begin = std::chrono::steady_clock::now();
  work();
  const auto spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return spent - (its.seconds()[packing] - packed);
}

}  // namespace

std::optional<double> overlap_of(const OverlapTimes& times) {
  const double computing = times.apart - times.exchange;
  const auto [shorter, longer] = std::minmax(times.exchange, computing);
  if (times.batches < 2 || shorter <= 0 || shorter < least_hidden * longer) return std::nullopt;
  const double hidden = times.apart - times.together;
  const double hideable = shorter * static_cast<double>(times.batches - 1) / static_cast<double>(times.batches);
  return std::clamp(hidden / hideable, 0.0, 1.0);
}

template <class Real>
std::optional<double> measure_overlap(const Stencil& stencil, std::int64_t components, const GridLayout& layout,
                                      const comm::Communicator& comm, ThreadPool& threads) {
  const OperatorOptions options{.batch = 1, .slope = 0, .is_complex = components == 2, .repeats_one = true};
  StencilOperator<Real> apply(stencil, layout, options, comm, threads);
  if (comm::all_reduce_max(comm, apply.sends_messages() ? 1 : 0) == 0) return std::nullopt;
  const std::vector<Real> from(static_cast<std::size_t>(apply.values_of_field()), Real{1});
  std::vector<Real> to(from.size());

  std::array<std::vector<double>, 3> turns;  // exchange, one after the other, together
  double elapsed = 0;
  for (int turn = -1; turn < most_turns_of_trial && (turn < 1 || elapsed < seconds_of_trial); ++turn) {
    comm.barrier();
    const auto begin = std::chrono::steady_clock::now();
    const std::array<double, 3> spent = {seconds_of(apply, [&] { apply.apply_apart(from, {}, trial_batches); }),
                                         seconds_of(apply, [&] { apply.apply_apart(from, to, trial_batches); }),
                                         seconds_of(apply, [&] { apply.apply(from, to, trial_batches); })};
    std::array<double, 1> its{std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
    comm.all_reduce_max(std::span<double>(its));
    elapsed += its[0];
    if (turn < 0) continue;  // pages, buffers and connections are new
    for (std::size_t i = 0; i < spent.size(); ++i) turns[i].push_back(spent[i]);
  }
  std::array<double, 3> sums{};  // of all ranks
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto middle = turns[i].begin() + static_cast<std::ptrdiff_t>(turns[i].size() / 2);
    std::nth_element(turns[i].begin(), middle, turns[i].end());
    sums[i] = *middle;
  }
  comm.all_reduce_sum_for_report(std::span<double>(sums));
  return overlap_of({sums[0], sums[1], sums[2], trial_batches});
}

template std::optional<double> measure_overlap<float>(const Stencil&, std::int64_t, const GridLayout&,
                                                      const comm::Communicator&, ThreadPool&);
template std::optional<double> measure_overlap<double>(const Stencil&, std::int64_t, const GridLayout&,
                                                       const comm::Communicator&, ThreadPool&);

}  // namespace tessera::grid
