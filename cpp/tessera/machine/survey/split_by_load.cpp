#include "tessera/machine/survey/split_by_load.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "tessera/base/index.h"

namespace tessera::machine {
namespace {

constexpr std::size_t fewest_hosts = 4;  // needed for two disjoint pairs
constexpr std::size_t most_hosts = 32;   // number of hosts that send at once
constexpr int n_first = 3;               // rounds in which all hosts send
constexpr int n_first_pairs = 4;         // pairs of flows
constexpr int n_further = 3;             // further rounds, if the first are not explained
constexpr int n_further_pairs = 12;      // the least number; grows with the number of hosts
constexpr double infinity = std::numeric_limits<double>::infinity();
// The unit is the logarithm of times. TCP shares a wire with this much unfairness, and a flow further off than `off`
// needs an explanation.
constexpr double unfairness = 0.2;
constexpr double off = 0.4;
constexpr double most_off = 0.8;
constexpr double fewest_at_once = 2;  // flows at full rate; a medium that carries fewer is a bus
constexpr int n_off = 3;
// One more part must lower the sum of squared errors by at least this.
constexpr double price_of_part = 0.25;
constexpr unsigned most_random_parts = 4;  // number of parts of random starts
constexpr int n_random_starts = 8;         // for each number of parts

/// Divides hosts into parts, each a switch with a cable or a bus.
struct Division {
  std::vector<int> part_of;   // by host
  std::vector<Medium> media;  // by part: fabric or bus

  static Division all_of(std::vector<int> part_of, Medium medium) {
    const auto n_parts = static_cast<std::size_t>(*std::max_element(part_of.begin(), part_of.end())) + 1;
    return {std::move(part_of), std::vector<Medium>(n_parts, medium)};
  }
  int n_parts() const { return static_cast<int>(media.size()); }
  int size(int part) const { return static_cast<int>(std::count(part_of.begin(), part_of.end(), part)); }
};

struct Load {
  std::vector<std::pair<int, int>> flows;  // indices in the list of hosts
  std::vector<double> slowdown;            // together / alone
};

/// Returns the experiments among these hosts, by index in the list. Those that took longer than one flow after another
/// are left out, because other jobs disturbed them.
std::vector<Load> loads_of(const std::vector<int>& hosts, const std::vector<Experiment>& experiments) {
  std::map<int, int> place;
  for (std::size_t i = 0; i < hosts.size(); ++i) place.emplace(hosts[i], static_cast<int>(i));
  std::vector<Load> loads;
  for (const auto& experiment : experiments) {
    const auto is_here = [&](const Flow& flow) { return place.contains(flow.from) && place.contains(flow.to); };
    if (!experiment.is_done() || experiment.flows.size() < 2 || experiment.piece > 0 ||
        !std::all_of(experiment.flows.begin(), experiment.flows.end(), is_here))
      continue;
    Load load;
    bool is_disturbed = false;
    for (std::size_t f = 0; f < experiment.flows.size(); ++f) {
      load.flows.emplace_back(place.at(experiment.flows[f].from), place.at(experiment.flows[f].to));
      load.slowdown.push_back(std::max(experiment.together[f] / experiment.alone[f], 1.0));
      is_disturbed |= load.slowdown.back() > std::exp(unfairness) * static_cast<double>(experiment.flows.size());
    }
    if (!is_disturbed) loads.push_back(std::move(load));
  }
  return loads;
}

/// Measures how well a division into parts explains the loads.
class Model {
 public:
  Model(const std::vector<Load>& loads, std::size_t n_hosts) : loads_(loads), n_hosts_(static_cast<int>(n_hosts)) {}

  /// Returns the logarithms of measured over expected times, flow after flow.
  std::vector<double> errors(const Division& division) const {
    std::vector<std::vector<double>> expected;
    std::vector<std::vector<int>> wires;
    for (const auto& load : loads_) {
      wires.clear();
      for (const auto& [from, to] : load.flows) {
        // A path has ports out and in, then two wires per part: out and in of a switch, or the bus.
        auto& path = wires.emplace_back(std::vector<int>{from, n_hosts_ + to});
        const int a = division.part_of[at(from)];
        const int b = division.part_of[at(to)];
        const int first = 2 * n_hosts_;
        const bool is_bus = division.media[at(a)] == Medium::bus;
        if (is_bus || a != b) path.push_back(first + 2 * a);
        if (a != b) path.push_back(first + 2 * b + (division.media[at(b)] == Medium::bus ? 0 : 1));
      }
      expected.push_back(fair_times(wires, 2 * n_hosts_ + 2 * division.n_parts()));
    }
    // If processors or a backplane carry only a limited number of flows at full rate, all flows are slower by one
    // factor.
    auto best = errors_with(expected, infinity);
    if (std::count(division.media.begin(), division.media.end(), Medium::bus) > 0) return best;
    for (std::size_t e = 0; e < loads_.size(); ++e) {
      double common = infinity;
      for (std::size_t f = 0; f < expected[e].size(); ++f)
        common = std::min(common, loads_[e].slowdown[f] / expected[e][f]);
      const double most = static_cast<double>(expected[e].size()) / common;
      if (most < fewest_at_once || common < 1 + unfairness) continue;
      auto found = errors_with(expected, most);
      if (sum_of_squares(found) < sum_of_squares(best)) best = std::move(found);
    }
    return best;
  }

  /// Limits each error, so that disturbed flows do not outweigh the rest.
  static double sum_of_squares(const std::vector<double>& errors) {
    double sum = 0;
    for (const double error : errors) sum += std::min(error * error, most_off * most_off);
    return sum;
  }

  double cost(const Division& division) const {
    return sum_of_squares(errors(division)) + price_of_part * division.n_parts();
  }

  /// Tells whether one switch explains the loads. (One bus and several look much alike, so a bus is always examined
  /// further.)
  bool is_explained() const {
    const auto found = errors(Division::all_of(std::vector<int>(at(n_hosts_), 0), Medium::fabric));
    const auto n_far = std::count_if(found.begin(), found.end(), [](double error) { return std::abs(error) > off; });
    return sum_of_squares(found) <= unfairness * unfairness * static_cast<double>(found.size()) && n_far < n_off;
  }

 private:
  /// Takes in `most` the number of flows that the medium can carry together at their full rates.
  std::vector<double> errors_with(const std::vector<std::vector<double>>& expected, double most) const {
    std::vector<double> found;
    for (std::size_t e = 0; e < expected.size(); ++e) {
      const double common = std::max(1.0, static_cast<double>(expected[e].size()) / most);
      for (std::size_t f = 0; f < expected[e].size(); ++f)
        found.push_back(std::log(loads_[e].slowdown[f] / (common * expected[e][f])));
    }
    return found;
  }

  const std::vector<Load>& loads_;
  int n_hosts_;
};

/// Numbers the parts from 0 in the order of their first hosts and removes empty ones.
void renumber(Division& division) {
  std::map<int, int> number;
  std::vector<Medium> media;
  for (auto& part : division.part_of) {
    const auto [known, is_new] = number.emplace(part, static_cast<int>(number.size()));
    if (is_new) media.push_back(division.media[at(part)]);
    part = known->second;
  }
  division.media = std::move(media);
}

/// Moves a host, joins two or more parts, or exchanges bus and switch, as long as such a step lowers the cost.
double improve(const Model& model, Division& division) {
  double cost = model.cost(division);
  const auto take_if_better = [&](Division candidate) {
    renumber(candidate);
    const double found = model.cost(candidate);
    if (found >= cost - 1e-9) return false;
    cost = found;
    division = std::move(candidate);
    return true;
  };
  /// Returns the division with these hosts together, in a part of their own or in `part`.
  const auto gathered = [&](auto&& is_meant, int part, Medium medium) {
    auto candidate = division;
    if (part == division.n_parts()) candidate.media.push_back(medium);
    candidate.media[at(part)] = medium;
    for (std::size_t h = 0; h < division.part_of.size(); ++h)
      if (is_meant(h)) candidate.part_of[h] = part;
    return candidate;
  };
  constexpr std::array both{Medium::fabric, Medium::bus};
  for (bool is_better = true; is_better;) {
    is_better = false;
    for (std::size_t h = 0; h < division.part_of.size(); ++h)
      for (int part = 0; part <= division.n_parts(); ++part) {
        if (part == division.part_of[h]) continue;
        const auto is_it = [&](std::size_t other) { return other == h; };
        const auto medium = part < division.n_parts() ? division.media[at(part)] : Medium::fabric;
        if (take_if_better(gathered(is_it, part, medium))) is_better = true;
      }
    for (int a = 0; a < division.n_parts(); ++a)
      for (int b = a; b < division.n_parts(); ++b)  // with a equal to b only the medium changes
        for (const auto medium : both) {
          if (b >= division.n_parts() || (a == b && medium == division.media[at(a)])) continue;
          const auto is_in_b = [&](std::size_t h) { return division.part_of[h] == b; };
          if (take_if_better(gathered(is_in_b, a, medium))) is_better = true;
        }
    // Joining these one by one would only pay off with the last, so all small parts are joined at once, or all parts
    // but one.
    for (int kept = 0; kept < division.n_parts(); ++kept)
      for (const auto medium : both) {
        if (kept >= division.n_parts()) break;
        const auto is_rest = [&](std::size_t h) { return division.part_of[h] != kept; };
        const auto is_small = [&](std::size_t h) { return division.size(division.part_of[h]) <= division.size(kept); };
        if (take_if_better(gathered(is_rest, division.n_parts(), medium)) ||
            take_if_better(gathered(is_small, division.n_parts(), medium)))
          is_better = true;
      }
  }
  return cost;
}

/// Groups hosts by the mean slowdown of flows between them: hosts behind a shared wire reach each other quickly even if
/// all send.
std::vector<int> grouped_by_slowdown(const std::vector<Load>& loads, std::size_t n_hosts) {
  TimeMatrix sums(static_cast<int>(n_hosts));
  TimeMatrix counts(static_cast<int>(n_hosts));
  for (const auto& load : loads)
    for (std::size_t f = 0; f < load.flows.size(); ++f) {
      const auto [a, b] = std::minmax(load.flows[f].first, load.flows[f].second);
      sums.at(a, b) = (std::isnan(sums.at(a, b)) ? 0 : sums.at(a, b)) + load.slowdown[f];
      counts.at(a, b) = (std::isnan(counts.at(a, b)) ? 0 : counts.at(a, b)) + 1;
    }
  TimeMatrix means(static_cast<int>(n_hosts));
  for (int a = 0; a < means.n_hosts(); ++a)
    for (int b = a + 1; b < means.n_hosts(); ++b) means.at(a, b) = sums.at(a, b) / counts.at(a, b);
  std::vector<int> part_of(n_hosts);
  const auto groups = partition(means);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const int host : groups[g]) part_of[at(host)] = static_cast<int>(g);
  return part_of;
}

}  // namespace

std::vector<double> fair_times(const std::vector<std::vector<int>>& wires, int n_wires) {
  const auto n = wires.size();
  std::vector<double> left(n, 1.0);
  std::vector<double> rate(n);
  std::vector<double> finished(n, 0);
  std::vector<double> free(at(n_wires));
  std::vector<int> users(at(n_wires));
  double now = 0;
  for (std::size_t n_active = n; n_active > 0;) {
    std::fill(free.begin(), free.end(), 1.0);
    std::fill(users.begin(), users.end(), 0);
    std::fill(rate.begin(), rate.end(), 0.0);
    for (std::size_t f = 0; f < n; ++f)
      if (left[f] > 0)
        for (const int wire : wires[f]) ++users[at(wire)];
    // The wire with the smallest share per flow determines the rates of its flows; the capacity that they leave on
    // other wires is shared by the rest.
    for (std::size_t n_open = n_active; n_open > 0;) {
      double least = infinity;
      for (std::size_t w = 0; w < free.size(); ++w)
        if (users[w] > 0) least = std::min(least, free[w] / users[w]);
      for (std::size_t f = 0; f < n; ++f) {
        if (left[f] <= 0 || rate[f] > 0) continue;
        const bool is_settled = std::any_of(wires[f].begin(), wires[f].end(), [&](int wire) {
          return free[at(wire)] / users[at(wire)] <= least * (1 + 1e-9);
        });
        if (!is_settled) continue;
        rate[f] = least;
        --n_open;
        for (const int wire : wires[f]) {
          free[at(wire)] = std::max(free[at(wire)] - least, 0.0);
          --users[at(wire)];
        }
      }
    }
    double step = infinity;
    for (std::size_t f = 0; f < n; ++f)
      if (left[f] > 0) step = std::min(step, left[f] / rate[f]);
    now += step;
    for (std::size_t f = 0; f < n; ++f) {
      if (left[f] <= 0) continue;
      left[f] -= step * rate[f];
      if (left[f] > 1e-9) continue;
      left[f] = 0;
      finished[f] = now;
      --n_active;
    }
  }
  return finished;
}

std::vector<Experiment> load_experiments(const std::vector<int>& hosts, const Link& link,
                                         const std::vector<Experiment>& done, double seconds) {
  if (hosts.size() < fewest_hosts) return {};
  const auto bytes = bytes_of_flow(link, seconds);
  std::mt19937 random(static_cast<std::mt19937::result_type>(hosts.size()));
  auto order = hosts;
  const auto shuffle = [&] {  // std::shuffle differs between libraries
    for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
  };
  std::vector<Experiment> all;
  const auto add = [&](std::vector<Flow> flows) {
    const std::vector<double> alone(flows.size(), link.time(static_cast<double>(bytes)));
    all.push_back({std::move(flows), bytes, alone, {}});
  };
  const auto everyone = [&](int n_rounds) {
    for (int round = 0; round < n_rounds; ++round) {
      shuffle();
      const auto n = std::min(order.size(), most_hosts);
      std::vector<Flow> flows;  // a ring: each host sends to one and receives from another
      for (std::size_t i = 0; i < n; ++i) flows.push_back({order[i], order[(i + 1) % n]});
      add(std::move(flows));
    }
  };
  const auto pairs = [&](int n) {
    for (int i = 0; i < n; ++i) {
      shuffle();
      add({{order[0], order[1]}, {order[2], order[3]}});
    }
  };
  everyone(n_first);
  pairs(n_first_pairs);
  everyone(n_further);
  pairs(std::max(n_further_pairs, 2 * static_cast<int>(hosts.size())));
  const auto is_done = [&](const Experiment& wanted) {
    return std::any_of(done.begin(), done.end(),
                       [&](const Experiment& other) { return other.is_done() && other.flows == wanted.flows; });
  };
  const auto first_end = all.begin() + n_first + n_first_pairs;
  if (std::all_of(all.begin(), first_end, is_done)) {
    const auto loads = loads_of(hosts, done);
    if (Model(loads, hosts.size()).is_explained()) return {};
  } else {
    all.erase(first_end, all.end());
  }
  std::erase_if(all, is_done);
  return all;
}

std::vector<Part> split_by_load(const std::vector<int>& hosts, const std::vector<Experiment>& experiments) {
  const auto loads = loads_of(hosts, experiments);
  const Model model(loads, hosts.size());
  if (hosts.size() < fewest_hosts || hosts.size() > most_hosts || loads.empty() || model.is_explained())
    return {{hosts, Medium::unknown}};

  const std::vector<int> together(hosts.size(), 0);
  std::vector<int> single(hosts.size());
  std::iota(single.begin(), single.end(), 0);
  std::vector<std::vector<int>> starts = {together, single, grouped_by_slowdown(loads, hosts.size())};
  std::mt19937 random(1);
  for (unsigned n_parts = 2; n_parts <= most_random_parts; ++n_parts)
    for (int i = 0; i < n_random_starts; ++i) {
      auto& start = starts.emplace_back(hosts.size());
      for (auto& part : start) part = static_cast<int>(random() % n_parts);
    }
  Division best;
  double least = infinity;
  for (const auto medium : {Medium::fabric, Medium::bus})
    for (const auto& start : starts) {
      auto division = Division::all_of(start, medium);
      renumber(division);
      if (const double cost = improve(model, division); cost < least - 1e-9) {
        least = cost;
        best = std::move(division);
      }
    }
  std::vector<Part> parts;
  for (const auto medium : best.media) parts.push_back({{}, medium});
  for (std::size_t h = 0; h < hosts.size(); ++h) parts[at(best.part_of[h])].hosts.push_back(hosts[h]);
  // A single host behind a cable of a port's rate is equivalent to one on the switch.
  const auto is_switch = [](const Part& part) { return part.hosts.size() == 1 || part.medium == Medium::fabric; };
  const auto is_single = [](const Part& part) { return part.hosts.size() == 1; };
  const bool is_one_switch = parts.size() == 2 && std::all_of(parts.begin(), parts.end(), is_switch) &&
                             std::any_of(parts.begin(), parts.end(), is_single);
  if (parts.size() == 1 || is_one_switch) return {{hosts, Medium::unknown}};
  return parts;
}

}  // namespace tessera::machine
