// The hosts of the machine that a run is planned for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/machine/survey/machine_file.h"

namespace tessera::app {

/// The map that is planned for. It is read once, as that of a large machine has megabytes.
struct Map {
  std::string path;
  machine::MachineFile file;

  const machine::Network& network() const { return machine::network_of(file, path); }
};

/// Reads the map of a run, where it has one. Throws InputError where the file holds no network.
std::optional<Map> read_map(const std::string& path);

/// A host of a map, and the ranks on it.
struct PlannedHost {
  int ranks = 0, cores = 1;
};

/// Returns the hosts of a map that so many ranks fill, with their cores, or as many as `cores_per_node` says; 0: the map.
std::vector<PlannedHost> hosts_of_map(const Map& map, int n_ranks, int cores_per_node);

/// How many ranks and threads want one core, where that is most; 1: each has its own.
struct Crowding {
  double most = 1;
  std::int64_t hosts = 1;
  std::string text;  // for people
};

/// Finds it on the hosts of a map; without one, on as many hosts of `cores_per_node` as it takes, or (0) on this one.
Crowding find_crowding(const std::optional<Map>& map, int n_ranks, int threads, int cores_per_node);

}  // namespace tessera::app
