#include "tessera/md/domain/balance.h"

#include <algorithm>
#include <numeric>

#include "tessera/base/index.h"

namespace tessera::md::domain {

namespace {

/// Returns this rank's costs along x, y and z in one array, as ranks exchange them.
std::vector<double> measured_costs(const Domain& domain, double seconds) {
  constexpr double empty_cell = 0.1;  // in units of a cluster's cost
  const auto& brick = domain.brick();
  std::array<std::size_t, 4> begin{};
  for (int d = 0; d < 3; ++d) begin[at(d) + 1] = begin[at(d)] + at(brick.extent(d));
  std::vector<double> costs(begin[3], 0);
  double sum = 0;
  for (std::int32_t c = 0; c < domain.n_owned_cells(); ++c) {
    const double cost = empty_cell + domain.first_cluster(c + 1) - domain.first_cluster(c);
    for (std::size_t d = 0; d < 3; ++d) costs[begin[d] + at(domain.cell(c)[d] - brick.lower[d])] += cost;
    sum += cost;
  }
  if (sum > 0)  // a rank of a vacuum may have no cells
    for (auto& cost : costs) cost *= seconds / sum;
  return costs;
}

}  // namespace

Balance find_balance(const Domain& domain, double seconds, const comm::Communicator& comm) {
  const auto told = comm.all_gather(comm::bytes_of(measured_costs(domain, seconds)));
  std::vector<BrickCost> costs;
  double all = 0, most = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const auto values = comm::values_of<double>(told[at(rank)]);
    auto& cost = costs.emplace_back();
    cost.brick = domain.decomposition().brick(rank);
    auto next = values.begin();
    for (int d = 0; d < 3; ++d) {
      cost.by_layer[at(d)].assign(next, next + cost.brick.extent(d));
      next += cost.brick.extent(d);
    }
    const double of_rank = std::accumulate(cost.by_layer[0].begin(), cost.by_layer[0].end(), 0.0);
    all += of_rank;
    most = std::max(most, of_rank);
  }
  const double mean = all / comm.size();
  Balance balance;
  if (!(mean > 0)) return balance;
  balance.imbalance = most / mean;
  // A smaller gain would be uncertain and not worth the time of the move.
  constexpr double tolerated = 1.05, worth = 0.97;
  if (balance.imbalance < tolerated) return balance;
  auto better = plan_decomposition(domain.grid(), domain.decomposition().line(), costs);
  double greatest = cost_of(better.brick(comm.rank()), costs);
  comm.all_reduce_max(std::span(&greatest, 1));
  if (greatest < worth * most) balance.better = std::move(better);
  return balance;
}

}  // namespace tessera::md::domain
