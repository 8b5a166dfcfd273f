// Lists a rank's virtual sites with their parents. Sites that share a hydrogen group are listed together, so that no
// two threads add to the force on one parent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/model/system.h"

namespace tessera::md::virtual_site {

/// The virtual sites of one hydrogen group of a template. Indices of sites and parents refer to `atoms`.
struct SiteGroup {
  std::vector<std::int32_t> atoms;        // template indices: parents, then sites
  std::vector<model::VirtualSite> sites;  // whose indices are those of `atoms`
};

struct SiteList {
  SiteGroup kind;
  std::vector<std::int32_t> slots;  // (n, kind.atoms)

  std::size_t size() const { return slots.size() / kind.atoms.size(); }
};

/// Returns the groups of a template that have virtual sites.
std::vector<SiteGroup> site_groups(const model::Template& molecule);

/// Returns how far an atom of a hydrogen group with virtual sites may be from the group's key atom, Å: along bonds at
/// their lengths, and for sites the greatest distance that their formula allows. Throws InputError that names a site
/// where that is more than a few Å, or where no bonds join its parents.
double site_group_radius(const model::System& system);

}  // namespace tessera::md::virtual_site
