// Lists a rank's virtual sites with their parents. Sites that share a hydrogen group are listed together, so that no
// two threads add to the force on one parent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
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

/// Tells how far an atom of a hydrogen group may be from the group's key atom.
struct Reach {
  double distance = 0;  // Å
  std::string of;       // the virtual site whose group it is: "BENX LPA"
};

/// Returns the greatest reach of the groups with virtual sites: along bonds at their lengths and across stiff angles at
/// theirs, and for sites the greatest distance that their formula allows. Throws InputError that names a site where
/// that is more than a few Å, or where no bonds join its parents.
Reach site_group_reach(const model::System& system);

}  // namespace tessera::md::virtual_site
