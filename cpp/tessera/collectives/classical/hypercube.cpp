#include "tessera/collectives/classical/hypercube.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "tessera/base/index.h"

namespace tessera::collectives {
namespace {

/// Returns the bits of a corner in the first `n` dimensions, the first dimension being the highest bit.
std::size_t key(const Hypercube& cube, std::size_t corner, std::size_t n) {
  std::size_t bits = 0;
  for (std::size_t i = 0; i < n; ++i) bits = 2 * bits + ((corner >> cube.dimensions[i]) & 1);
  return bits;
}

void sort_dimensions(Hypercube& cube, double bytes, const machine::Wires& wires) {
  // Each dimension has the level and the time of its slowest pair; of equal ones the higher bit comes first.
  std::vector<std::tuple<int, double, int>> distance;
  for (const int dimension : cube.dimensions) {
    int level = 0;
    double time = 0;
    for (std::size_t corner = 0; corner < cube.size(); ++corner) {
      const int from = cube.corners[corner], to = cube.corners[corner ^ (std::size_t{1} << dimension)];
      level = std::max(level, wires.level(from, to));
      time = std::max(time, wires.time(from, to, bytes));
    }
    distance.emplace_back(level, time, -dimension);
  }
  std::sort(distance.begin(), distance.end());
  std::transform(distance.begin(), distance.end(), cube.dimensions.begin(),
                 [](const auto& entry) { return -std::get<2>(entry); });
}

}  // namespace

std::size_t Hypercube::neighbour(std::size_t corner, std::size_t step) const {
  return corner ^ (std::size_t{1} << dimensions[step]);
}

std::size_t Hypercube::corner_of(int rank) const {
  for (std::size_t corner = 0; corner < size(); ++corner)
    if (corners[corner] == rank || folded[corner] == rank) return corner;
  return 0;
}

Hypercube make_hypercube(const CollectiveProblem& problem, const machine::Wires& wires) {
  const bool by_rank = keeps_rank_order(problem);
  const auto order = by_rank ? rank_order(problem.n_ranks) : topology_order(wires);
  const auto n_corners = std::bit_floor(order.size());
  const auto n_folded = order.size() - n_corners;
  Hypercube cube;
  for (std::size_t corner = 0; corner < n_corners; ++corner) {
    const auto first = corner + std::min(corner, n_folded);
    cube.corners.push_back(order[first]);
    cube.folded.push_back(corner < n_folded ? order[first + 1] : -1);
    // The root represents its pair itself, which saves a step.
    if (has_root(problem.operation) && cube.folded.back() == problem.root)
      std::swap(cube.corners.back(), cube.folded.back());
  }
  for (int bit = 0; bit < std::countr_zero(n_corners); ++bit) cube.dimensions.push_back(bit);
  if (!by_rank) sort_dimensions(cube, static_cast<double>(whole(problem).length * problem.element_bytes), wires);
  return cube;
}

std::vector<ElementRange> split(const CollectiveProblem& problem, const Hypercube& cube) {
  std::vector<int> owners(cube.size());
  for (std::size_t corner = 0; corner < cube.size(); ++corner)
    owners[key(cube, corner, cube.dimensions.size())] = cube.corners[corner];
  return split(problem, owners);
}

HypercubeParts::HypercubeParts(const Hypercube& cube, const std::vector<ElementRange>& parts) : cube_(cube) {
  for (std::size_t n = 0; n <= cube.dimensions.size(); ++n) {
    auto& shares = shares_.emplace_back(std::size_t{1} << n);
    for (std::size_t corner = 0; corner < cube.size(); ++corner) {
      auto& share = shares[key(cube, corner, n)];
      share.push_back(parts[at(cube.corners[corner])]);
      if (cube.folded[corner] >= 0) share.push_back(parts[at(cube.folded[corner])]);
    }
    for (auto& share : shares) share = runs(std::move(share));
  }
}

const std::vector<ElementRange>& HypercubeParts::share(std::size_t corner, std::size_t n) const {
  return shares_[n][key(cube_, corner, n)];
}

bool HypercubeParts::agree_from(std::size_t step, std::size_t a, std::size_t b) const {
  for (auto i = step; i < cube_.dimensions.size(); ++i)
    if ((((a ^ b) >> cube_.dimensions[i]) & 1) != 0) return false;
  return true;
}

void HypercubeParts::add_halving(MessagePlan& plan, const CollectiveProblem& problem) const {
  for (std::size_t step = 0; step < cube_.dimensions.size(); ++step)
    for (std::size_t corner = 0; corner < cube_.size(); ++corner) {
      const auto other = cube_.neighbour(corner, step);
      const int from = cube_.corners[corner], to = cube_.corners[other];
      send(plan, from, to, share(other, step + 1), combine(problem, from, to));
    }
}

void HypercubeParts::add_doubling(MessagePlan& plan) const {
  for (auto step = cube_.dimensions.size(); step-- > 0;)
    for (std::size_t corner = 0; corner < cube_.size(); ++corner)
      send(plan, cube_.corners[corner], cube_.corners[cube_.neighbour(corner, step)], share(corner, step + 1),
           Effect::replace);
}

void HypercubeParts::add_scatter(MessagePlan& plan, std::size_t root) const {
  for (std::size_t step = 0; step < cube_.dimensions.size(); ++step)
    for (std::size_t corner = 0; corner < cube_.size(); ++corner) {
      if (!agree_from(step, corner, root)) continue;
      const auto other = cube_.neighbour(corner, step);
      send(plan, cube_.corners[corner], cube_.corners[other], share(other, step + 1), Effect::replace);
    }
}

void HypercubeParts::add_gather(MessagePlan& plan, std::size_t root) const {
  for (auto step = cube_.dimensions.size(); step-- > 0;)
    for (std::size_t corner = 0; corner < cube_.size(); ++corner) {
      if (!agree_from(step, corner, root)) continue;
      const auto other = cube_.neighbour(corner, step);
      send(plan, cube_.corners[other], cube_.corners[corner], share(other, step + 1), Effect::replace);
    }
}

}  // namespace tessera::collectives
