#include "tessera/programs/collectives/network.h"

#include "tessera/comm/communicator.h"
#include "tessera/comm/mpi/placement/hosts.h"
#include "tessera/machine/orders.h"
#include "tessera/programs/collectives/samples.h"

namespace tessera::programs {

ChosenNetwork network_for(const std::string& sample, const std::string& map, MPI_Comm comm) {
  ChosenNetwork chosen;
  int rank = 0, n_ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &n_ranks);
  if (!sample.empty()) {
    const auto known = sample_network(sample, n_ranks);
    chosen.network = std::make_shared<const machine::Network>(known.network);
    chosen.host = known.hosts[static_cast<std::size_t>(rank)];
  } else if (!map.empty()) {
    auto [network, trials, warning] = comm::mpi::read_map(map, comm);
    chosen.network = std::move(network);
    chosen.trials = std::move(trials);
    chosen.warning = std::move(warning);
  } else {
    const auto names = comm::mpi::gather_names(comm::Communicator::host(), comm);
    chosen.network = std::make_shared<const machine::Network>(machine::network_of(names));
  }
  return chosen;
}

}  // namespace tessera::programs
