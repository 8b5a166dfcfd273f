// Compiles the kernels of pairs for devices.
#include "tessera/base/simd/lane/target.h"
//
#include "tessera/md/pair/device/coordinates_kernel-inl.h"
#include "tessera/md/pair/device/exclusion_kernel-inl.h"
#include "tessera/md/pair/device/list_kernel-inl.h"
#include "tessera/md/pair/device/reach_kernel-inl.h"
#include "tessera/md/pair/device/sorted_kernel-inl.h"

namespace tessera::md::pair::N_LANE {

#define TESSERA_PAIRS(name, ...)                                 \
  TESSERA_KERNEL(name, PairKernel<__VA_ARGS__, Beside::nothing>) \
  TESSERA_KERNEL(name##_virial, PairKernel<__VA_ARGS__, Beside::virial>)
#define TESSERA_PAIRS_WITH_ENERGIES(name, ...) \
  TESSERA_PAIRS(name, __VA_ARGS__)             \
  TESSERA_KERNEL(name##_energies, PairKernel<__VA_ARGS__, Beside::energies>)

// Energies are rare, so that their kernels serve all settings, as those of uncommon ones do.
TESSERA_PAIRS_WITH_ENERGIES(tessera_pairs, Runtime)
TESSERA_PAIRS_WITH_ENERGIES(tessera_pairs_some_lookup, WithLookup<Runtime, Lookup::some>)
TESSERA_PAIRS_WITH_ENERGIES(tessera_pairs_all_lookup, WithLookup<Runtime, Lookup::all>)
TESSERA_PAIRS(tessera_pairs_cut, Fixed<LjModifier::cut>)
TESSERA_PAIRS(tessera_pairs_force_switch, Fixed<LjModifier::force_switch>)
TESSERA_PAIRS(tessera_pairs_potential_switch, Fixed<LjModifier::potential_switch>)
TESSERA_PAIRS(tessera_pairs_cut_two_cutoffs, Fixed<LjModifier::cut, true>)
TESSERA_PAIRS(tessera_pairs_force_switch_two_cutoffs, Fixed<LjModifier::force_switch, true>)
TESSERA_PAIRS(tessera_pairs_potential_switch_two_cutoffs, Fixed<LjModifier::potential_switch, true>)

TESSERA_KERNEL(tessera_pair_coordinates, CoordinateKernel)
TESSERA_KERNEL(tessera_pair_reach, ReachKernel)
TESSERA_KERNEL(tessera_pair_list, ListKernel)
TESSERA_KERNEL(tessera_pair_clusters, ClusterKernel)
TESSERA_KERNEL(tessera_pair_partners, PartnerKernel)
TESSERA_KERNEL(tessera_pair_masks, MaskKernel)
TESSERA_KERNEL(tessera_pair_exclusions, ExclusionKernel)
TESSERA_KERNEL(tessera_pair_forces, ForceKernel<false>)
TESSERA_KERNEL(tessera_pair_forces_virial, ForceKernel<true>)

}  // namespace tessera::md::pair::N_LANE
