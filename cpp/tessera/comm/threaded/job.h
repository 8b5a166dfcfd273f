// The data that the ranks of one process share.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tessera/comm/communicator.h"
#include "tessera/machine/wires.h"

namespace tessera::comm {

struct Job {
  explicit Job(std::vector<std::string> names) : hosts(std::move(names)), shown(hosts.size()) {}

  int size() const { return static_cast<int>(hosts.size()); }
  void barrier();
  /// Returns the data of all ranks; a rank returns when all have read them.
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
  std::shared_ptr<const machine::Wires> wires;  // that plans are made for; null: none are made
  std::optional<std::string> entry;             // of all plans
  std::vector<machine::Trial> trials;           // the same on all ranks, as each chooses for itself
};

}  // namespace tessera::comm
