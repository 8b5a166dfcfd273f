// Lists a rank's atoms by the constraints that join them. All groups of one kind are side by side, so that vectors hold
// one group per lane. Every atom is in one group; a free one is a group without constraints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/md/constraint/settle.h"
#include "tessera/md/constraint/shake.h"

namespace tessera::md::constraint {

struct GroupKind {
  ConstraintGroup group;
  std::optional<SettleParameters> settle;  // of a rigid water; `group` has its three constraints too

  friend bool operator==(const GroupKind&, const GroupKind&) = default;
};

struct GroupList {
  GroupKind kind;
  std::vector<std::int32_t> slots;  // (n, kind.group.n_atoms)

  std::size_t size() const { return slots.size() / static_cast<std::size_t>(kind.group.n_atoms); }
};

}  // namespace tessera::md::constraint
