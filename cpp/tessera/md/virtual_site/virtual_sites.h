// Places a rank's virtual sites and gives the forces on them to their parents, on all threads. A site and its parents
// are owned by one rank, so nothing is communicated. Positions depend only on the integer positions of the parents and
// on the box; forces on parents are rounded to integers, and their sum is the force on the site to the bit.
#pragma once

#include <cstdint>
#include <span>

#include "tessera/base/box.h"
#include "tessera/base/threads.h"
#include "tessera/md/accumulator.h"
#include "tessera/md/virtual_site/site_list.h"

namespace tessera::md::virtual_site {

/// Moves all sites to where they belong. Returns the lowest slot of a site whose direction is undetermined, or −1.
std::int32_t place_all(std::span<const SiteList> lists, const Box& box, std::span<Fraction> position,
                       ThreadPool& threads);

/// Moves the forces on sites, (3·slots) in units of force_unit, to their parents. `virial`, of each thread or empty,
/// gets the change of Σ r⊗F that this makes.
void spread_all(std::span<const SiteList> lists, const Box& box, std::span<const Fraction> position,
                std::span<std::int64_t> force, std::span<EnergyVirial> virial, ThreadPool& threads);

}  // namespace tessera::md::virtual_site
