#include "tessera/machine/orders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/machine/halves.h"

namespace tessera::machine {
namespace {

RankOrder alternate(const Halves& halves, int which) {
  const auto& half = halves[which];
  if (half.left < 0) return RankOrder(at(half.end - half.begin), half.host);
  const auto left = alternate(halves, half.left);
  const auto right = alternate(halves, half.right);
  RankOrder order;
  std::size_t l = 0;
  std::size_t r = 0;
  // Both sides advance in proportion to their lengths: the next entry comes from the side with less progress, or from
  // the left one if they are equal.
  while (l < left.size() || r < right.size()) {
    const bool is_left = r == right.size() || (l < left.size() && l * right.size() <= r * left.size());
    order.push_back(is_left ? left[l++] : right[r++]);
  }
  return order;
}

/// Assigns sets of grid cells to halves of the network.
class GridCutter {
 public:
  GridCutter(const Halves& halves, const std::vector<int>& dims) : halves_(halves), dims_(dims), strides_(dims.size()) {
    std::int64_t stride = 1;
    for (std::size_t d = dims.size(); d-- > 0; stride *= dims[d]) strides_[d] = stride;
    order_.assign(static_cast<std::size_t>(stride), -1);
    side_.assign(order_.size(), 0);
  }

  RankOrder cut() {
    std::vector<std::int64_t> cells(order_.size());
    std::iota(cells.begin(), cells.end(), std::int64_t{0});
    place(halves_.root(), cells);
    return std::move(order_);
  }

 private:
  std::int64_t coordinate(std::int64_t cell, std::size_t d) const { return cell / strides_[d] % dims_[d]; }

  /// Sorts cells along a dimension, then along the others in turn, so that any prefix is a block with a ragged face.
  void sort_along(std::span<std::int64_t> cells, std::size_t first) const {
    std::sort(cells.begin(), cells.end(), [&](std::int64_t a, std::int64_t b) {
      for (std::size_t i = 0; i < dims_.size(); ++i) {
        const auto d = (first + i) % dims_.size();
        if (coordinate(a, d) != coordinate(b, d)) return coordinate(a, d) < coordinate(b, d);
      }
      return false;
    });
  }

  /// Counts the neighbours among these cells that a cut after the first n would separate.
  std::int64_t parted(std::span<const std::int64_t> cells, std::size_t n) {
    ++mark_;
    for (std::size_t i = 0; i < n; ++i) side_[static_cast<std::size_t>(cells[i])] = 2 * mark_;
    for (std::size_t i = n; i < cells.size(); ++i) side_[static_cast<std::size_t>(cells[i])] = 2 * mark_ + 1;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t d = 0; d < dims_.size(); ++d) {
        const auto x = coordinate(cells[i], d);
        if (x > 0 && side_[static_cast<std::size_t>(cells[i] - strides_[d])] == 2 * mark_ + 1) ++count;
        if (x + 1 < dims_[d] && side_[static_cast<std::size_t>(cells[i] + strides_[d])] == 2 * mark_ + 1) ++count;
      }
    return count;
  }

  void place(int which, std::span<std::int64_t> cells) {
    const auto& half = halves_[which];
    if (half.left < 0) {
      for (const auto cell : cells) order_[static_cast<std::size_t>(cell)] = half.host;
      return;
    }
    const auto n_left = at(halves_[half.left].end - halves_[half.left].begin);
    std::size_t best = 0;
    std::int64_t fewest = -1;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      sort_along(cells, d);
      const auto count = parted(cells, n_left);
      if (fewest >= 0 && count >= fewest) continue;
      fewest = count;
      best = d;
    }
    sort_along(cells, best);
    place(half.left, cells.first(n_left));
    place(half.right, cells.subspan(n_left));
  }

  const Halves& halves_;
  const std::vector<int>& dims_;
  std::vector<std::int64_t> strides_;
  std::vector<std::int64_t> side_;  // by cell: mark of the last cut that included it
  std::int64_t mark_ = 0;
  RankOrder order_;
};

/// Returns the order in which a grid lies along the links of a torus, so that neighbours are one link apart: where all
/// hosts have as many ranks, and the grid is a whole number of times as long as the torus along each direction, in
/// whichever sequence. Of several the one in which the ranks of a host have fewest neighbours elsewhere.
std::optional<RankOrder> along_torus(const Network& network, const std::vector<int>& ranks_on_host,
                                     const std::vector<int>& dims) {
  if (!network.routes || network.routes->kind != Routes::Kind::torus) return std::nullopt;
  auto torus = network.routes->shape;
  if (torus.size() > dims.size()) return std::nullopt;
  torus.resize(dims.size(), 1);
  const int ranks = ranks_on_host.front();
  if (std::any_of(ranks_on_host.begin(), ranks_on_host.end(), [&](int n) { return n != ranks; })) return std::nullopt;
  std::vector<std::size_t> way(dims.size()), best;  // of the torus, along each direction of the grid
  std::iota(way.begin(), way.end(), std::size_t{0});
  int fewest = 0;
  do {
    int outside = 0;
    bool fits = true;
    for (std::size_t d = 0; d < dims.size() && fits; ++d) {
      fits = dims[d] % torus[way[d]] == 0;
      if (fits && torus[way[d]] > 1) outside += ranks / (dims[d] / torus[way[d]]);
    }
    if (fits && (best.empty() || outside < fewest)) fewest = outside, best = way;
  } while (std::next_permutation(way.begin(), way.end()));
  if (best.empty()) return std::nullopt;
  RankOrder order(ranks_on_host.size() * at(ranks));
  for (std::size_t cell = 0; cell < order.size(); ++cell) {
    std::vector<std::size_t> place(dims.size());  // in the torus
    auto rest = cell;
    for (std::size_t d = dims.size(); d-- > 0; rest /= at(dims[d]))
      place[best[d]] = rest % at(dims[d]) / at(dims[d] / torus[best[d]]);
    std::size_t host = 0;
    for (std::size_t d = 0; d < place.size(); ++d) host = host * at(torus[d]) + place[d];
    order[cell] = static_cast<int>(host);
  }
  return order;
}

constexpr std::size_t longest_list = 5;  // names in a message

std::string short_name(const std::string& name) { return name.substr(0, name.find('.')); }

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), longest_list); ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() > longest_list ? fmt::format("{} and {} more", text, names.size() - longest_list) : text;
}

/// Returns the index of each host by its name and, if unique, by its short name.
std::map<std::string, int> index_of(const std::vector<Host>& hosts) {
  std::map<std::string, int> index, shortened;
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    index.emplace(hosts[h].name, static_cast<int>(h));
    const auto [other, is_new] = shortened.emplace(short_name(hosts[h].name), static_cast<int>(h));
    if (!is_new) other->second = -1;
  }
  for (const auto& [name, h] : shortened)
    if (h >= 0) index.emplace(name, h);
  return index;
}

}  // namespace

std::vector<int> fill_slots(const Network& network, int n_ranks) {
  std::vector<int> ranks(network.hosts.size(), 0);
  int left = n_ranks;
  for (const int host : network.hosts_of(0)) {
    ranks[at(host)] = std::min(left, network.hosts[at(host)].slots);
    left -= ranks[at(host)];
  }
  if (left > 0)
    throw InputError(
        fmt::format("{} ranks, but the network's hosts have {} slots; ask for fewer ranks or give the hosts "
                    "more slots in the machine file",
                    n_ranks, n_ranks - left));
  return ranks;
}

Wires wires_of_job(const Network& network, int n_ranks) {
  return {network, ring_order(network, fill_slots(network, n_ranks))};
}

std::string placement_of(const Wires& wires) {
  const auto& network = wires.network();
  std::vector<int> as_filled;
  for (const int host : network.hosts_of(0)) as_filled.insert(as_filled.end(), at(network.hosts[at(host)].slots), host);
  bool is_filled = wires.n_ranks() <= static_cast<int>(as_filled.size());
  std::uint64_t digest = 0xcbf29ce484222325u;  // FNV-1a
  for (int rank = 0; rank < wires.n_ranks(); ++rank) {
    const int host = wires.host_of(rank);
    is_filled = is_filled && as_filled[at(rank)] == host;
    for (const char c : network.hosts[at(host)].name + '\n')
      digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return is_filled ? std::string() : fmt::format("{:016x}", digest);
}

RankOrder hypercube_order(const Network& network, const std::vector<int>& ranks_on_host) {
  const Halves halves(network, ranks_on_host);
  return halves.root() < 0 ? RankOrder{} : alternate(halves, halves.root());
}

RankOrder ring_order(const Network& network, const std::vector<int>& ranks_on_host) {
  RankOrder order;
  for (const int host : network.hosts_of(0)) order.insert(order.end(), at(ranks_on_host.at(at(host))), host);
  return order;
}

RankOrder cartesian_order(const Network& network, const std::vector<int>& ranks_on_host, const std::vector<int>& dims) {
  const Halves halves(network, ranks_on_host);
  const auto n_ranks = std::accumulate(ranks_on_host.begin(), ranks_on_host.end(), std::int64_t{0});
  std::int64_t n_cells = dims.empty() ? 0 : 1;
  for (const int n : dims) n_cells *= std::max(n, 0);
  if (n_cells != n_ranks || halves.root() < 0)
    throw InputError(
        fmt::format("a grid of {} has {} places, but there are {} ranks; choose dimensions that multiply to it",
                    fmt::join(dims, " × "), n_cells, n_ranks));
  if (auto order = along_torus(network, ranks_on_host, dims)) return *std::move(order);
  return GridCutter(halves, dims).cut();
}

std::vector<int> ranks_in_order(const std::vector<int>& host_of_rank, const RankOrder& order) {
  if (order.size() != host_of_rank.size())
    throw InputError(fmt::format("an order of {} places for {} ranks", order.size(), host_of_rank.size()));
  std::vector<std::deque<int>> waiting;
  for (std::size_t r = 0; r < host_of_rank.size(); ++r) {
    if (waiting.size() <= at(host_of_rank[r])) waiting.resize(at(host_of_rank[r]) + 1);
    waiting[at(host_of_rank[r])].push_back(static_cast<int>(r));
  }
  std::vector<int> ranks;
  for (const int host : order) {
    if (at(host) >= waiting.size() || waiting[at(host)].empty())
      throw InputError(fmt::format("the order puts more ranks on host {} than run there", host));
    ranks.push_back(waiting[at(host)].front());
    waiting[at(host)].pop_front();
  }
  return ranks;
}

std::vector<int> ranks_in_order(const Wires& wires, const RankOrder& order) {
  std::vector<int> host_of_rank;
  for (int rank = 0; rank < wires.n_ranks(); ++rank) host_of_rank.push_back(wires.host_of(rank));
  return ranks_in_order(host_of_rank, order);
}

std::vector<int> ranks_on_hosts(const Wires& wires) {
  std::vector<int> ranks;
  for (std::size_t host = 0; host < wires.network().hosts.size(); ++host)
    ranks.push_back(static_cast<int>(wires.ranks_on(static_cast<int>(host)).size()));
  return ranks;
}

std::vector<int> ranks_in_places(const Wires& wires, int n_places,
                                 const std::function<RankOrder(const std::vector<int>& ranks_on_host)>& order) {
  auto left = ranks_on_hosts(wires);
  std::vector<int> used(left.size(), 0);
  for (const int host : wires.network().hosts_of(0)) {
    used[at(host)] = std::min(left[at(host)], n_places);
    left[at(host)] -= used[at(host)];
    n_places -= used[at(host)];
  }
  auto all = order(used);
  const auto others = ring_order(wires.network(), left);
  all.insert(all.end(), others.begin(), others.end());
  return ranks_in_order(wires, all);
}

std::vector<int> ranks_in_grid(const Wires& wires, const std::array<std::int64_t, 3>& dims) {
  return ranks_in_order(
      wires, cartesian_order(wires.network(), ranks_on_hosts(wires), std::vector<int>(dims.begin(), dims.end())));
}

Network network_of(const std::vector<std::string>& names, Link link) {
  std::vector<Host> hosts;
  for (const auto& name : names) {
    const auto known = std::find_if(hosts.begin(), hosts.end(), [&](const auto& host) { return host.name == name; });
    if (known == hosts.end()) {
      hosts.emplace_back().name = name;
    } else {
      ++known->slots;
    }
  }
  return one_switch(hosts, link);
}

std::vector<int> find_hosts(const std::vector<std::string>& names, const Network& network) {
  const auto index = index_of(network.hosts);
  std::vector<int> found;
  std::vector<std::string> unknown;
  for (const auto& name : names) {
    auto at = index.find(name);
    if (at == index.end()) at = index.find(short_name(name));
    found.push_back(at == index.end() ? -1 : at->second);
    if (at == index.end() && std::find(unknown.begin(), unknown.end(), name) == unknown.end()) unknown.push_back(name);
  }
  if (unknown.empty()) return found;
  std::vector<std::string> known;
  for (const auto& host : network.hosts) known.push_back(host.name);
  const bool is_other = std::all_of(found.begin(), found.end(), [](int host) { return host < 0; });
  throw InputError(
      fmt::format("the map of the machine {} {}; it knows {}: measure the network of these hosts "
                  "(tessera machine measure)",
                  is_other ? "is of another cluster: it has none of the hosts" : "lacks the host(s)", list_of(unknown),
                  list_of(known)));
}

}  // namespace tessera::machine
