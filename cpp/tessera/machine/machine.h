// The map of the machine: a value that can be printed, kept in a file and loaded elsewhere to plan for it. What is not
// known is absent, never guessed. So far it knows one node; links between nodes and the subnets they form join here, as
// members of their own, with the next version of the file.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tessera::machine {

struct Cache {
  int level = 0;
  std::optional<std::int64_t> bytes;
  std::optional<int> shared_by;  // cores that share one
  std::optional<int> count;      // of them in a node

  friend bool operator==(const Cache&, const Cache&) = default;
};

struct Machine {
  static constexpr int version = 1;

  std::string name;  // of the host, or of the cluster
  std::optional<int> nodes;
  std::optional<int> sockets;         // of a node
  std::optional<int> numa_nodes;      // of a node
  std::optional<int> cores;           // of a node
  std::optional<int> threads;         // hardware threads of a node
  std::optional<int> usable_threads;  // of those, the ones this process may use
  std::optional<std::int64_t> memory_bytes;
  std::vector<Cache> caches;  // data caches, small to large
  std::optional<std::string> processor;
  std::optional<std::string> simd;  // best instruction set by Highway's name: "AVX2", "NEON"

  friend bool operator==(const Machine&, const Machine&) = default;

  /// "host: 2 sockets, 64 cores, 128 threads, AVX3, L3 256 MiB, 503 GiB": what is known, in one line.
  std::string summary() const;
};

/// What hwloc says of the host this process runs on. Never fails: what it can't find out is absent.
Machine describe_this_host();

nlohmann::json to_json(const Machine& machine);
/// Throws InputError: no machine file, another version, a wrong type. `name` stands for the file in messages.
Machine machine_from_json(const nlohmann::json& json, const std::string& name);

}  // namespace tessera::machine
