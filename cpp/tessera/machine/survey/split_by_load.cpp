#include "tessera/machine/survey/split_by_load.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>

namespace tessera::machine {
namespace {

constexpr std::size_t fewest_hosts = 4;  // that two disjoint pairs need
constexpr std::size_t most_hosts = 32;   // that are asked to send at once
constexpr int n_first = 3;               // rounds in which everyone sends
constexpr int n_first_pairs = 4;         // of flows
constexpr int n_further = 3;             // where these can't be explained
constexpr int n_further_pairs = 12;      // at least; more where there are more hosts
constexpr double infinity = std::numeric_limits<double>::infinity();
// Logarithms of times: TCP shares a wire with this much unfairness, and a flow further off than `off` needs a reason.
constexpr double unfairness = 0.2;
constexpr double off = 0.4;
constexpr double most_off = 0.8;
constexpr double fewest_at_once = 2;  // flows at full rate: what carries fewer is a bus
constexpr int n_off = 3;
// What one more part must explain: a flow that is off by this.
constexpr double price_of_part = 0.25;
constexpr unsigned most_random_parts = 4;  // of divisions from which the search starts
constexpr int n_random_starts = 8;         // of each number of parts

enum class Kind { one, switches, buses };

struct Load {
  std::vector<std::pair<int, int>> flows;  // by place in the list of hosts
  std::vector<double> slowdown;            // together / alone
};

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// The experiments among these hosts, by place. Those that took longer than one flow after another are left out: others
/// were at work.
std::vector<Load> loads_of(const std::vector<int>& hosts, const std::vector<Experiment>& experiments) {
  std::map<int, int> place;
  for (std::size_t i = 0; i < hosts.size(); ++i) place.emplace(hosts[i], static_cast<int>(i));
  std::vector<Load> loads;
  for (const auto& experiment : experiments) {
    const auto is_here = [&](const Flow& flow) { return place.contains(flow.from) && place.contains(flow.to); };
    if (!experiment.is_done() || experiment.flows.size() < 2 ||
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

/// How far a division into parts is from explaining the loads.
class Model {
 public:
  Model(const std::vector<Load>& loads, std::size_t n_hosts) : loads_(loads), n_hosts_(static_cast<int>(n_hosts)) {}

  /// Logarithms of seen by expected time, flow after flow.
  std::vector<double> errors(const std::vector<int>& part_of, Kind kind) const {
    const int n_parts = *std::max_element(part_of.begin(), part_of.end()) + 1;
    std::vector<std::vector<double>> expected;
    std::vector<std::vector<int>> wires;
    for (const auto& load : loads_) {
      wires.clear();
      for (const auto& [from, to] : load.flows) {
        // Ports out and in, then two wires a part: out and in of a switch, or the bus.
        auto& path = wires.emplace_back(std::vector<int>{from, n_hosts_ + to});
        const int a = part_of[index(from)];
        const int b = part_of[index(to)];
        const int first = 2 * n_hosts_;
        if (kind == Kind::buses) {
          path.push_back(first + 2 * a);
          if (b != a) path.push_back(first + 2 * b);
        } else if (kind == Kind::switches && a != b) {
          path.push_back(first + 2 * a);
          path.push_back(first + 2 * b + 1);
        }
      }
      expected.push_back(fair_times(wires, 2 * n_hosts_ + 2 * n_parts));
    }
    // Where processors or a backplane carry no more than so many flows at full rate, all are slower by one factor.
    auto best = errors_with(expected, infinity);
    if (kind == Kind::buses) return best;
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

  /// What was disturbed must not outweigh the rest.
  static double sum_of_squares(const std::vector<double>& errors) {
    double sum = 0;
    for (const double error : errors) sum += std::min(error * error, most_off * most_off);
    return sum;
  }

  double cost(const std::vector<int>& part_of, Kind kind) const {
    const int n_parts = 1 + *std::max_element(part_of.begin(), part_of.end());
    return sum_of_squares(errors(part_of, kind)) + price_of_part * n_parts;
  }

  /// By one switch. (One bus and several look much alike, so a bus is always looked at more closely.)
  bool is_explained() const {
    const auto found = errors(std::vector<int>(index(n_hosts_), 0), Kind::one);
    const auto n_far = std::count_if(found.begin(), found.end(), [](double error) { return std::abs(error) > off; });
    return sum_of_squares(found) <= unfairness * unfairness * static_cast<double>(found.size()) && n_far < n_off;
  }

 private:
  /// `most`: flows that all can carry at once at their full rates.
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

/// Parts numbered from 0 in the order of their first hosts.
void renumber(std::vector<int>& part_of) {
  std::map<int, int> number;
  for (auto& part : part_of) part = number.emplace(part, static_cast<int>(number.size())).first->second;
}

/// Moves a host, joins two parts or many, as long as such a step lowers the cost.
double improve(const Model& model, Kind kind, std::vector<int>& part_of) {
  double cost = model.cost(part_of, kind);
  const auto n_parts = [&] { return *std::max_element(part_of.begin(), part_of.end()) + 1; };
  const auto take_if_better = [&](std::vector<int> candidate) {
    renumber(candidate);
    const double found = model.cost(candidate, kind);
    if (found >= cost - 1e-9) return false;
    cost = found;
    part_of = std::move(candidate);
    return true;
  };
  for (bool is_better = true; is_better;) {
    is_better = false;
    for (std::size_t h = 0; h < part_of.size(); ++h)
      for (int part = 0; part <= n_parts(); ++part) {
        auto moved = part_of;
        moved[h] = part;
        if (part != part_of[h] && take_if_better(std::move(moved))) is_better = true;
      }
    for (int a = 0; a < n_parts(); ++a)
      for (int b = a + 1; b < n_parts(); ++b) {
        auto joined = part_of;
        std::replace(joined.begin(), joined.end(), b, a);
        if (take_if_better(std::move(joined))) is_better = true;
      }
    // Joined one by one they would be worse off until the last is there: all small parts, or all but one part.
    for (int kept = 0; kept < n_parts(); ++kept) {
      const auto size = [&](int part) { return std::count(part_of.begin(), part_of.end(), part); };
      auto rest = part_of;
      auto small = part_of;
      for (std::size_t h = 0; h < part_of.size(); ++h) {
        if (part_of[h] != kept) rest[h] = n_parts();
        if (size(part_of[h]) <= size(kept)) small[h] = n_parts();
      }
      if (take_if_better(std::move(rest)) || take_if_better(std::move(small))) is_better = true;
    }
  }
  return cost;
}

/// Hosts grouped by the mean slowdown of flows between them: those behind a shared wire reach each other quickly even
/// when all talk.
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
    for (const int host : groups[g]) part_of[index(host)] = static_cast<int>(g);
  return part_of;
}

}  // namespace

std::vector<double> fair_times(const std::vector<std::vector<int>>& wires, int n_wires) {
  const auto n = wires.size();
  std::vector<double> left(n, 1.0);
  std::vector<double> rate(n);
  std::vector<double> finished(n, 0);
  std::vector<double> free(index(n_wires));
  std::vector<int> users(index(n_wires));
  double now = 0;
  for (std::size_t n_active = n; n_active > 0;) {
    std::fill(free.begin(), free.end(), 1.0);
    std::fill(users.begin(), users.end(), 0);
    std::fill(rate.begin(), rate.end(), 0.0);
    for (std::size_t f = 0; f < n; ++f)
      if (left[f] > 0)
        for (const int wire : wires[f]) ++users[index(wire)];
    // The wire with the least for each of its flows settles them; what they leave on others is shared further.
    for (std::size_t n_open = n_active; n_open > 0;) {
      double least = infinity;
      for (std::size_t w = 0; w < free.size(); ++w)
        if (users[w] > 0) least = std::min(least, free[w] / users[w]);
      for (std::size_t f = 0; f < n; ++f) {
        if (left[f] <= 0 || rate[f] > 0) continue;
        const bool is_settled = std::any_of(wires[f].begin(), wires[f].end(), [&](int wire) {
          return free[index(wire)] / users[index(wire)] <= least * (1 + 1e-9);
        });
        if (!is_settled) continue;
        rate[f] = least;
        --n_open;
        for (const int wire : wires[f]) {
          free[index(wire)] = std::max(free[index(wire)] - least, 0.0);
          --users[index(wire)];
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
      std::vector<Flow> flows;  // a ring: everyone sends to one and receives from another
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

std::vector<std::vector<int>> split_by_load(const std::vector<int>& hosts, const std::vector<Experiment>& experiments) {
  const auto loads = loads_of(hosts, experiments);
  const Model model(loads, hosts.size());
  if (hosts.size() < fewest_hosts || hosts.size() > most_hosts || loads.empty() || model.is_explained()) return {hosts};

  const std::vector<int> together(hosts.size(), 0);
  std::vector<int> single(hosts.size());
  std::iota(single.begin(), single.end(), 0);
  auto best = together;
  double least = std::min(model.cost(together, Kind::one), model.cost(together, Kind::buses));
  std::vector<std::vector<int>> starts = {together, single, grouped_by_slowdown(loads, hosts.size())};
  std::mt19937 random(1);
  for (unsigned n_parts = 2; n_parts <= most_random_parts; ++n_parts)
    for (int i = 0; i < n_random_starts; ++i) {
      auto& start = starts.emplace_back(hosts.size());
      for (auto& part : start) part = static_cast<int>(random() % n_parts);
    }
  for (const auto kind : {Kind::switches, Kind::buses})
    for (auto part_of : starts) {
      renumber(part_of);
      if (const double cost = improve(model, kind, part_of); cost < least - 1e-9) {
        least = cost;
        best = part_of;
      }
    }
  std::vector<std::vector<int>> parts(index(*std::max_element(best.begin(), best.end()) + 1));
  for (std::size_t h = 0; h < hosts.size(); ++h) parts[index(best[h])].push_back(hosts[h]);
  return parts;
}

}  // namespace tessera::machine
