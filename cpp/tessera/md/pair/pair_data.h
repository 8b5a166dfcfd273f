// Holds a rank's atoms as the sums over near pairs read them.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/md/domain/domain.h"
#include "tessera/md/pair/clusters/cluster_kernel.h"
#include "tessera/md/pair/functions.h"
#include "tessera/md/pair/pair_list.h"
#include "tessera/md/pair/potentials/short_range.h"

namespace tessera::md::pair {

/// PairForces owns it.
struct PairData {
  const domain::Domain& domain;
  ThreadPool& threads;
  const PairSettings settings;
  PreparedConstants constants{};
  ShortRange short_range{domain.system().force_field, settings};
  TablePairs table_pairs{};
  float padding_epsilon = 0;  // ClusterData::epsilon of padding

  // These are set after each search.
  std::vector<double> charge{};         // by slot, e; padding 0
  std::vector<std::int32_t> type{};     // by slot; padding −1
  std::vector<ClusterData> clusters{};  // coordinates are updated each step
  ExcludedClusters exclusions{};
  std::vector<float> reach{};  // by slot, Å: how far it may move before the next list
};

}  // namespace tessera::md::pair
