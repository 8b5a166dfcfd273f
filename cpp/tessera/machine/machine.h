// The map of the machine: a value that can be printed, kept in a file and loaded elsewhere to plan for it. What is not
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
  std::optional<int> shared_by;  // cores that share one
  std::optional<int> count;      // of them in a node

  friend bool operator==(const Cache&, const Cache&) = default;
};

struct Machine {
  static constexpr int version = 2;  // of the file; 1 had no network

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
  std::optional<Network> network;   // between the nodes, measured

  friend bool operator==(const Machine&, const Machine&) = default;

  /// "host: 2 sockets, 64 cores, 128 threads, AVX3, L3 256 MiB, 503 GiB": what is known, in one line.
  std::string summary() const;
};

/// What hwloc says of the host this process runs on. Never fails: what it can't find out is absent.
Machine describe_this_host();

nlohmann::json to_json(const Machine& machine);
/// Of this version or version 1. Throws InputError: no machine file, another version, a wrong type, an unsound network.
/// `name` stands for the file in messages. Reads the members of Machine alone (survey/machine_file.h reads the file).
Machine machine_from_json(const nlohmann::json& json, const std::string& name);

}  // namespace tessera::machine
