// Divides the hosts of a network in two, and each half again, down to single hosts: what orders of ranks are cut along.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <span>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/machine/network.h"

namespace tessera::machine {

/// Is a node of a binary tree over the ranks in topology order: every subnet is divided in two between its parts, as
/// evenly as possible. Places are counted in ranks; the ranks of a host are a leaf.
struct Half {
  int begin = 0, end = 0;     // places in topology order
  int left = -1, right = -1;  // indices of halves; -1: all on one host
  int host = -1;
};

/// Holds the tree of halves of the ranks on hosts; keeps references to both arguments.
class Halves {
 public:
  Halves(const Network& network, const std::vector<int>& ranks_on_host) : network_(network), ranks_(ranks_on_host) {
    if (ranks_.size() != network.hosts.size())
      throw InputError(
          fmt::format("numbers of ranks for {} hosts, but the network has {}", ranks_.size(), network.hosts.size()));
    root_ = subnet(0);
  }

  int root() const { return root_; }
  const Half& operator[](int i) const { return all_[at(i)]; }

 private:
  int subnet(int s) {
    std::vector<int> parts;  // indices of halves with ranks
    const auto& node = network_.subnets[at(s)];
    for (const int part : node.subnets)
      if (const int half = subnet(part); half >= 0) parts.push_back(half);
    for (const int host : node.hosts) {
      const int n = ranks_[at(host)];
      if (n <= 0) continue;
      parts.push_back(add({next_, next_ + n, -1, -1, host}));
      next_ += n;
    }
    return parts.empty() ? -1 : join(parts);
  }

  int join(std::span<const int> parts) {
    if (parts.size() == 1) return parts[0];
    const int begin = all_[at(parts.front())].begin;
    const int end = all_[at(parts.back())].end;
    std::size_t best = 1;
    const auto imbalance = [&](std::size_t cut) { return std::abs(begin + end - 2 * all_[at(parts[cut])].begin); };
    for (std::size_t cut = 2; cut < parts.size(); ++cut)
      if (imbalance(cut) < imbalance(best)) best = cut;
    const int left = join(parts.first(best));
    const int right = join(parts.subspan(best));
    return add({begin, end, left, right, -1});
  }

  int add(Half half) {
    all_.push_back(half);
    return static_cast<int>(all_.size()) - 1;
  }

  const Network& network_;
  const std::vector<int>& ranks_;
  std::vector<Half> all_;
  int next_ = 0;
  int root_ = -1;
};

}  // namespace tessera::machine
