// What the ranks of one process share.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "tessera/comm/communicator.h"

namespace tessera::comm {

struct Job {
  explicit Job(std::vector<std::string> names) : hosts(std::move(names)), shown(hosts.size()) {}

  int size() const { return static_cast<int>(hosts.size()); }
  void barrier();
  /// What every rank shows, as all see it; each may go on to the next when all have seen it.
  std::vector<std::vector<std::byte>> exchange(int rank, std::span<const std::byte> data);

  std::vector<std::string> hosts;  // by rank
  std::mutex mutex;
  std::condition_variable changed;
  int n_waiting = 0;
  std::int64_t n_barriers = 0;
  std::vector<std::span<const std::byte>> shown;                                 // by rank
  std::map<std::tuple<int, int, int>, std::deque<std::vector<std::byte>>> mail;  // by source, destination, tag
};

struct Communicator::Implementation {
  std::shared_ptr<Job> job;
  int rank = 0;
};

}  // namespace tessera::comm
