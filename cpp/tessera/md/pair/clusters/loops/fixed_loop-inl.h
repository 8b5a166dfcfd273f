// Compiles the loop of one modifier of Lennard-Jones; sources beside it include it once for each instruction set.
#include "tessera/md/pair/clusters/cluster_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

template <LjModifier lj>
LoopFunction* FixedLoop([[maybe_unused]] bool has_two_cutoffs, [[maybe_unused]] bool with_cell_forces) {
  if constexpr (has_fixed_loops) {
    if (with_cell_forces)
      return has_two_cutoffs ? RunLoop<Fixed<lj, true>, Beside::virial> : RunLoop<Fixed<lj>, Beside::virial>;
    return has_two_cutoffs ? RunLoop<Fixed<lj, true>, Beside::nothing> : RunLoop<Fixed<lj>, Beside::nothing>;
  }
  return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pair
HWY_AFTER_NAMESPACE();
