// Places the ranks of a job on hosts so that ranks which communicate most are connected by the fastest links. An order
// lists the host of each rank, by index in Network::hosts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/machine/network.h"
#include "tessera/machine/wires.h"

namespace tessera::machine {

using RankOrder = std::vector<int>;

/// Returns the number of ranks on each host if n ranks fill the slots host after host in the order of the tree. Throws
/// InputError if there are fewer slots than ranks.
std::vector<int> fill_slots(const Network& network, int n_ranks);

/// Returns the wires of a job of n ranks that fills slots in this way. Throws InputError like fill_slots.
Wires wires_of_job(const Network& network, int n_ranks);

/// Names the placement of a job's ranks on hosts, so that what was tried on it can be told from what was tried on others:
/// empty where the ranks fill slots host after host, else 16 hexadecimal digits that follow from the hosts' names by
/// rank.
std::string placement_of(const Wires& wires);

/// Places ranks p/2 apart, which exchange the largest part of a vector in a hypercube sum, on one host; ranks p/4 apart
/// in one leaf subnet, and so on. If all numbers are powers of two, the order is that of Borštnik et al. (2004), §2 and
/// Table 1, along the tree; else slots of the two halves of every subnet alternate in proportion.
RankOrder hypercube_order(const Network& network, const std::vector<int>& ranks_on_host);

/// Places neighbours in a ring (or chain) on one host, then in one subnet: hosts in depth-first order (Lowekamp and
/// Beguelin 1995, §4.3 and §6.2).
RankOrder ring_order(const Network& network, const std::vector<int>& ranks_on_host);

/// Places the ranks of a Cartesian grid, numbered row by row (last dimension fastest, as in MPI). On a torus that fits,
/// it lies along the links. Else it is divided in two where the cut separates fewest neighbours, for the two halves of
/// the network, and so on down to the hosts.
/// Throws InputError if dims do not multiply to the number of ranks.
RankOrder cartesian_order(const Network& network, const std::vector<int>& ranks_on_host, const std::vector<int>& dims);

/// Returns which of the ranks that are already placed takes each place of an order of the same hosts.
std::vector<int> ranks_in_order(const std::vector<int>& host_of_rank, const RankOrder& order);
std::vector<int> ranks_in_order(const Wires& wires, const RankOrder& order);

/// Returns how many ranks of a job each host has.
std::vector<int> ranks_on_hosts(const Wires& wires);

/// Returns which ranks take the places of an order for `n_places` of them, and after these all others: whole hosts near
/// each other have the places. `order` gets the number of ranks on each host that do.
std::vector<int> ranks_in_places(const Wires& wires, int n_places,
                                 const std::function<RankOrder(const std::vector<int>& ranks_on_host)>& order);

/// Returns which rank of a job takes each place of a Cartesian grid (cartesian_order). Throws InputError if dims do not
/// multiply to the number of ranks.
std::vector<int> ranks_in_grid(const Wires& wires, const std::array<std::int64_t, 3>& dims);

/// This link is assumed between hosts that were not measured: Ethernet of 1 Gbit/s.
inline constexpr Link unmeasured_between{50e-6, 1.2e8};

/// Returns the hosts of these ranks as one switch, for when nothing was measured. `names` has the host of each rank.
Network network_of(const std::vector<std::string>& names, Link link = unmeasured_between);

/// Returns the host of each rank by its name, or by the part before the first dot if that is unique. Throws InputError
/// for hosts that the network does not have.
std::vector<int> find_hosts(const std::vector<std::string>& names, const Network& network);

}  // namespace tessera::machine
