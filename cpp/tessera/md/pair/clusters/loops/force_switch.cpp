#include "tessera/md/pair/clusters/cluster_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/pair/clusters/loops/force_switch.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/md/pair/clusters/loops/fixed_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

template LoopFunction* FixedLoop<LjModifier::force_switch>(bool has_two_cutoffs, bool with_cell_forces);

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pair
HWY_AFTER_NAMESPACE();
