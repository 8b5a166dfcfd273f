// Places the ranks of a job on hosts so that those which communicate most are connected by the fastest links. An order
// is the host of each rank in turn, by index in Network::hosts.
#pragma once

#include <string>
#include <vector>

#include "tessera/machine/network.h"
#include "tessera/machine/wires.h"

namespace tessera::machine {

using RankOrder = std::vector<int>;

/// Ranks on each host when n fill their slots host after host in the order of the tree. Throws InputError where there
/// are fewer slots than ranks.
std::vector<int> fill_slots(const Network& network, int n_ranks);

/// The wires of a job of n ranks that fills slots so. Throws InputError as fill_slots.
Wires wires_of_job(const Network& network, int n_ranks);

/// The order of hosts in the host file of Borštnik et al. (2004), §2 and Table 1: line i of the 2^d lines goes to
/// computer ⌊reverse_bits(i) / processors⌋. Both numbers must be powers of two (InputError). The paper's loop ends a
/// line too late, and its "12 (1010)" is computer 10; its Table 1 is as here.
RankOrder bit_reversal_order(int n_computers, int processors);

/// The same from a network, for any numbers: ranks p/2 apart, which exchange the largest part of a vector in a
/// hypercube's sum, on one host; p/4 apart in one leaf subnet, and so on. Where all numbers are powers of two this is
/// bit_reversal_order along the tree; else slots of the two halves of every subnet alternate in proportion.
RankOrder hypercube_order(const Network& network, const std::vector<int>& ranks_on_host);

/// Neighbours in a ring (or chain) on one host, then in one subnet: hosts depth first (Lowekamp and Beguelin 1995, §4.3
/// and §6.2).
RankOrder ring_order(const Network& network, const std::vector<int>& ranks_on_host);

/// Neighbours in a Cartesian grid, ranks row by row (last dimension fastest, as MPI numbers them): the grid is cut in
/// two where fewest neighbours are parted, for the two halves of the network, and so on down to the hosts. Throws
/// InputError where dims do not multiply to the number of ranks.
RankOrder cartesian_order(const Network& network, const std::vector<int>& ranks_on_host, const std::vector<int>& dims);

/// For ranks that are already placed: which of them takes each place of an order of the same hosts.
std::vector<int> ranks_in_order(const std::vector<int>& host_of_rank, const RankOrder& order);

/// Between hosts that nobody measured: Ethernet of 1 Gbit/s.
inline constexpr Link unmeasured_between{50e-6, 1.2e8};

/// The hosts of these ranks as one switch, for when nothing was measured. `names`: of the host of each rank.
Network network_of(const std::vector<std::string>& names, Link link = unmeasured_between);

/// The host of each rank by its name, or by what stands before the first dot where that is unique. Throws InputError:
/// hosts that the network lacks.
std::vector<int> find_hosts(const std::vector<std::string>& names, const Network& network);

}  // namespace tessera::machine
