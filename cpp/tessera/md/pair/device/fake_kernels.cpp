// Kernels of pairs for the driver of tests (fake_driver.cpp), which a host runs. Those that are compiled for a
// Lennard-Jones modifier do the same operations as those that read it, which stand for them here.
#include <cstdint>
#include <string>

#include "tessera/base/simd/lane/target.h"
//
#include "tessera/device/fake_driver.h"
#include "tessera/md/pair/device/coordinates_kernel-inl.h"
#include "tessera/md/pair/device/exclusion_kernel-inl.h"
#include "tessera/md/pair/device/list_kernel-inl.h"
#include "tessera/md/pair/device/reach_kernel-inl.h"
#include "tessera/md/pair/device/sorted_kernel-inl.h"

namespace tessera::md::pair::N_LANE {

namespace {

using device::fake::Registered;

template <class Choice>
void add_pairs(const std::string& name) {
  Registered(name.c_str(), simd::RunAsFake<PairKernel<Choice, Beside::nothing>>);
  Registered((name + "_virial").c_str(), simd::RunAsFake<PairKernel<Choice, Beside::virial>>);
  Registered((name + "_energies").c_str(), simd::RunAsFake<PairKernel<Choice, Beside::energies>>);
}

const bool are_added = [] {
  const std::string pairs = "tessera_pairs";
  for (const char* modifier : {"", "_cut", "_force_switch", "_potential_switch"})
    for (const char* cutoffs : {"", "_two_cutoffs"}) add_pairs<Runtime>(pairs + modifier + cutoffs);
  add_pairs<WithLookup<Runtime, Lookup::some>>(pairs + "_some_lookup");
  add_pairs<WithLookup<Runtime, Lookup::all>>(pairs + "_all_lookup");
  Registered("tessera_pair_coordinates", simd::RunAsFake<CoordinateKernel>);
  Registered("tessera_pair_reach", simd::RunAsFake<ReachKernel>);
  Registered("tessera_pair_list", simd::RunAsFake<ListKernel>);
  Registered("tessera_pair_clusters", simd::RunAsFake<ClusterKernel>);
  Registered("tessera_pair_partners", simd::RunAsFake<PartnerKernel>);
  Registered("tessera_pair_masks", simd::RunAsFake<MaskKernel>);
  Registered("tessera_pair_exclusions", simd::RunAsFake<ExclusionKernel>);
  Registered("tessera_pair_forces", simd::RunAsFake<ForceKernel<false>>);
  Registered("tessera_pair_forces_virial", simd::RunAsFake<ForceKernel<true>>);
  return true;
}();

}  // namespace

}  // namespace tessera::md::pair::N_LANE
