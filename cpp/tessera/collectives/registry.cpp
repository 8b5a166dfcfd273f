#include "tessera/collectives/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <sstream>
#include <tuple>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/integer.h"
#include "tessera/collectives/classical/build.h"
#include "tessera/collectives/classical/entries.h"
#include "tessera/collectives/hierarchical/hierarchical.h"
#include "tessera/collectives/predict.h"
#include "tessera/collectives/subnets/subnets.h"

namespace tessera::collectives {
namespace {

constexpr const char* hierarchical_name = "hierarchical";

}  // namespace

machine::Wires wires_of_ranks_alone(int n_ranks) {
  std::vector<machine::Host> hosts(static_cast<std::size_t>(n_ranks));
  for (std::size_t i = 0; i < hosts.size(); ++i) hosts[i].name = fmt::format("rank{}", i);
  return machine::Wires(machine::one_switch(hosts, {1e-5, 1e9}), rank_order(n_ranks));
}

bool can(const Entry& entry, const CollectiveProblem& problem, const machine::Wires& wires,
         const Parameters& parameters) {
  if (parameters.by_ranks) return entry.can(problem, wires_of_ranks_alone(problem.n_ranks));
  return entry.can(problem, wires);
}

MessagePlan plan_of(const Entry& entry, const CollectiveProblem& problem, const machine::Wires& wires,
                    const Parameters& parameters) {
  if (!parameters.by_ranks) return entry.plan(problem, wires, parameters);
  auto plan = entry.plan(problem, wires_of_ranks_alone(problem.n_ranks), parameters);
  plan.entry += " in the order of ranks";
  return plan;
}

std::string text_of(const NamedEntry& named) {
  auto text = named.name;
  if (!named.parameters) return text;
  const auto& [segment, degree, depth, pattern, by_ranks] = *named.parameters;
  const Parameters unchosen;
  text += fmt::format(":segment={}", segment);
  if (degree != unchosen.degree) text += fmt::format(":degree={}", degree);
  if (depth != unchosen.depth) text += fmt::format(":depth={}", depth);
  auto words = pattern;
  std::replace(words.begin(), words.end(), ',', '+');  // commas stand between entries of a list
  if (!words.empty()) text += ":pattern=" + words;
  if (by_ranks) text += ":order=ranks";
  return text;
}

NamedEntry named_entry(const std::string& text) {
  NamedEntry named;
  std::istringstream words(text);
  std::getline(words, named.name, ':');
  for (std::string word; std::getline(words, word, ':');) {
    const auto equals = word.find('=');
    const auto key = word.substr(0, equals);
    auto value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (!named.parameters) named.parameters.emplace();
    if (key == "segment") {
      named.parameters->segment = integer_of<std::int64_t>(value, text);
    } else if (key == "degree") {
      named.parameters->degree = integer_of<int>(value, text);
    } else if (key == "depth") {
      named.parameters->depth = integer_of<int>(value, text);
    } else if (key == "pattern") {
      std::replace(value.begin(), value.end(), '+', ',');
      named.parameters->pattern = value;
    } else if (key == "order") {
      if (value != "ranks")
        throw InputError(
            fmt::format("{}: order is \"{}\", expected \"ranks\"; without it plans follow the network", text, value));
      named.parameters->by_ranks = true;
    } else {
      throw InputError(fmt::format(
          "{}: \"{}\" can't be chosen; there are segment=BYTES, degree=N, depth=N, pattern=NAME and order=ranks", text,
          key));
    }
    if (named.parameters->segment < 0 || named.parameters->degree < 1 || named.parameters->depth < 0)
      throw InputError(fmt::format("{}: {} is {}, expected {} or more", text, key, value, key == "degree" ? 1 : 0));
  }
  if (named.name == hierarchical_name && named.parameters && !named.parameters->pattern.empty())
    (void)entry(named.parameters->pattern.substr(0, named.parameters->pattern.find(',')));  // that between hosts
  return named;
}

std::span<const Entry> entries() {
  static const std::array all{
      Entry{"subnets", "for every piece a tree along the subnets of the network (Lowekamp and Beguelin 1995, §4)",
            can_subnets, plan_subnets, candidates_subnets},
      binomial_entry,
      recursive_doubling_entry,
      recursive_halving_entry,
      ring_entry,
      scatter_all_gather_entry,
      bruck_entry,
      pairwise_entry,
      k_ary_entry,
      star_entry,
      spanning_tree_entry,
      linear_scan_entry,
      Entry{hierarchical_name,
            "the MPI library's own inside each host, a plan between their leaders (Lowekamp and Beguelin 1995, §7)",
            can_hierarchical, plan_hierarchical, candidates_hierarchical},
  };
  return all;
}

const Entry& entry(const std::string& name) { return find_named(entries(), name, "collective algorithm"); }

std::vector<int> topology_order(const machine::Wires& wires) {
  // Hosts and subnets are ordered by their lowest rank. So where the job numbers its ranks along the network, the order
  // is that of the ranks.
  const auto n_ranks = static_cast<std::size_t>(wires.n_ranks());
  const auto& network = wires.network();
  std::vector<int> lowest_of_subnet(network.subnets.size(), -1), lowest_of_host(network.hosts.size(), -1);
  std::vector<std::vector<int>> place(n_ranks);  // lowest ranks of whole, subnet, … , host; the rank
  const auto note = [](int& lowest, int rank) { lowest = lowest < 0 ? rank : lowest; };
  for (int rank = 0; rank < wires.n_ranks(); ++rank) {
    const auto host = wires.host_of(rank);
    note(lowest_of_host[static_cast<std::size_t>(host)], rank);
    auto& own = place[static_cast<std::size_t>(rank)];
    const auto ancestors = network.ancestors(host);
    for (auto subnet = ancestors.rbegin(); subnet != ancestors.rend(); ++subnet) {
      note(lowest_of_subnet[static_cast<std::size_t>(*subnet)], rank);
      own.push_back(lowest_of_subnet[static_cast<std::size_t>(*subnet)]);
    }
    own.push_back(lowest_of_host[static_cast<std::size_t>(host)]);
    own.push_back(rank);
  }
  auto order = rank_order(wires.n_ranks());
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return place[static_cast<std::size_t>(a)] < place[static_cast<std::size_t>(b)]; });
  return order;
}

int central_rank(const machine::Wires& wires, double bytes) {
  const auto& network = wires.network();
  std::vector<int> n_ranks_below(network.subnets.size(), 0);
  for (int host = 0; host < static_cast<int>(network.hosts.size()); ++host)
    for (const int subnet : network.ancestors(host))
      n_ranks_below[static_cast<std::size_t>(subnet)] += static_cast<int>(wires.ranks_on(host).size());
  int central = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int host = 0; host < static_cast<int>(network.hosts.size()); ++host) {
    const auto ranks = wires.ranks_on(host);
    if (ranks.empty()) continue;
    auto n_reached = static_cast<int>(ranks.size());
    const auto inside =
        network.hosts[static_cast<std::size_t>(host)].inside.value_or(machine::Wires::unmeasured_inside);
    double seconds = (n_reached - 1) * inside.time(bytes);
    for (const int subnet : network.ancestors(host)) {
      const int n_below = n_ranks_below[static_cast<std::size_t>(subnet)];
      if (n_below == n_reached) continue;
      seconds += (n_below - n_reached) * network.subnets[static_cast<std::size_t>(subnet)].link.time(bytes);
      n_reached = n_below;
    }
    const bool is_lower = ranks.front() < central && seconds <= least * (1 + 1e-9);
    if (seconds < least * (1 - 1e-9) || is_lower) {
      least = seconds;
      central = ranks.front();
    }
  }
  return central;
}

namespace {

bool have_one_shape(const Parameters& a, const Parameters& b) {
  return a.pattern == b.pattern && a.degree == b.degree && a.depth == b.depth;
}

/// Predicts the times of entries with their parameters, one after the other.
class Pricing {
 public:
  Pricing(const CollectiveProblem& problem, const machine::Wires& wires, double slack, std::size_t most)
      : problem_(problem), wires_(wires), slack_(slack), left_(most) {}

  std::vector<PricedEntry> candidates;

  /// Prices the first guess of each entry first, then the rest entry by entry, so that where not all can be priced,
  /// some of every entry are.
  void add(const std::vector<const Entry*>& chosen) {
    std::vector<std::vector<Parameters>> all;
    for (const auto* entry : chosen) {
      all.push_back(entry->candidates(problem_, wires_));
      auto& shapes = all.back();
      const auto first = shapes.front();
      // The first shape comes first; within a shape the whole vector, then large pieces before small ones, as small
      // pieces make long plans.
      std::stable_sort(shapes.begin(), shapes.end(), [&](const Parameters& a, const Parameters& b) {
        const auto key = [&](const Parameters& p) {
          return std::tuple(!have_one_shape(p, first), p.segment > 0, -p.segment);
        };
        return key(a) < key(b);
      });
    }
    std::vector<std::optional<PricedEntry>> first;
    for (std::size_t i = 0; i < chosen.size(); ++i) first.push_back(price(*chosen[i], all[i].front()));
    for (std::size_t i = 0; i < chosen.size(); ++i)
      if (first[i]) add_rest(*chosen[i], all[i], *first[i]);
    std::stable_sort(candidates.begin(), candidates.end(), [](auto& a, auto& b) { return a.entry < b.entry; });
    sort_by_time(candidates);
  }

 private:
  void add_rest(const Entry& entry, const std::vector<Parameters>& all, const PricedEntry& first) {
    auto best = first;
    std::map<std::int64_t, std::size_t> n_messages{{first.parameters.segment, first.n_messages}};  // by size of pieces
    bool is_finer_better = true;
    for (std::size_t i = 1; i < all.size(); ++i) {
      const auto segment = all[i].segment;
      if (have_one_shape(all[i], all.front())) {
        if (!is_finer_better) continue;
        const auto priced = price(entry, all[i]);
        is_finer_better = priced && (alike * priced->seconds < best.seconds || best.parameters.segment == 0);
        if (priced) n_messages[segment] = priced->n_messages;
        if (priced && priced->seconds < best.seconds) best = *priced;
      } else if (segment == 0 || segment == best.parameters.segment) {
        const auto of_that_size = n_messages.find(segment);
        if (of_that_size != n_messages.end() && of_that_size->second <= left_) price(entry, all[i]);
      }
    }
  }

  /// Returns nothing where the plan is too long.
  std::optional<PricedEntry> price(const Entry& entry, const Parameters& parameters) {
    try {
      const auto plan = plan_of(entry, problem_, wires_, parameters);
      const auto n_messages = plan.messages.size();
      if (n_messages > left_) return std::nullopt;
      left_ -= n_messages;
      double seconds = least_seconds(plan, problem_, wires_);
      const double most = slack_ * least_;
      if (seconds <= most) seconds = predict(plan, problem_, wires_, most).seconds;
      least_ = std::min(least_, seconds);
      candidates.push_back({&entry, parameters, seconds, n_messages, seconds > most});
      return candidates.back();
    } catch (const TooManyMessages&) {
      return std::nullopt;
    }
  }

  const CollectiveProblem& problem_;
  const machine::Wires& wires_;
  double slack_;
  std::size_t left_;  // messages that may be priced yet
  double least_ = std::numeric_limits<double>::infinity();
};

}  // namespace

std::vector<PricedEntry> rank_candidates(const CollectiveProblem& problem, const machine::Wires& wires,
                                         const std::optional<std::string>& only, double slack) {
  if (only) (void)entry(*only);  // throws where there is none
  std::vector<const Entry*> able;
  for (const auto& known : entries())
    if ((!only || *only == known.name) && known.can(problem, wires)) able.push_back(&known);
  Pricing pricing(problem, wires, slack, only ? most_messages : most_priced);
  pricing.add(able);
  return std::move(pricing.candidates);
}

void sort_by_time(std::span<PricedEntry> candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const PricedEntry& a, const PricedEntry& b) { return a.seconds < b.seconds; });
}

}  // namespace tessera::collectives
