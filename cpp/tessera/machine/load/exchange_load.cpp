#include "tessera/machine/load/exchange_load.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

namespace tessera::machine {

namespace {

// This fraction of the latency between two hosts occupies a rank, for sending one message and receiving another; the
// rest is travel time. Within a host all of the latency occupies the rank.
constexpr double busy_between = 0.5;

/// Extrapolates the load of wires from the messages that were counted to all messages. `n_laid[wire]` is the number of
/// loads that were added.
void extrapolate(const Wires& wires, double share_seen, const std::vector<int>& n_laid, std::vector<double>& busy) {
  if (wires.network().routes) {
    // The wires of counted ranks carry their full load. Every other wire has a sample of n loads, with a relative error
    // of about 1/√n; the expected excess of the largest of many such is that of normal variables.
    const double largest = std::sqrt(2 * std::log(static_cast<double>(busy.size())) * (1 - share_seen));
    for (std::size_t i = static_cast<std::size_t>(wires.n_ranks()); i < busy.size(); ++i)
      if (n_laid[i] > 0) busy[i] /= share_seen * (1 + largest / std::sqrt(n_laid[i]));
    return;
  }
  // Subnets are assumed to be alike: each of their wires gets the mean of those of equal bandwidth.
  std::map<double, std::pair<double, double>> alike;  // by bandwidth: sum of loads, number
  for (std::size_t i = 0; i < busy.size(); ++i)
    if (const auto& wire = wires.wires()[i]; wire.is_of_subnet) {
      auto& [sum, n] = alike[wire.bandwidth];
      sum += std::exchange(busy[i], 0.0);
      ++n;
    }
  for (const auto& [bandwidth, sum_n] : alike) busy.push_back(sum_n.first / sum_n.second / share_seen);
}

double most_of(const std::vector<double>& list) {
  return list.empty() ? 0.0 : *std::max_element(list.begin(), list.end());
}

}  // namespace

ExchangeLoad::ExchangeLoad(const Wires& wires)
    : wires_(wires),
      bytes_(wires.wires().size()),
      starts_(2 * static_cast<std::size_t>(wires.n_ranks())),
      n_messages_(bytes_.size()) {}

void ExchangeLoad::occupy(int wire, double bytes) {
  bytes_[static_cast<std::size_t>(wire)] += bytes;
  ++n_messages_[static_cast<std::size_t>(wire)];
}

void ExchangeLoad::occupy_links() {
  if (way_.bytes == 0 || way_.sends == way_.receives) return;
  const auto path = wires_.path(way_.from, way_.to);
  for (const int wire : path.subspan(1, path.size() - 2)) occupy(wire, way_.bytes);
}

void ExchangeLoad::add(int from, int to, double bytes) {
  const int sends = wires_.host_of(from), receives = wires_.host_of(to);
  if (sends != way_.sends || receives != way_.receives) {
    occupy_links();
    way_ = {from, to, sends, receives, (sends == receives ? 1 : busy_between) * wires_.latency(from, to), 0};
  }
  starts_[2 * static_cast<std::size_t>(from)] += way_.start;
  starts_[2 * static_cast<std::size_t>(to) + 1] += way_.start;
  if (wires_.network().routes) {
    for (const int rank : {from, to}) occupy(rank, bytes);
    way_.bytes += bytes;
  } else {
    for (const int wire : wires_.path(from, to)) occupy(wire, bytes);
  }
  if (sends != receives)
    for (const int host : {sends, receives})
      if (const int wire = wires_.processors_of(host); wire >= 0) occupy(wire, bytes);
}

double ExchangeLoad::seconds(double share) {
  occupy_links();
  way_ = {};
  auto busy = bytes_;
  for (std::size_t i = 0; i < busy.size(); ++i) {
    const auto& wire = wires_.wires()[i];
    busy[i] = busy[i] / wire.bandwidth + n_messages_[i] * wire.per_message;
  }
  if (share < 1) extrapolate(wires_, share, n_messages_, busy);
  return most_of(starts_) + most_of(busy);
}

std::vector<int> ranks_of_some_hosts(const Wires& wires, std::size_t n, std::size_t most_of_a_host) {
  std::vector<std::span<const int>> by_host;
  for (std::size_t host = 0; host < wires.network().hosts.size(); ++host)
    if (const auto here = wires.ranks_on(static_cast<int>(host)); !here.empty()) by_host.push_back(here);
  std::vector<int> ranks;
  constexpr double step = 0.6180339887498949;
  double place = 0;
  for (; ranks.size() < n; place = std::fmod(place + step, 1)) {
    auto& mine = by_host[static_cast<std::size_t>(place * static_cast<double>(by_host.size()))];
    const auto every = mine.size() > most_of_a_host ? mine.size() / n : 1;
    for (std::size_t i = 0; i < mine.size(); i += every) ranks.push_back(mine[i]);
    mine = {};
  }
  return ranks;
}

}  // namespace tessera::machine
