#include "tessera/programs/probe/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>

#include "tessera/base/error.h"
#include "tessera/machine/survey/contention.h"
#include "tessera/machine/survey/derive_network.h"
#include "tessera/machine/survey/pairs_to_measure.h"

namespace tessera::programs::probe {
namespace {

using machine::Experiment;
using machine::Flow;
using machine::HostPair;
using machine::Measurements;

/// Of the time; the rest is for what happens when several talk at once.
constexpr double share_of_pairs = 0.6;
constexpr double longest_inside = 0.1;  // s a host
constexpr double most_of_short = 0.05;  // s, for the repeats of short messages of a pair in a pass
constexpr int short_repeats = 10;
constexpr int looks = 2;                 // at pairs in doubt
constexpr double share_of_looks = 0.15;  // of the time left, each
constexpr double most_of_look = 0.1;     // s, each direction of a pair
constexpr double tolerance = 1.2;        // of Lowekamp and Beguelin (1995)
constexpr int flow_repeats = 2;
constexpr double share_of_media = 0.6;  // of the time left, for media and uplinks
constexpr double shortest_flow = 0.05;  // s

class Clock {
 public:
  explicit Clock(double seconds) : start_(std::chrono::steady_clock::now()), seconds_(seconds) {}
  double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  double left() const { return seconds_ - elapsed(); }

 private:
  std::chrono::steady_clock::time_point start_;
  double seconds_;
};

Measurements nothing_yet(const HostLayout& layout, const SurveyOptions& options) {
  std::vector<machine::MeasuredHost> hosts;
  for (int host = 0; host < layout.n_hosts(); ++host) {
    machine::MeasuredHost measured{layout.hosts[static_cast<std::size_t>(host)], 0, {}, {}, -1};
    for (std::size_t rank = 0; rank < layout.host_of_rank.size(); ++rank)
      if (layout.host_of_rank[rank] == host) measured.ranks.push_back(static_cast<int>(rank));
    measured.slots = static_cast<int>(measured.ranks.size());
    measured.kernel = layout.kernels[static_cast<std::size_t>(host)];
    measured.node = layout.machines[static_cast<std::size_t>(host)];
    hosts.push_back(std::move(measured));
  }
  return Measurements::of(std::move(hosts), options.sizes);
}

void measure_inside(Crew& crew, const HostLayout& layout, const SurveyOptions& options, const Clock& clock,
                    const Progress& progress, Measurements& found) {
  const double each = std::min(longest_inside, 0.1 * clock.left() / layout.n_hosts());
  for (int host = 0; host < layout.n_hosts(); ++host) {
    progress("inside hosts", host, layout.n_hosts(), each * (layout.n_hosts() - host));
    const auto second = layout.second(host);
    if (!second) continue;
    // Shared memory is quick, so more repeats than between hosts cost nothing.
    const auto times = crew.exchange(layout.leader(host), *second, options.sizes, 20 * options.repeats, each);
    for (std::size_t i = 0; i < times.size(); ++i) found.inside[i][static_cast<std::size_t>(host)] = times[i];
  }
}

class Pairs {
 public:
  Pairs(Crew& crew, const HostLayout& layout, const SurveyOptions& options, const Clock& clock,
        const Progress& progress, Measurements& found)
      : crew_(crew), layout_(layout), options_(options), clock_(clock), progress_(progress), found_(found) {}

  /// Measures all pairs once, then again in further passes while there is time.
  void measure() {
    const double end = clock_.elapsed() + share_of_pairs * clock_.left();
    const auto budget = machine::default_pair_budget(layout_.n_hosts());
    std::vector<HostPair> all;
    for (;;) {
      const auto next = machine::pairs_to_measure(found_.times, budget);
      if (next.empty() || !pass(next, 0, static_cast<int>(all.size()), end)) break;
      all.insert(all.end(), next.begin(), next.end());
    }
    // Passes go over all pairs, rather than all repeats of a pair following each other, so that a burst of other
    // traffic disturbs one pass only.
    for (int repeat = 1; repeat < options_.repeats; ++repeat) {
      for (auto& [from, to] : all) std::swap(from, to);
      if (!pass(all, repeat, 0, end)) break;
    }
    for (int look = 0; look < looks; ++look) look_again(all);
  }

 private:
  /// Measures again pairs that are in one subnet by one size and in two by another, by the rule of Lowekamp and
  /// Beguelin (1995) (Figure 2): they are joined by either a switch or a thin link, or were disturbed. Many more
  /// repeats of these sizes decide, as disturbances only add time.
  void look_again(const std::vector<HostPair>& pairs) {
    const double end = clock_.elapsed() + share_of_looks * clock_.left();
    const auto n_sizes = options_.sizes.size();
    std::vector<std::vector<double>> least(n_sizes);  // of each size and host
    for (std::size_t k = 0; k < n_sizes; ++k)
      for (int a = 0; a < layout_.n_hosts(); ++a) {
        double found = std::nan("");
        for (int b = 0; b < layout_.n_hosts(); ++b)
          if (a != b) found = std::fmin(found, found_.times[k].between(a, b));
        least[k].push_back(found);
      }
    int done = 0;
    for (const auto& [a, b] : pairs) {
      std::vector<std::int64_t> doubtful;
      std::size_t n_apart = 0;
      for (std::size_t k = 0; k < n_sizes; ++k) {
        const double limit = std::fmin(least[k][static_cast<std::size_t>(a)], least[k][static_cast<std::size_t>(b)]);
        const double time = found_.times[k].between(a, b);
        if (time <= tolerance * limit) continue;
        ++n_apart;
        if (time < most_of_look / 20) doubtful.push_back(options_.sizes[k]);  // longer ones waver little and cost much
      }
      progress_("pairs in doubt", done++, static_cast<int>(pairs.size()), -1);
      if (doubtful.empty() || n_apart == n_sizes) continue;
      for (const auto& pair : {HostPair{a, b}, HostPair{b, a}}) {
        if (clock_.elapsed() > end) return;
        record(pair, doubtful, 10 * short_repeats, most_of_look);
      }
    }
  }

  /// Returns false where the time is over.
  bool pass(const std::vector<HostPair>& pairs, int repeat, int before, double end) {
    const double start = clock_.elapsed();
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const double now = clock_.elapsed();
      if (now >= end) return false;
      const auto n = static_cast<double>(pairs.size());
      const double left = i == 0 ? -1 : (now - start) / static_cast<double>(i) * (n - static_cast<double>(i));
      progress_(fmt::format("pairs, pass {} of {}", repeat + 1, options_.repeats), before + static_cast<int>(i),
                before + static_cast<int>(pairs.size()), left);
      exchange(pairs[i], (end - now) / (n - static_cast<double>(i)));
    }
    return true;
  }

  /// Measures one round trip of each size; short ones are repeated, as they cost next to nothing and vary most.
  /// Directions take turns and are kept apart: where they differ, that is noise.
  void exchange(HostPair pair, double seconds) {
    const double most = std::min(seconds, most_of_short) / 2;
    const auto once = record(pair, options_.sizes, 1, 0);
    const auto is_short = [&](double time) { return 2 * short_repeats * time < most; };
    const auto n_short = std::ranges::find_if_not(once, is_short) - once.begin();
    const std::vector<std::int64_t> sizes(options_.sizes.begin(), options_.sizes.begin() + n_short);
    if (n_short == 0) return;
    record({pair.second, pair.first}, sizes, short_repeats, most);
    record(pair, sizes, short_repeats, most);
  }

  std::vector<double> record(HostPair pair, const std::vector<std::int64_t>& sizes, int repeats, double seconds) {
    auto times = crew_.exchange(layout_.leader(pair.first), layout_.leader(pair.second), sizes, repeats, seconds);
    for (std::size_t i = 0; i < times.size(); ++i) {
      const auto size = std::ranges::find(options_.sizes, sizes[i]) - options_.sizes.begin();
      double& known = found_.times[static_cast<std::size_t>(size)].at(pair.first, pair.second);
      known = std::fmin(known, times[i]);  // NaN: not yet
    }
    return times;
  }

  Crew& crew_;
  const HostLayout& layout_;
  const SurveyOptions& options_;
  const Clock& clock_;
  const Progress& progress_;
  Measurements& found_;
};

void measure_contention(Crew& crew, const HostLayout& layout, const Clock& clock, const Progress& progress,
                        Measurements& found) {
  const auto run = [&](const std::vector<Flow>& flows, std::int64_t bytes, std::int64_t piece, int repeats) {
    std::vector<std::pair<int, int>> pairs;
    for (const auto& flow : flows) pairs.emplace_back(layout.leader(flow.from), layout.leader(flow.to));
    auto least = crew.flow(pairs, bytes, piece);
    for (int repeat = 1; repeat < repeats && clock.left() > 0; ++repeat) {
      const auto again = crew.flow(pairs, bytes, piece);
      // The flows of the fastest repeat are kept together, as the least of each flow alone would not be of one moment.
      if (std::ranges::max(again) < std::ranges::max(least)) least = again;
    }
    return least;
  };
  machine::ContentionOptions options;
  const auto seconds_of = [&](const Experiment& experiment, const machine::Network& network) {
    const auto n_flows = static_cast<double>(experiment.flows.size());
    // Shared processors are assumed to carry four flows at once.
    const double together =
        std::max(machine::most_seconds(experiment, network), experiment.piece > 0 ? n_flows / 4 * options.seconds : 0);
    return flow_repeats * (together + (experiment.alone.empty() ? n_flows * options.seconds_of_media : 0));
  };
  // Where there are many subnets, each has less time, but all are measured.
  auto network = machine::derive_network(found);
  double of_media = 0;
  for (const auto& experiment : machine::contention_experiments(found, network, options))
    if (experiment.alone.empty()) of_media += seconds_of(experiment, network);
  if (of_media > share_of_media * clock.left())
    options.seconds_of_media = std::max(shortest_flow, options.seconds * share_of_media * clock.left() / of_media);

  std::map<std::pair<Flow, std::int64_t>, double> alone;
  for (bool is_any_run = true; is_any_run;) {  // what one round shows may want a closer look in the next
    is_any_run = false;
    auto experiments = machine::contention_experiments(found, network, options);
    for (std::size_t i = 0; i < experiments.size(); ++i) {
      auto& experiment = experiments[i];
      progress("several at once", static_cast<int>(i), static_cast<int>(experiments.size()), -1);
      if (clock.left() < seconds_of(experiment, network)) continue;
      const bool is_alone_known = !experiment.alone.empty();
      const bool is_one_of_many = is_alone_known && experiment.piece == 0;  // these outvote each other
      if (!is_alone_known)
        for (const auto& flow : experiment.flows) {
          auto [known, is_new] = alone.try_emplace({flow, experiment.bytes}, 0.0);
          if (is_new) known->second = run({flow}, experiment.bytes, 0, flow_repeats).front();
          experiment.alone.push_back(known->second);
        }
      experiment.together =
          run(experiment.flows, experiment.bytes, experiment.piece, is_one_of_many ? 1 : flow_repeats);
      found.experiments.push_back(experiment);
      is_any_run = true;
    }
    if (is_any_run) network = machine::derive_network(found);
  }
}

}  // namespace

Measurements survey(Crew& crew, const HostLayout& layout, const SurveyOptions& options, const Progress& progress) {
  TESSERA_CHECK(std::ranges::is_sorted(options.sizes));
  const Clock clock(options.seconds);
  auto found = nothing_yet(layout, options);
  measure_inside(crew, layout, options, clock, progress, found);
  if (layout.n_hosts() > 1) {
    Pairs(crew, layout, options, clock, progress, found).measure();
    measure_contention(crew, layout, clock, progress, found);
  }
  return found;
}

std::vector<machine::SpotCheck> spot_checks(Crew& crew, const HostLayout& layout, const machine::MachineFile& old,
                                            double seconds) {
  const Clock clock(seconds);
  if (!old.machine.network || !old.measurements) return {};
  const auto& network = *old.machine.network;
  const auto& measured = old.measurements->hosts;
  const auto in_survey = [&](int host) {
    const auto& name = network.hosts[static_cast<std::size_t>(host)].name;
    const auto found = std::ranges::find(measured, name, &machine::MeasuredHost::name);
    return found == measured.end() ? -1 : static_cast<int>(found - measured.begin());
  };
  const auto in_job = [&](int host) {
    const auto found = std::ranges::find(layout.hosts, network.hosts[static_cast<std::size_t>(host)].name);
    return found == layout.hosts.end() ? -1 : static_cast<int>(found - layout.hosts.begin());
  };
  // Subnets are visited from the top of the tree down: the first and the last host of a subnet are in different parts
  // of it, and so, mostly, are the second and the last but one.
  std::vector<HostPair> pairs;
  for (int subnet = 0; subnet < static_cast<int>(network.subnets.size()); ++subnet) {
    auto hosts = network.hosts_of(subnet);
    std::erase_if(hosts, [&](int host) { return in_survey(host) < 0 || in_job(host) < 0; });
    if (hosts.size() > 1) pairs.emplace_back(hosts.front(), hosts.back());
    if (hosts.size() > 3) pairs.emplace_back(hosts[1], hosts[hosts.size() - 2]);
  }
  const auto& sizes = old.measurements->sizes;
  const std::vector<std::int64_t> few{sizes.front(), sizes[sizes.size() / 2]};  // latency and bandwidth, quickly
  std::vector<machine::SpotCheck> checks;
  std::set<HostPair> done;
  for (const auto& [a, b] : pairs) {
    if (clock.left() <= 0) break;
    if (!done.insert({a, b}).second) continue;
    const auto times = crew.exchange(layout.leader(in_job(a)), layout.leader(in_job(b)), few, 5, 0.2);
    for (std::size_t i = 0; i < few.size(); ++i) checks.push_back({in_survey(a), in_survey(b), few[i], times[i]});
  }
  return checks;
}

machine::Machine common_machine(const HostLayout& layout, const std::string& name) {
  auto common = layout.machines.front();
  const auto keep_if_alike = [](auto& kept, const auto& other) {
    if (kept != other) kept.reset();
  };
  for (const auto& node : layout.machines) {
    keep_if_alike(common.sockets, node.sockets);
    keep_if_alike(common.numa_nodes, node.numa_nodes);
    keep_if_alike(common.cores, node.cores);
    keep_if_alike(common.threads, node.threads);
    keep_if_alike(common.memory_bytes, node.memory_bytes);
    keep_if_alike(common.processor, node.processor);
    keep_if_alike(common.simd, node.simd);
    if (common.caches != node.caches) common.caches.clear();
  }
  common.name = name;
  common.nodes = layout.n_hosts();
  return common;
}

}  // namespace tessera::programs::probe
