#include "tessera/machine/survey/pairs_to_measure.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

#include "tessera/base/index.h"

namespace tessera::machine {
namespace {

constexpr double tolerance = 1.20;  // Lowekamp and Beguelin (1995), §4.1
// A sorted list of times is divided before a time that is longer than the last of its class by this factor, and 20 %
// longer than the first. Without the second condition noise alone would fill all gaps.
constexpr double gap = 1.08;
constexpr int all_pairs_up_to = 16;   // hosts
constexpr int n_pivots_alike = 3;     // pivots without a difference before a group counts as one
constexpr int n_pairs_of_groups = 2;  // measured between two subnets

int log2_of(int n) { return static_cast<int>(std::ceil(std::log2(std::max(n, 2)))); }

class Survey {
 public:
  explicit Survey(std::span<const TimeMatrix> known) : known_(known), n_(known[0].n_hosts()) {}

  std::vector<HostPair> next() {
    if (n_ <= all_pairs_up_to) {
      for (int a = 0; a < n_; ++a)
        for (int b = a + 1; b < n_; ++b) ask(a, b);
      return wanted();
    }
    for (int a = 0; a < n_; ++a)
      for (int b = a + 1; b <= std::min(a + 2, n_ - 1); ++b) ask(a, b);
    if (!wanted_.empty()) return wanted();
    std::vector<int> all(at(n_));
    std::iota(all.begin(), all.end(), 0);
    resolve(all, {});
    if (wanted_.empty()) verify();
    return wanted();
  }

 private:
  using Times = std::vector<double>;  // one per size

  bool is_known(int a, int b) const {
    return std::any_of(known_.begin(), known_.end(), [&](const TimeMatrix& times) { return times.is_known(a, b); });
  }

  bool ask(int a, int b) {
    if (is_known(a, b)) return true;
    wanted_.insert(std::minmax(a, b));
    return false;
  }

  std::vector<HostPair> wanted() const { return {wanted_.begin(), wanted_.end()}; }

  Times times(int a, int b) const {
    Times found;
    for (const auto& matrix : known_) found.push_back(matrix.between(a, b));
    return found;
  }

  /// Tells whether a and b are nearer to each other, at some size, than to a third host at the time `far` from either.
  /// That host then reaches both over the same links, so one of them stands for the other.
  static bool is_nearer(const Times& near, const Times& far) {
    for (std::size_t k = 0; k < near.size(); ++k)
      if (near[k] * tolerance < far[k]) return true;
    return false;
  }

  /// Finds out how a group is divided, as far as the known times tell, and asks for further times. `outer` is the time
  /// by which the group was separated from others; it is empty for all hosts.
  void resolve(const std::vector<int>& group, const Times& outer) {
    const auto m = group.size();
    if (m < 2) return;
    if (m <= 4) {
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = i + 1; j < m; ++j) ask(group[i], group[j]);
      return;
    }
    for (int i = 0; i < n_pivots_alike; ++i) {
      const auto pivot = (static_cast<std::size_t>(i) * m) / n_pivots_alike;
      const auto seen = view_from(group, pivot, outer);
      if (seen.empty()) return;  // the times asked for must be measured first
      const auto classes = classify(group, pivot, seen);
      if (classes.size() < 2) continue;
      for (std::size_t c = 0; c < classes.size(); ++c) {
        auto part = classes[c].hosts;
        if (c == 0) part.insert(std::lower_bound(part.begin(), part.end(), group[pivot]), group[pivot]);
        // The nearest class is separated from the others by the time to the next one, every other class by its own
        // time.
        resolve(part, classes[c == 0 ? 1 : c].times);
      }
      return;
    }
  }

  /// Returns the times from a pivot to each host of its group, some of which are taken from a near neighbour in the
  /// list. Returns an empty list if any had to be asked for.
  std::vector<Times> view_from(const std::vector<int>& group, std::size_t pivot, const Times& outer) {
    std::vector<Times> seen(group.size());
    std::vector<Times> expected(group.size(), outer);  // of hosts whose times are not known yet
    bool is_complete = true;
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (i == pivot) continue;
      if (is_known(group[pivot], group[i])) {
        seen[i] = times(group[pivot], group[i]);
        continue;
      }
      bool may_wait = false;
      for (std::size_t j = i; j-- > 0 && j + 2 >= i && seen[i].empty();) {
        if (j == pivot || !is_known(group[j], group[i])) continue;
        const auto step = times(group[j], group[i]);
        const auto& from_pivot = seen[j].empty() ? expected[j] : seen[j];
        const bool is_near = !from_pivot.empty() && is_nearer(step, from_pivot);
        if (is_near && !seen[j].empty()) seen[i] = seen[j];
        // The neighbour is measured first, which shows whether it is as far away as expected.
        may_wait |= is_near;
        if (!is_near && !from_pivot.empty()) expected[i] = greater(step, from_pivot);
      }
      if (!seen[i].empty()) continue;
      is_complete = false;
      if (!may_wait) ask(group[pivot], group[i]);
    }
    return is_complete ? seen : std::vector<Times>{};
  }

  static Times greater(const Times& x, const Times& y) {
    Times result;
    for (std::size_t k = 0; k < x.size(); ++k) result.push_back(std::fmax(x[k], y[k]));
    return result;
  }

  struct Class {
    Times times;             // to its first host
    std::vector<int> hosts;  // ascending
  };

  /// Divides the hosts of a group into classes by their times from a pivot, nearest first; each combination of classes
  /// at the different sizes is a class.
  std::vector<Class> classify(const std::vector<int>& group, std::size_t pivot, const std::vector<Times>& seen) const {
    std::vector<std::vector<int>> labels(group.size());
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < group.size(); ++i)
      if (i != pivot) order.push_back(i);
    for (std::size_t k = 0; k < known_.size(); ++k) {
      std::sort(order.begin(), order.end(),
                [&](std::size_t i, std::size_t j) { return before(seen[i][k], seen[j][k]); });
      int label = 0;
      double first = seen[order[0]][k];
      double last = first;
      for (const auto i : order) {
        const double time = seen[i][k];
        if (time > gap * last && time > tolerance * first) {
          ++label;
          first = time;
        }
        if (!std::isnan(time)) last = time;
        labels[i].push_back(label);
      }
    }
    std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
      const int sum_i = std::accumulate(labels[i].begin(), labels[i].end(), 0);
      const int sum_j = std::accumulate(labels[j].begin(), labels[j].end(), 0);
      return std::tie(sum_i, labels[i], i) < std::tie(sum_j, labels[j], j);
    });
    std::vector<Class> classes;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || labels[order[i]] != labels[order[i - 1]]) classes.push_back({seen[order[i]], {}});
      classes.back().hosts.push_back(group[order[i]]);
    }
    return classes;
  }

  static bool before(double x, double y) { return std::isnan(y) ? !std::isnan(x) : x < y; }

  /// Asks for a few pairs of every two subnets found so far (if there are many, of each with those 1, 2, 4… further
  /// on). This measures the links between them, and returns a host that a bad measurement has separated to its subnet.
  void verify() {
    const std::vector<double> tolerances(known_.size(), tolerance);
    const auto groups = partition(known_, tolerances);
    const auto n_groups = static_cast<int>(groups.size());
    const bool is_small = static_cast<std::int64_t>(n_groups) * n_groups <= std::int64_t{2} * n_ * log2_of(n_);
    for (int g = 0; g < n_groups; ++g)
      for (int step = 1; step < n_groups; step = is_small ? step + 1 : 2 * step) {
        const int h = is_small ? g + step : (g + step) % n_groups;
        if (h >= n_groups) break;
        const auto& first = groups[at(g)];
        const auto& second = groups[at(h)];
        for (std::size_t i = 0; i < n_pairs_of_groups; ++i)
          ask(first[i * (first.size() - 1)], second[i * (second.size() - 1)]);
      }
  }

  std::span<const TimeMatrix> known_;
  int n_;
  std::set<HostPair> wanted_;
};

/// Counts in tiles, since both triangles of a large matrix are read.
std::int64_t count_known(std::span<const TimeMatrix> known) {
  constexpr int tile = 64;
  const int n = known[0].n_hosts();
  std::int64_t count = 0;
  for (int a0 = 0; a0 < n; a0 += tile)
    for (int b0 = a0; b0 < n; b0 += tile)
      for (int a = a0; a < std::min(a0 + tile, n); ++a)
        for (int b = std::max(b0, a + 1); b < std::min(b0 + tile, n); ++b)
          count += std::any_of(known.begin(), known.end(), [&](const auto& times) { return times.is_known(a, b); });
  return count;
}

}  // namespace

std::int64_t default_pair_budget(int n_hosts) {
  const std::int64_t all = std::int64_t{n_hosts} * (n_hosts - 1) / 2;
  return n_hosts <= all_pairs_up_to ? all : std::min(all, std::int64_t{4} * n_hosts * log2_of(n_hosts));
}

std::vector<HostPair> pairs_to_measure(std::span<const TimeMatrix> known, std::int64_t budget) {
  if (known.empty() || known[0].n_hosts() < 2) return {};
  const auto n_known = count_known(known);
  auto wanted = Survey(known).next();
  const auto left = std::max<std::int64_t>(budget - n_known, 0);
  if (static_cast<std::int64_t>(wanted.size()) > left) {
    // The budget allows only a part of these pairs, which is spread evenly over the list.
    std::vector<HostPair> part;
    for (std::int64_t i = 0; i < left; ++i)
      part.push_back(wanted[static_cast<std::size_t>(i * static_cast<std::int64_t>(wanted.size()) / left)]);
    wanted = std::move(part);
  }
  return wanted;
}

}  // namespace tessera::machine
