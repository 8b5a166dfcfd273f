// Contains the body of CMAP corrections; cmap.cpp includes it once for each instruction set, and the kernel of a device.
#include "tessera/md/bonded/cmap/cmap.h"
#include "tessera/md/bonded/dihedral/dihedral-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::bonded {
namespace HWY_NAMESPACE {

struct CmapValues {
  V energy, slope_phi, slope_psi;
};

/// Returns the values of a term in each lane. Each lane reads another square of another table, so that the lanes of
/// processors are done one after the other.
template <class Table>
HWY_INLINE CmapValues EvaluateCmaps(std::span<const Table> tables, const Batch<8>& batch, V phi, V psi) {
#ifdef __CUDA_ARCH__
  const auto u = tables.data()[batch.rows.raw].evaluate(phi.raw, psi.raw);
  return {{u.energy}, {u.slope_phi}, {u.slope_psi}};
#else
  const D d;
  alignas(64) double angle_phi[lanes], angle_psi[lanes], slope_phi[lanes], slope_psi[lanes], energy[lanes];
  hn::StoreU(phi, d, angle_phi);
  hn::StoreU(psi, d, angle_psi);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const auto u = tables.data()[RowOf(batch, lane)].evaluate(angle_phi[lane], angle_psi[lane]);
    energy[lane] = u.energy;
    slope_phi[lane] = u.slope_phi;
    slope_psi[lane] = u.slope_psi;
  }
  return {hn::LoadU(d, energy), hn::LoadU(d, slope_phi), hn::LoadU(d, slope_psi)};
#endif
}

template <bool with_energy, class Table>
TESSERA_LOOP void AddCmapsLoop(const Atoms& atoms, const TermList<8>& terms, std::int64_t begin, std::int64_t end,
                               std::span<const Table> tables, Accumulator& accumulator) {
  const Places places(atoms.box, atoms.position);
  ForBatches(terms, begin, end, [&](const Batch<8>& batch) HWY_ATTR {
    const DihedralAngle phi(places, batch, 0), psi(places, batch, 4);
    const auto u = EvaluateCmaps(tables, batch, phi.angle(), psi.angle());
    TermVirial virial;
    phi.template add<with_energy>(accumulator, batch, u.slope_phi, virial);
    psi.template add<with_energy>(accumulator, batch, u.slope_psi, virial);
    if constexpr (with_energy) {
      AddEnergy(*accumulator.energies, Term::cmap, u.energy, batch.count);
      AddVirial(*accumulator.energies, virial, batch.count);
    }
  });
}

#ifndef TESSERA_LANE
void AddCmaps(const Atoms& atoms, const TermList<8>& terms, std::int64_t begin, std::int64_t end,
              std::span<const CmapTable> tables, Accumulator& accumulator) {
  const auto loop = accumulator.energies ? AddCmapsLoop<true, CmapTable> : AddCmapsLoop<false, CmapTable>;
  loop(atoms, terms, begin, end, tables, accumulator);
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::bonded
HWY_AFTER_NAMESPACE();
