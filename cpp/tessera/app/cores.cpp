#include "tessera/app/cores.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <span>

namespace tessera::app {

namespace {

/// A RankPlace as it is sent.
struct Packed {
  std::array<char, 64> host{};
  cpu_set_t cores{};
  int threads = 1;
};

Packed own_place(int threads) {
  Packed place{.threads = threads};
  gethostname(place.host.data(), place.host.size() - 1);
  CPU_ZERO(&place.cores);
  if (sched_getaffinity(0, sizeof place.cores, &place.cores) != 0) CPU_ZERO(&place.cores);
  return place;
}

RankPlace unpacked(std::span<const std::byte> data) {
  Packed place;
  std::memcpy(&place, data.data(), sizeof place);
  RankPlace found{place.host.data(), {}, place.threads};
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &place.cores)) found.cores.push_back(core);
  return found;
}

/// Describes the work on a host: "2 ranks × 3 threads", "3 threads".
std::string describe_work(int ranks, int threads) {
  const auto counted = [](int n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
  if (ranks == 1) return counted(threads, "thread");
  return threads == 1 ? counted(ranks, "rank") : counted(ranks, "rank") + " × " + counted(threads, "thread");
}

}  // namespace

std::string note_of_cores(const std::vector<RankPlace>& ranks, int cores_of_rank) {
  struct Host {
    std::set<int> cores;
    int ranks = 0, threads = 0;
  };
  std::map<std::string, Host> hosts;
  const auto shared = [](int n_ranks, int n_threads, std::size_t n_cores, const std::string& where) {
    return fmt::format("{} share {} core{} of {} and wait for each other: choose fewer ranks (-n) or threads (-t)",
                       describe_work(n_ranks, n_threads), n_cores, n_cores == 1 ? "" : "s", where);
  };
  for (const auto& rank : ranks) {
    if (rank.cores.empty()) return "";
    auto& host = hosts[rank.host];
    host.cores.insert(rank.cores.begin(), rank.cores.end());
    ++host.ranks;
    host.threads += rank.threads;
  }
  for (const auto& [name, host] : hosts)
    if (static_cast<std::size_t>(host.threads) > host.cores.size())
      return shared(host.ranks, host.threads / host.ranks, host.cores.size(), name);
  for (const auto& rank : ranks)
    if (static_cast<std::size_t>(rank.threads) > rank.cores.size())
      return shared(1, rank.threads, rank.cores.size(), rank.host) +
             ", or let the launcher give a rank more cores (--bind-to none, --cpus-per-task)";
  for (const auto& rank : ranks) {
    if (rank.threads >= cores_of_rank) continue;
    const auto& host = hosts[rank.host];
    const int usable = std::min(
        {cores_of_rank, static_cast<int>(rank.cores.size()), static_cast<int>(host.cores.size()) / host.ranks});
    const auto of_job = fmt::format("the job has {} cores for each rank (--cpus-per-task), and ", cores_of_rank);
    if (rank.threads < usable)
      return of_job + fmt::format("{} of them idle: -t {} uses {}", cores_of_rank - rank.threads, usable,
                                  usable == cores_of_rank ? "all" : "those on which the launcher lets a rank run");
    if (static_cast<int>(rank.cores.size()) < cores_of_rank)
      return of_job + fmt::format(
                          "the launcher lets a rank run on {}: let it bind to none (--cpu-bind=none, --bind-to "
                          "none), then -t {} uses all",
                          usable, cores_of_rank);
  }
  return "";
}

std::string note_of_cores(const comm::Communicator& comm, int threads) {
  const auto own = own_place(threads);
  std::vector<RankPlace> ranks;
  for (const auto& data : comm.gather(std::as_bytes(std::span(&own, 1)), 0)) ranks.push_back(unpacked(data));
  if (!comm.is_root()) return "";
  const auto* of_slurm = std::getenv("SLURM_CPUS_PER_TASK");
  return note_of_cores(ranks, of_slurm ? std::atoi(of_slurm) : 0);
}

}  // namespace tessera::app
