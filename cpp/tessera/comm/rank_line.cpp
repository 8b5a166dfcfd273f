#include "tessera/comm/rank_line.h"

#include <numeric>

#include "tessera/collectives/registry.h"
#include "tessera/comm/wires_of_ranks.h"

namespace tessera::comm {

std::vector<int> RankLine::host_of_rank() const {
  std::vector<int> host(rank.size());
  int current = 0;
  for (std::size_t i = 0; i < rank.size(); ++i) {
    if (level[i] > 0) ++current;
    host[static_cast<std::size_t>(rank[i])] = current;
  }
  return host;
}

RankLine RankLine::as_numbered(int n_ranks) {
  RankLine line;
  line.rank.resize(static_cast<std::size_t>(n_ranks));
  std::iota(line.rank.begin(), line.rank.end(), 0);
  line.level.assign(line.rank.size(), 0);
  return line;
}

RankLine RankLine::along(const machine::Wires& wires) {
  RankLine line{collectives::topology_order(wires), {0}};
  for (std::size_t i = 1; i < line.rank.size(); ++i) line.level.push_back(wires.level(line.rank[i - 1], line.rank[i]));
  return line;
}

AgreedLine agree_on_line(const Communicator& comm, const std::string& machine_file) {
  const auto known = wires_of_ranks(comm, machine_file);
  AgreedLine agreed;
  if (comm.is_root()) agreed = {RankLine::along(*known.wires), known.source};
  broadcast_resized(comm, agreed.line.rank);
  broadcast_resized(comm, agreed.line.level);
  broadcast_resized(comm, agreed.source);
  return agreed;
}

}  // namespace tessera::comm
