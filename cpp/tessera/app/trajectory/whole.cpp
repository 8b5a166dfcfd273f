#include "tessera/app/trajectory/whole.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tessera::app {

BondTree make_bond_tree(const model::Template& molecule) {
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::vector<std::vector<std::int32_t>> bonded(at(molecule.n_atoms()));
  model::for_each_kind_of_bond([&](auto kind) {
    for (const auto& [i, j] : molecule.terms[kind].atoms) {
      if (!molecule.has(i) || !molecule.has(j)) continue;
      bonded[at(i)].push_back(j);
      bonded[at(j)].push_back(i);
    }
  });
  // A rigid water may list no bonds; its group holds it together.
  for (std::size_t i = 0; i < molecule.group.size(); ++i)
    if (molecule.group[i] != static_cast<std::int32_t>(i)) {
      bonded[i].push_back(molecule.group[i]);
      bonded[at(molecule.group[i])].push_back(static_cast<std::int32_t>(i));
    }
  BondTree tree;
  std::vector<bool> placed(bonded.size(), false);
  for (std::int32_t root = 0; root < static_cast<std::int32_t>(bonded.size()); ++root) {
    if (placed[at(root)]) continue;
    std::size_t next = tree.order.size();
    ++tree.n_fragments;
    placed[at(root)] = true;
    tree.order.push_back(root);
    // A fragment that no bond joins to the rest stands where it is nearest to the molecule's first atom.
    tree.parent.push_back(root == 0 ? 0 : tree.order.front());
    for (; next < tree.order.size(); ++next)
      for (const auto other : bonded[at(tree.order[next])])
        if (!placed[at(other)]) {
          placed[at(other)] = true;
          tree.order.push_back(other);
          tree.parent.push_back(tree.order[next]);
        }
  }
  return tree;
}

std::optional<std::array<std::int64_t, 2>> find_link(const model::Template& before, const model::Template& unit) {
  std::optional<std::array<std::int64_t, 2>> found;
  const auto look = [&](const model::Template& molecule, std::int64_t first) {
    model::for_each_kind_of_bond([&](auto kind) {
      for (const auto& [i, j] : molecule.terms[kind].atoms) {
        const auto low = first + std::min(i, j), high = first + std::max(i, j);
        if (!found && low < 0 && low >= -before.n_atoms() && unit.has(high)) found = {low, high};
      }
    });
  };
  look(before, -before.n_atoms());
  look(unit, 0);
  return found;
}

bool is_strung(const model::System& system, const model::Chain& chain) {
  std::set<std::int32_t> units;
  std::set<std::pair<std::int32_t, std::int32_t>> neighbours;
  for (auto r = chain.first_run; r < chain.first_run + chain.n_runs; ++r) {
    const auto& run = system.instances()[static_cast<std::size_t>(r)];
    if (r > chain.first_run)
      neighbours.emplace(system.instances()[static_cast<std::size_t>(r) - 1].molecule, run.molecule);
    if (run.count > 1) neighbours.emplace(run.molecule, run.molecule);
    units.insert(run.molecule);
  }
  const auto& templates = system.templates;
  return std::all_of(units.begin(), units.end(),
                     [&](std::int32_t unit) {
                       return make_bond_tree(templates[static_cast<std::size_t>(unit)]).n_fragments == 1;
                     }) &&
         std::all_of(neighbours.begin(), neighbours.end(), [&](const auto& two) {
           return find_link(templates[static_cast<std::size_t>(two.first)],
                            templates[static_cast<std::size_t>(two.second)])
               .has_value();
         });
}

}  // namespace tessera::app
