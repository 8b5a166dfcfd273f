// Declares what the kernels of half steps read and write. All pointers are to the device's memory.
#pragma once

#include <cstdint>

#include "tessera/md/constraint/group_list.h"
#include "tessera/md/integrate/half_step.h"

namespace tessera::md::integrate {

/// The groups of one kind.
struct GroupsOnDevice {
  constraint::GroupKind kind;
  std::int32_t n;             // groups
  std::int32_t first_warp;    // that moves them; one has 32
  const std::int32_t* slots;  // (n, kind.group.n_atoms)
};

inline constexpr std::size_t most_baths = 8;  // of which a device knows

/// Describes friction and noise as FrictionAndNoise does.
struct NoiseOnDevice {
  double decay[most_baths], thermal[most_baths];
  std::uint64_t seed, step;
  const std::int64_t* id;    // by slot
  const std::int32_t* bath;  // by slot; null where there is one bath
};

/// What half steps leave beside positions and velocities.
struct MotionSums {
  std::int64_t heat;      // from friction and noise, energy_unit
  std::int32_t n_failed;  // groups that could not be moved, since it was cleared
};

/// A virial as EnergyVirial sums it.
struct GroupVirial {
  std::int64_t virial[6], of_clashes[6];
};

/// The virials that half steps sum where that is due: of the constraint forces, and within groups.
struct GroupVirials {
  GroupVirial of_constraints, within;
};

struct MotionArguments {
  HalfStep step;
  const GroupsOnDevice* lists = nullptr;
  std::int32_t n_lists = 0;
  MotionSums* sums = nullptr;
  GroupVirials* virials = nullptr;
};

struct BoxArguments : MotionArguments {
  Triangular from, to;  // the vectors of the boxes, Å per unit of Fraction
};

struct NoisyMotionArguments : MotionArguments {
  NoiseOnDevice noise;
};

/// Tells whether loops are compiled for groups of a kind, whose number of atoms and constraints the compiler then knows.
inline bool has_known_shape(const constraint::GroupKind& kind) {
  return kind.settle || (kind.group.n_atoms == kind.group.n_constraints + 1 && kind.group.n_constraints <= 3);
}

}  // namespace tessera::md::integrate
