// Describes the machine as a value that can be printed, kept in a file and loaded elsewhere to plan for it. What is not
// known is absent, never guessed.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tessera/machine/network.h"

namespace tessera::machine {

struct Cache {
  int level = 0;
  std::optional<std::int64_t> bytes;
  std::optional<int> shared_by;  // number of cores that share one
  std::optional<int> count;      // number of them per node

  friend bool operator==(const Cache&, const Cache&) = default;
};

struct Machine {
  static constexpr int version = 3;  // of the file

  std::string name;  // of the host or cluster
  std::optional<int> nodes;
  std::optional<int> sockets;         // per node
  std::optional<int> numa_nodes;      // per node
  std::optional<int> cores;           // per node
  std::optional<int> threads;         // hardware threads per node
  std::optional<int> usable_threads;  // those of them that this process may use
  std::optional<std::int64_t> memory_bytes;
  std::vector<Cache> caches;  // data caches, small to large
  std::optional<std::string> processor;
  std::optional<std::string> simd;  // Highway's name of the best instruction set: "AVX2", "NEON"
  std::optional<Network> network;   // between the nodes, measured

  friend bool operator==(const Machine&, const Machine&) = default;

  /// Returns the known values in one line: "host: 2 sockets, 64 cores, 128 threads, AVX3, L3 256 MiB, 503 GiB".
  std::string summary() const;
};

/// Describes the host of this process by hwloc. It never fails: what it can't find out is absent.
Machine describe_this_host();

nlohmann::json to_json(const Machine& machine);
/// Reads a machine file. Throws InputError if it is none, has another version, a wrong type or an invalid network.
/// `name` stands for the file in messages. Only the members of Machine are read here (survey/machine_file.h reads the
/// whole file).
Machine machine_from_json(const nlohmann::json& json, const std::string& name);

}  // namespace tessera::machine
