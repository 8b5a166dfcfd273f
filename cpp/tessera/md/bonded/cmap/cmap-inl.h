// Contains the body of CMAP corrections; cmap.cpp includes it once for each instruction set.
#include "tessera/md/bonded/cmap/cmap.h"
#include "tessera/md/bonded/dihedral/dihedral-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::bonded {
namespace HWY_NAMESPACE {

template <bool with_energy>
void AddCmapsLoop(const Atoms& atoms, const TermList<8>& terms, std::int64_t begin, std::int64_t end,
                  std::span<const CmapTable> tables, Accumulator& accumulator) {
  const Places places(atoms.box, atoms.position);
  ForBatches(terms, begin, end, [&](const Batch<8>& batch) HWY_ATTR {
    const DihedralAngle phi(places, batch, 0), psi(places, batch, 4);
    // Each lane reads another square of another table, so the lanes are done one after the other.
    const D d;
    alignas(64) double angle_phi[lanes], angle_psi[lanes], slope_phi[lanes], slope_psi[lanes], energy[lanes];
    hn::Store(phi.angle(), d, angle_phi);
    hn::Store(psi.angle(), d, angle_psi);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const auto& table = tables[static_cast<std::size_t>(batch.rows[lane])];
      const CmapTable::Value u = table.evaluate(angle_phi[lane], angle_psi[lane]);
      energy[lane] = u.energy;
      slope_phi[lane] = u.slope_phi;
      slope_psi[lane] = u.slope_psi;
    }
    TermVirial virial;
    phi.add<with_energy>(accumulator, batch, hn::Load(d, slope_phi), virial);
    psi.add<with_energy>(accumulator, batch, hn::Load(d, slope_psi), virial);
    if constexpr (with_energy) {
      AddEnergy(*accumulator.energies, Term::cmap, hn::Load(d, energy), batch.count);
      AddVirial(*accumulator.energies, virial, batch.count);
    }
  });
}

void AddCmaps(const Atoms& atoms, const TermList<8>& terms, std::int64_t begin, std::int64_t end,
              std::span<const CmapTable> tables, Accumulator& accumulator) {
  const auto loop = accumulator.energies ? AddCmapsLoop<true> : AddCmapsLoop<false>;
  loop(atoms, terms, begin, end, tables, accumulator);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::bonded
HWY_AFTER_NAMESPACE();
