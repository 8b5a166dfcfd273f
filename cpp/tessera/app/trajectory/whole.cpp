#include "tessera/app/trajectory/whole.h"

namespace tessera::app {

BondTree make_bond_tree(const model::Template& molecule) {
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::vector<std::vector<std::int32_t>> bonded(at(molecule.n_atoms()));
  model::for_each_kind_of_bond([&](auto kind) {
    for (const auto& [i, j] : molecule.terms[kind].atoms) {
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

}  // namespace tessera::app
