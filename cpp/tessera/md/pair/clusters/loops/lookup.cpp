#include "tessera/md/pair/clusters/cluster_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/pair/clusters/loops/lookup.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/md/pair/clusters/cluster_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

/// Chooses the loop. The truncation is in the tables; Lennard-Jones beside them is cut in AMBER's systems, which have
/// them most often.
template <Lookup which>
LoopFunction* LookupLoop([[maybe_unused]] const KernelConstants& k, [[maybe_unused]] bool is_common,
                         bool with_cell_forces, bool with_energies) {
  using Any = WithLookup<Runtime, which>;
  using Cut = WithLookup<Fixed<LjModifier::cut>, which>;
  if (with_energies) return RunLoop<Any, Beside::energies>;
  if constexpr (has_fixed_loops) {
    const bool is_cut = which == Lookup::all || k.lj == LjModifier::cut;
    if (is_common && is_cut && !k.has_two_cutoffs)
      return with_cell_forces ? RunLoop<Cut, Beside::virial> : RunLoop<Cut, Beside::nothing>;
  }
  return with_cell_forces ? RunLoop<Any, Beside::virial> : RunLoop<Any, Beside::nothing>;
}

template LoopFunction* LookupLoop<Lookup::some>(const KernelConstants& k, bool is_common, bool with_cell_forces,
                                                bool with_energies);
template LoopFunction* LookupLoop<Lookup::all>(const KernelConstants& k, bool is_common, bool with_cell_forces,
                                               bool with_energies);

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pair
HWY_AFTER_NAMESPACE();
