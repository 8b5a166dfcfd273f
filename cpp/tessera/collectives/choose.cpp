#include "tessera/collectives/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tessera/collectives/predict.h"
#include "tessera/collectives/subnets/all_to_all.h"
#include "tessera/machine/orders.h"

namespace tessera::collectives {
namespace {

// The model can't be trusted with a gain smaller than this. The time of short operations is latency, and there the
// library has means that a plan does not have (shared memory, hardware).
constexpr double least_gain = 1.05, least_gain_when_short = 1.3;
constexpr double short_in_latencies = 20;

// Libraries take longer than the best textbook algorithm with the best size of pieces: 1.2 times and more in all that
// was measured on switched networks (docs/guide/collectives.md), and never less than this.
constexpr double library_over_textbook = 1.1;

// In an all-to-all, libraries send all messages at once, as the direct plan does. That took 0.9 to 1.03 times as long
// as our plan, but 1.26 times and more where it floods an uplink.
constexpr double flood_over_paced = 1.25;

// MPI libraries choose from these algorithms; they know ranks but not links.
constexpr std::array<std::string_view, 10> textbook{
    "binomial",           "k_ary", "ring",     "recursive_doubling", "recursive_halving",
    "scatter_all_gather", "bruck", "pairwise", "linear_scan",        "star"};

// Entries that take so many times as long as the best one before them are not priced to the end.
constexpr double worth_a_look = 1.5;

// The time of what was not tried is multiplied by this beside times of what was tried, as even the corrected model is
// wrong by so much.
constexpr double untried = 1.15;

/// Holds the ratios of measured to predicted times, from trials of the size that is nearest to the problem's.
class Corrections {
 public:
  Corrections(const CollectiveProblem& problem, const machine::Wires& wires, std::span<const machine::Trial> trials) {
    if (trials.empty()) return;
    const auto placement = machine::placement_of(wires);
    const auto log = [](std::int64_t bytes) {
      return std::log2(static_cast<double>(std::max<std::int64_t>(1, bytes)));
    };
    const double size = log(bytes_of(problem));
    double nearest = furthest_size;
    for (const auto& trial : trials) {
      if (trial.operation != name_of(problem.operation) || trial.n_ranks != problem.n_ranks) continue;
      if (trial.placement != placement) continue;
      const double distance = std::abs(log(trial.bytes) - size);
      if (distance > nearest) continue;
      if (distance < nearest) found_.clear();
      nearest = distance;
      found_.push_back(&trial);
    }
  }

  bool is_empty() const { return found_.empty(); }

  bool is_tried(const std::string& entry) const {
    return std::any_of(found_.begin(), found_.end(), [&](auto* trial) { return trial->entry == entry; });
  }

  double of(const PricedEntry& candidate) const {
    const auto text = text_of({candidate.entry->name, candidate.parameters});
    if (const auto exact = mean([&](const std::string& entry) { return entry == text; })) return *exact;
    const std::string family = candidate.entry->name + std::string(":");
    if (const auto near = mean([&](const std::string& entry) { return entry.starts_with(family); })) return *near;
    return mean([](const std::string& entry) { return entry != "native"; }).value_or(1);
  }

  double of_native() const {
    return mean([](const std::string& entry) { return entry == "native"; }).value_or(1);
  }

 private:
  static constexpr double furthest_size = 2;  // powers of two

  /// Returns the library's own time where the library may have been the faster one.
  double seconds_of(const machine::Trial& trial) const {
    if (trial.least_gain == 0 || trial.least_gain >= never_slower) return trial.seconds;
    double least = trial.seconds;
    for (const auto* other : found_)
      if (other->entry == "native") least = std::max(least, other->seconds);
    return least;
  }

  template <class Is>
  std::optional<double> mean(Is&& is) const {
    double sum = 0;
    int n = 0;
    for (const auto* trial : found_) {
      if (!is(trial->entry)) continue;
      sum += std::log(seconds_of(*trial) / trial->predicted);
      ++n;
    }
    return n > 0 ? std::optional(std::exp(sum / n)) : std::nullopt;
  }

  std::vector<const machine::Trial*> found_;
};

/// Puts the candidate with the fewest messages in front of those that are as fast as the first, unless the first was
/// tried.
void prefer_few_messages(std::vector<PricedEntry>& candidates, const Corrections& corrections) {
  const auto& first = candidates.front();
  if (corrections.is_tried(text_of({first.entry->name, first.parameters}))) return;
  const double most = alike * first.seconds;
  const auto end = std::find_if(candidates.begin(), candidates.end(), [&](auto& c) { return c.seconds > most; });
  const auto best =
      std::min_element(candidates.begin(), end, [](auto& a, auto& b) { return a.n_messages < b.n_messages; });
  std::rotate(candidates.begin(), best, best + 1);
}

}  // namespace

std::int64_t bytes_of(const CollectiveProblem& problem) { return problem.offsets().back() * problem.element_bytes; }

CollectiveProblem representative(const CollectiveProblem& problem) {
  const auto total = static_cast<std::uint64_t>(bytes_of(problem));
  if (total == 0) return problem;
  const auto nearest_power = [](std::uint64_t value) {
    const auto lower = std::bit_floor(value);
    return value - lower < lower / 2 ? lower : 2 * lower;
  };
  auto shape = problem;
  auto& blocks = shape.blocks;
  const auto elements =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(nearest_power(total)) / problem.element_bytes);
  const auto n = static_cast<std::int64_t>(blocks.size());
  const auto mean = (problem.offsets().back() + n - 1) / n;
  const auto largest = std::max_element(blocks.begin(), blocks.end());
  if (*largest <= 2 * mean) {
    std::fill(blocks.begin(), blocks.end(), std::max<std::int64_t>(1, elements / n));
    return shape;
  }
  const auto ratio = static_cast<std::int64_t>(nearest_power(static_cast<std::uint64_t>(*largest / mean)));
  const auto greatest = std::min(elements, ratio * std::max<std::int64_t>(1, elements / n));
  const auto at = largest - blocks.begin();
  std::fill(blocks.begin(), blocks.end(), (elements - greatest) / (n - 1));
  blocks[static_cast<std::size_t>(at)] = greatest;
  return shape;
}

double native_seconds(const CollectiveProblem& problem, const machine::Wires& wires) {
  // The plan is made for ranks on one switch that are all alike, which keeps them in the order of the job, but it is
  // priced on the true network.
  const auto blind = wires_of_ranks_alone(problem.n_ranks);
  double least = std::numeric_limits<double>::infinity();
  const bool is_all_to_all = problem.operation == Operation::all_to_all;
  for (const auto& entry : entries()) {
    const bool is_direct = is_all_to_all && entry.name == std::string_view("subnets");
    if (!is_direct && std::find(textbook.begin(), textbook.end(), entry.name) == textbook.end()) continue;
    if (!entry.can(problem, blind)) continue;
    const auto& seen = is_direct ? wires : blind;
    const auto plan = entry.plan(problem, seen, entry.candidates(problem, seen).front());
    const bool is_long = plan.messages.size() > most_priced;  // then in the library's favour
    least =
        std::min(least, is_long ? least_seconds(plan, problem, wires) : predict(plan, problem, wires, least).seconds);
  }
  if (!is_all_to_all) return library_over_textbook * least;
  return floods_an_uplink(problem, wires) ? flood_over_paced * least : least;
}

EntryChoice choose(const CollectiveProblem& problem, const machine::Wires& wires,
                   const std::optional<std::string>& only, std::span<const machine::Trial> trials) {
  EntryChoice choice;
  if (only == "native") {
    choice.reason = "the MPI library's own was asked for";
    return choice;
  }
  if (problem.n_ranks == 1) {
    choice.reason = "one rank has nobody to talk to";
    return choice;
  }
  if (only) {
    if (!entry(*only).can(problem, wires)) {
      choice.reason = fmt::format("{} can't do this {}; the MPI library does it", *only, name_of(problem.operation));
      return choice;
    }
  }
  auto& candidates = choice.ranked;
  candidates = rank_candidates(problem, wires, only, worth_a_look);
  const Corrections corrections(problem, wires, trials);
  if (!corrections.is_empty()) {
    const auto is_tried = [&](const PricedEntry& candidate) {
      return corrections.is_tried(text_of({candidate.entry->name, candidate.parameters}));
    };
    for (auto& candidate : candidates) {
      // A trial corrects the whole time. A lower bound of a time is not corrected downwards.
      if (candidate.is_least && is_tried(candidate)) {
        const auto plan = plan_of(*candidate.entry, problem, wires, candidate.parameters);
        candidate.seconds = predict(plan, problem, wires).seconds;
        candidate.is_least = false;
      }
      const double factor = corrections.of(candidate);
      candidate.seconds *= candidate.is_least ? std::max(1.0, factor) : factor;
    }
    if (std::any_of(candidates.begin(), candidates.end(), is_tried))
      for (auto& candidate : candidates)
        if (!is_tried(candidate)) candidate.seconds *= untried;
    sort_by_time(candidates);
  }
  if (candidates.empty()) {
    choice.reason = fmt::format("no entry has a plan of this {} that is short enough; the MPI library does it",
                                name_of(problem.operation));
    return choice;
  }
  prefer_few_messages(candidates, corrections);
  const auto& best = candidates.front();
  if (only) {
    choice.ours = best;
    choice.reason = fmt::format("{} was asked for", *only);
    return choice;
  }
  choice.native_seconds = native_seconds(problem, wires) * corrections.of_native();
  if (!std::isfinite(choice.native_seconds)) {
    choice.native_seconds = 0;
    choice.reason = "nothing can be said of the MPI library's time";
    return choice;
  }
  const double gain = choice.native_seconds / best.seconds;
  const bool is_tried =
      corrections.is_tried("native") && corrections.is_tried(text_of({best.entry->name, best.parameters}));
  const bool is_short = !is_tried && best.seconds < short_in_latencies * wires.network().subnets.front().link.latency;
  if (gain >= (is_short ? least_gain_when_short : least_gain)) {
    choice.ours = best;
    choice.reason = fmt::format("{} {} {:.2g} times as fast as the MPI library", best.entry->name,
                                is_tried ? "was tried and is" : "is predicted", gain);
  } else {
    choice.reason = fmt::format("{} {} {:.2g} times as fast as the MPI library, which is no clear gain",
                                best.entry->name, is_tried ? "was tried and is" : "is predicted", gain);
  }
  return choice;
}

PricedEntry priced_for(const CollectiveProblem& problem, const machine::Wires& wires, PricedEntry of_class) {
  const auto seconds_of = [&](const CollectiveProblem& one) {
    return predict(plan_of(*of_class.entry, one, wires, of_class.parameters), one, wires).seconds;
  };
  // What trials say of the class holds for all its sizes, so times are scaled.
  if (const auto shape = representative(problem); problem != shape)
    of_class.seconds *= seconds_of(problem) / seconds_of(shape);
  return of_class;
}

double native_seconds_for(const CollectiveProblem& problem, const machine::Wires& wires, double of_class) {
  const auto shape = representative(problem);
  if (of_class <= 0 || problem == shape) return of_class;
  return of_class * native_seconds(problem, wires) / native_seconds(shape, wires);
}

EntryChoice choose_by_class(const CollectiveProblem& problem, const machine::Wires& wires,
                            std::span<const machine::Trial> trials) {
  auto choice = choose(representative(problem), wires, std::nullopt, trials);
  std::vector<PricedEntry> ranked;
  const auto price = [&](const PricedEntry& candidate) -> std::optional<PricedEntry> {
    try {
      if (can(*candidate.entry, problem, wires, candidate.parameters)) return priced_for(problem, wires, candidate);
    } catch (const std::length_error&) {  // its plan is too long
    }
    return std::nullopt;
  };
  for (const auto& candidate : choice.ranked)
    if (auto priced = price(candidate)) ranked.push_back(*priced);
  if (!ranked.empty()) sort_by_time(std::span(ranked).subspan(1));  // after the one that is preferred
  choice.ranked = std::move(ranked);
  choice.native_seconds = native_seconds_for(problem, wires, choice.native_seconds);
  if (!choice.ours) return choice;
  const auto* name = choice.ours->entry->name;
  choice.ours = price(*choice.ours);
  if (!choice.ours)
    choice.reason = fmt::format("{} has no plan of this {}; the MPI library does it", name, name_of(problem.operation));
  return choice;
}

}  // namespace tessera::collectives
