#include "tessera/md/constraint/whole_groups.h"

#include <fmt/format.h>

#include "tessera/base/error.h"
#include "tessera/base/index.h"

namespace tessera::md::constraint {

namespace {

struct Group {
  std::vector<std::int32_t> atoms;  // template indices
  std::int64_t n_constraints;
};

/// The groups of a template that have constraints, and for each atom the number of its group, or −1.
struct GroupsOfTemplate {
  std::vector<Group> groups;
  std::vector<std::int32_t> group_of;
};

GroupsOfTemplate groups_of(const model::Template& molecule, const TemplateConstraints& constraints) {
  GroupsOfTemplate found{{}, std::vector<std::int32_t>(at(molecule.n_atoms()), -1)};
  if (constraints.settle) found.groups.push_back({{0, 1, 2}, 3});
  for (const auto& [atoms, group] : constraints.groups) found.groups.push_back({atoms, group.n_constraints});
  for (std::size_t g = 0; g < found.groups.size(); ++g)
    for (const auto atom : found.groups[g].atoms) found.group_of[at(atom)] = static_cast<std::int32_t>(g);
  return found;
}

/// Throws InputError where a parent of the virtual site is not in the set.
void check_site(const model::System& system, const model::AtomSet& atoms, const std::string& key, std::int64_t id) {
  const auto [molecule, local, first_id, instance] = system.find(id);
  for (const auto& site : system.templates[at(molecule)].virtual_sites)
    for (const auto& parent : site.parents)
      if (site.atom == local && !atoms.contains(first_id + parent.atom))
        throw InputError(
            fmt::format("{} selects the virtual site {} but not {}, which it follows: select "
                        "both or neither (\"same residue as …\" selects both)",
                        key, system.describe(id), system.describe(first_id + parent.atom)));
}

}  // namespace

GroupCounts count_whole_groups(const model::System& system, const std::vector<TemplateConstraints>& constraints,
                               const model::AtomSet& atoms, const std::string& key) {
  GroupCounts counts;
  if (atoms.empty()) return counts;
  std::vector<GroupsOfTemplate> groups;
  for (std::size_t m = 0; m < system.templates.size(); ++m)
    groups.push_back(groups_of(system.templates[m], constraints[m]));
  atoms.for_each([&](std::int64_t id) {
    const auto [molecule, local, first_id, instance] = system.find(id);
    if (system.templates[at(molecule)].is_virtual_site(local)) return check_site(system, atoms, key, id);
    ++counts.n_atoms;
    const auto g = groups[at(molecule)].group_of[at(local)];
    if (g < 0) {
      ++counts.n_groups;
      return;
    }
    const auto& group = groups[at(molecule)].groups[at(g)];
    for (const auto other : group.atoms)
      if (!atoms.contains(first_id + other))
        throw InputError(
            fmt::format("{} selects {} but not {}, from which it keeps a constrained distance: select the "
                        "whole group (\"same residue as …\" does), or set dynamics.constraints = \"none\"",
                        key, system.describe(id), system.describe(first_id + other)));
    if (local != group.atoms.front()) return;
    ++counts.n_groups;
    counts.n_constraints += group.n_constraints;
  });
  return counts;
}

}  // namespace tessera::md::constraint
