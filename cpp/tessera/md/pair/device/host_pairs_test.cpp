#include "tessera/md/pair/device/host_pairs.h"

#include <cstddef>

#include "tessera/base/error.h"
#include "tessera/base/simd/lane/target.h"
//
#include "tessera/md/pair/device/pair_kernel-inl.h"

namespace tessera::md::pair::test {

namespace {

constexpr std::int32_t most_clashes = 1000;

template <class Kernel>
void launch(const typename Kernel::Arguments& arguments, std::int32_t n_warps, std::uint64_t seed) {
  constexpr auto warps = Kernel::warps_of_block;
  N_LANE::simd::RunOnHost<Kernel>(arguments, (n_warps + warps - 1) / warps, seed);
}

}  // namespace

void add_pairs_on_host(const PairData& data, const PairList& list, std::uint64_t seed, Accumulator& accumulator,
                       std::vector<Clash>& clashes) {
  using N_LANE::Beside;
  const auto device_list = make_device_list(list);
  const auto& clusters = data.clusters;
  std::vector<ClusterForces> force(clusters.size());
  std::vector<std::int64_t> cell_force(3 * n_neighbour_cells), cell_place;
  for (const auto& v : half_shell_vectors(data.domain))
    for (const double coordinate : {v.x, v.y, v.z}) cell_place.push_back(SingleSumVirial::to_place(coordinate));
  DeviceEnergy energy[2] = {};
  std::vector<DeviceClash> found(most_clashes);
  std::int32_t n_clashes = 0;
  const PairArguments arguments{
      .constants = data.constants.constants,
      .rows = device_list.rows.data(),
      .n_rows = static_cast<std::int32_t>(device_list.n_rows()),
      .masked = device_list.masked.data(),
      .plain = device_list.plain.data(),
      .shifts = list.shifts[0].data(),
      .clusters = clusters.data(),
      .type = data.type.data(),
      .sums = {force.data(), cell_force.data(), energy, found.data(), &n_clashes, most_clashes},
  };
  const auto beside = accumulator.energies == nullptr    ? Beside::nothing
                      : accumulator.sums_pair_energies() ? Beside::energies
                                                         : Beside::virial;
  N_LANE::ForPairKernel(arguments.constants, beside,
                        [&]<class Kernel>() { launch<Kernel>(arguments, arguments.n_rows, seed); });
  TESSERA_CHECK(n_clashes <= most_clashes);
  for (std::int32_t c = 0; c < n_clashes; ++c) {
    const auto& [i_cluster, entry] = found[static_cast<std::size_t>(c)];
    clashes.push_back({i_cluster,
                       {entry.j, static_cast<std::uint16_t>(entry.masks & 0xFFFF),
                        static_cast<std::uint16_t>(entry.masks >> 16), false}});
  }

  EnergyVirial sums;
  const ForceArguments of_atoms{
      .n_clusters = static_cast<std::int32_t>(clusters.size()),
      .clusters = clusters.data(),
      .force = force.data(),
      .total = accumulator.total.data(),
      .cell_place = cell_place.data(),
      .cell_force = cell_force.data(),
      .virial = sums.virial.data(),
      .virial_remainder = sums.virial_remainder.data(),
  };
  const auto n_warps = (cluster_size * of_atoms.n_clusters + 31) / 32 + 1;
  if (accumulator.energies == nullptr) return launch<N_LANE::ForceKernel<false>>(of_atoms, n_warps, seed);
  launch<N_LANE::ForceKernel<true>>(of_atoms, n_warps, seed);
  const Term terms[] = {Term::lj, Term::coulomb_real};
  for (std::size_t i = 0; i < std::size(terms); ++i) {
    const auto term = static_cast<std::size_t>(terms[i]);
    sums.energy[term] = energy[i].sum;
    sums.energy_of_clashes[term] = energy[i].of_clashes;
  }
  accumulator.energies->merge(sums);
}

}  // namespace tessera::md::pair::test
