#include "tessera/io/write/plan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "tessera/base/error.h"
#include "tessera/io/write/frame.h"

namespace tessera::io::write {

std::int64_t WriteProblem::n_atoms() const { return std::accumulate(owned.begin(), owned.end(), std::int64_t{0}); }

const Part* WritePlan::of(int rank) const {
  const auto found = std::ranges::lower_bound(parts, rank, {}, &Part::rank);
  return found != parts.end() && found->rank == rank ? &*found : nullptr;
}

std::size_t WritePlan::part_of(std::int64_t place) const {
  const auto after = std::ranges::upper_bound(parts, place, {}, &Part::first);
  return static_cast<std::size_t>(after - parts.begin()) - 1;
}

WritePlan divide(const WriteProblem& problem, const WriteOptions& options, const std::vector<int>& writers,
                 bool has_files) {
  TESSERA_CHECK(!writers.empty() && options.batch > 0 && problem.atom_bytes > 0);
  WritePlan plan;
  plan.n_files = has_files ? static_cast<int>(writers.size()) : 1;
  // The bytes of a batch have to be counted by an int of MPI.
  plan.batch = std::min(
      options.batch, (std::int64_t{1} << 30) / std::max(problem.atom_bytes, static_cast<std::int64_t>(row_bytes(2))));
  const auto n = problem.n_atoms(), n_writers = std::ssize(writers);
  const bool is_own = options.order == Order::owned && n_writers == problem.n_ranks();
  std::int64_t end = 0;
  for (std::int64_t w = 0; w < n_writers; ++w) {
    const auto first = end;
    end += is_own ? problem.owned[static_cast<std::size_t>(w)] : n / n_writers + (w < n % n_writers ? 1 : 0);
    const auto file = has_files ? static_cast<int>(w) : 0;
    const auto offset = (file == 0 ? problem.header_bytes : 0) + (has_files ? 0 : first * problem.atom_bytes);
    plan.parts.push_back({writers[static_cast<std::size_t>(w)], file, first, end - first, offset});
    plan.n_rounds = std::max(plan.n_rounds, (end - first + plan.batch - 1) / plan.batch);
  }
  return plan;
}

std::vector<int> spread(int n_ranks, int n) {
  n = std::clamp(n, 1, n_ranks);
  std::vector<int> ranks;
  for (std::int64_t i = 0; i < n; ++i) ranks.push_back(static_cast<int>(i * n_ranks / n));
  return ranks;
}

std::vector<int> one_of_each_host(const WriteProblem& problem) {
  std::set<int> seen;
  std::vector<int> ranks;
  for (int rank = 0; rank < problem.n_ranks(); ++rank)
    if (seen.insert(problem.hosts[static_cast<std::size_t>(rank)]).second) ranks.push_back(rank);
  return ranks;
}

}  // namespace tessera::io::write
