// The kernel's body, included once for each instruction set by cluster_kernel.cpp.
#include "tessera/base/fixed_point.h"
#include "tessera/md/pair/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

constexpr std::size_t at_once = registers == 1 ? 2 : 1;  // entries

/// One i-cluster's registers.
struct ICluster {
  HWY_ALIGN float x[16], y[16], z[16], q[16], sigma[16], epsilon[16];

  void Load(const ClusterData& c) {
    for (std::size_t k = 0; k < 16; ++k) {
      x[k] = c.x[k / 4];
      y[k] = c.y[k / 4];
      z[k] = c.z[k / 4];
      q[k] = c.q[k / 4];
      sigma[k] = c.sigma[k / 4];
      epsilon[k] = c.epsilon[k / 4];
    }
  }
};

/// Sums of one segment in floating point.
struct SegmentSums {
  V fx[registers], fy[registers], fz[registers];
  V lj, real, xx, yy, zz, xy, xz, yz;

  HWY_INLINE void ClearForces() {
    for (std::size_t r = 0; r < registers; ++r) fx[r] = fy[r] = fz[r] = hn::Zero(D());
  }
  HWY_INLINE void ClearEnergies() { lj = real = xx = yy = zz = xy = xz = yz = hn::Zero(D()); }
};

HWY_INLINE double SumInDouble(V v) {
  HWY_ALIGN float lane[lanes];
  hn::Store(v, D(), lane);
  double sum = 0;
  for (std::size_t i = 0; i < lanes; ++i) sum += lane[i];
  return sum;
}

/// 12A and 6B of all 16 pairs from the table of types.
struct TableLookup {
  HWY_ALIGN float a12[16], b6[16];

  void Load(const KernelConstants& k, const std::int32_t* type_i, const std::int32_t* type_j) {
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) {
        const bool padded = type_i[i] < 0 || type_j[j] < 0;
        const auto at = padded ? 0
                               : static_cast<std::size_t>(type_i[i]) * static_cast<std::size_t>(k.n_types) +
                                     static_cast<std::size_t>(type_j[j]);
        a12[4 * i + j] = padded ? 0 : k.table_12a[at];
        b6[4 * i + j] = padded ? 0 : k.table_6b[at];
      }
  }
};

/// A cluster pair's mask.
HWY_INLINE MaskPack<registers> LoadMask(std::uint16_t bits) {
  MaskPack<registers> mask;
  for (std::size_t r = 0; r < registers; ++r) {
    const auto shifted = static_cast<std::uint16_t>(bits >> (r * lanes));
    HWY_ALIGN std::uint8_t bytes[8] = {static_cast<std::uint8_t>(shifted), static_cast<std::uint8_t>(shifted >> 8)};
    mask.part[r] = hn::LoadMaskBits(D(), bytes);
  }
  return mask;
}

/// What an i-cluster brings to each of several entries.
template <std::size_t entries>
HWY_INLINE Pack<entries * registers> OfI(const float* values) {
  Pack<entries * registers> pack;
  for (std::size_t n = 0; n < entries * registers; ++n) pack.part[n] = hn::Load(D(), values + n % registers * lanes);
  return pack;
}

/// What the j-clusters of several entries bring.
template <std::size_t entries>
HWY_INLINE Pack<entries * registers> OfJ(const ClusterData* const* clusters, const float (ClusterData::*values)[4]) {
  Pack<entries * registers> pack;
  for (std::size_t n = 0; n < entries * registers; ++n)
    pack.part[n] = hn::LoadDup128(D(), clusters[n / registers]->*values);
  return pack;
}

/// Subtracts from a j-cluster's forces the sums over i-atoms, rounded.
template <class W>  // a template, so that only the branch of this width is compiled
HWY_INLINE void SubtractJForces(const W* fx, const W* fy, const W* fz, std::int32_t* fj) {
  if constexpr (lanes == 16) {
    // Blocks of four lanes are i-atoms. All three sums end in one register: x, z, y and z again.
    const D d;
    const DI di;
    const W xy = hn::Add(hn::ConcatLowerLower(d, *fy, *fx), hn::ConcatUpperUpper(d, *fy, *fx));
    const W zz = hn::Add(*fz, hn::ConcatLowerUpper(d, *fz, *fz));
    const W sum = hn::Add(hn::OddEvenBlocks(zz, xy), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(xy, zz)));
    hn::Store(hn::Sub(hn::Load(di, fj), hn::NearestInt(sum)), di, fj);
  } else {
    const DI4 di4;
    const W* all[] = {fx, fz, fy};  // in the order of force_offset
    for (const W* f : all) {
      V4 sum = SumBlocks(f[0]);
      for (std::size_t r = 1; r < registers; ++r) sum = hn::Add(sum, SumBlocks(f[r]));
      hn::Store(hn::Sub(hn::Load(di4, fj), hn::NearestInt(sum)), di4, fj);
      fj += 4;
    }
  }
}

/// All 16 pairs of each of some entries; false, with nothing added, where two atoms are so close that the sums'
/// integers might overflow. A masked entry comes alone.
template <class Choice, std::size_t entries, bool Masked, bool WithEnergy>
[[nodiscard]] HWY_INLINE bool AddEntries(const KernelConstants& k, const ICluster& ci, const V* xi, const V* yi,
                                         const V* zi, const ClusterData* clusters, const std::int32_t* j_clusters,
                                         const MaskedEntry* entry, const TableLookup* table, ClusterForces* force_of,
                                         SegmentSums& sums) {
  static_assert(entries == 1 || !Masked);
  constexpr std::size_t n = entries * registers;
  using P = Pack<n>;
  const D d;
  const ClusterData* cj[entries];
  for (std::size_t e = 0; e < entries; ++e) cj[e] = clusters + j_clusters[e];
  P x, y, z;
  for (std::size_t p = 0; p < n; ++p) {
    x.part[p] = xi[p % registers];
    y.part[p] = yi[p % registers];
    z.part[p] = zi[p % registers];
  }
  const P dx = Sub(x, OfJ<entries>(cj, &ClusterData::x)), dy = Sub(y, OfJ<entries>(cj, &ClusterData::y)),
          dz = Sub(z, OfJ<entries>(cj, &ClusterData::z));
  const P distance2 = MulAdd(dx, dx, MulAdd(dy, dy, Mul(dz, dz)));
  auto active = Lt(distance2, set(k.cutoff2));  // pairs that feel anything
  const P r2 = Max(distance2, set(1e-4f));      // atoms on top of each other: finite, and huge
  const P inverse = InverseSqrt(r2), inverse2 = Mul(inverse, inverse);
  const P qq = Mul(OfI<entries>(ci.q), OfJ<entries>(cj, &ClusterData::q));

  P dispersion, repulsion;
  {
    const P si = OfI<entries>(ci.sigma), sj = OfJ<entries>(cj, &ClusterData::sigma);
    const P sigma = ChosenRule<Choice>(k) == KernelRule::lorentz_berthelot ? Add(si, sj) : Mul(si, sj);
    const P s1 = Mul(sigma, inverse), s2 = Mul(s1, s1), s6 = Mul(Mul(s2, s2), s2);
    dispersion = Mul(Mul(OfI<entries>(ci.epsilon), OfJ<entries>(cj, &ClusterData::epsilon)), s6);
    repulsion = Mul(Add(dispersion, dispersion), s6);
  }
  if constexpr (Masked) {
    if (entry->by_table) {
      const P inverse6 = Mul(Mul(inverse2, inverse2), inverse2);
      dispersion = Mul(OfI<entries>(table->b6), inverse6);
      repulsion = Mul(OfI<entries>(table->a12), Mul(inverse6, inverse6));
    }
  }
  const auto lj = LennardJones<Choice, WithEnergy>(k, repulsion, dispersion, r2, inverse, inverse2);
  P direct = lj.force_over_r, potential = hn::Zero(d), smooth = hn::Zero(d);  // in full; what the mesh already has
  auto interact = active;
  if constexpr (Masked) interact = And(active, LoadMask(entry->interact));
  if (ChosenCoulomb<Choice>(k) == Electrostatics::pme) {
    // (1/r³ − correction) for pairs that interact, the correction alone for excluded ones
    const P t = MulAdd(r2, set(k.ewald_scale), set(-1.0f));
    direct = MulAdd(qq, Mul(inverse, inverse2), direct);
    smooth = Mul(qq, Evaluate<Choice::ewald_degree>(k.ewald_force, t));
    if constexpr (Masked) {
      active = And(active, Or(interact, LoadMask(entry->excluded)));
      direct = IfThenElseZero(interact, direct);
    }
    if constexpr (WithEnergy) potential = Sub(inverse, Evaluate<ewald_degree_high>(k.ewald_energy, t));
  } else {
    const auto plain = PlainCoulomb<WithEnergy>(k, r2, inverse, inverse2);
    direct = MulAdd(qq, plain.force_over_r, direct);
    potential = plain.energy;
    active = interact;
  }
  const P force = IfThenElseZero(active, Sub(direct, smooth));
  const P size = Abs(force);
  V greatest = size.part[0];
  for (std::size_t p = 1; p < n; ++p) greatest = hn::Max(greatest, size.part[p]);
  if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Lt(greatest, set(clash_force_over_r))))) return false;

  const P fx = Mul(force, dx), fy = Mul(force, dy), fz = Mul(force, dz);
  for (std::size_t p = 0; p < n; ++p) {
    sums.fx[p % registers] = hn::Add(sums.fx[p % registers], fx.part[p]);
    sums.fy[p % registers] = hn::Add(sums.fy[p % registers], fy.part[p]);
    sums.fz[p % registers] = hn::Add(sums.fz[p % registers], fz.part[p]);
  }
  HWY_UNROLL(2)
  for (std::size_t e = 0; e < entries; ++e)
    SubtractJForces(fx.part + e * registers, fy.part + e * registers, fz.part + e * registers,
                    force_of[j_clusters[e]].value);
  if constexpr (WithEnergy) {
    const P lj_energy = IfThenElseZero(interact, lj.energy), real = IfThenElseZero(interact, Mul(qq, potential));
    for (std::size_t p = 0; p < n; ++p) {
      sums.lj = hn::Add(sums.lj, lj_energy.part[p]);
      sums.real = hn::Add(sums.real, real.part[p]);
      sums.xx = hn::MulAdd(dx.part[p], fx.part[p], sums.xx);
      sums.yy = hn::MulAdd(dy.part[p], fy.part[p], sums.yy);
      sums.zz = hn::MulAdd(dz.part[p], fz.part[p], sums.zz);
      sums.xy = hn::MulAdd(dx.part[p], fy.part[p], sums.xy);
      sums.xz = hn::MulAdd(dx.part[p], fz.part[p], sums.xz);
      sums.yz = hn::MulAdd(dy.part[p], fz.part[p], sums.yz);
    }
  }
  return true;
}

HWY_INLINE void AddEnergies(const SegmentSums& sums, EnergyVirial& energies) {
  const double unit = pair_force_unit;
  energies.add(Term::lj, SumInDouble(sums.lj) * unit);
  energies.add(Term::coulomb_real, SumInDouble(sums.real) * unit);
  const V* virial[6] = {&sums.xx, &sums.yy, &sums.zz, &sums.xy, &sums.xz, &sums.yz};
  for (std::size_t i = 0; i < 6; ++i)
    add_fixed(energies.virial[i], to_fixed(SumInDouble(*virial[i]) * unit, energy_unit));
}

template <class Choice, bool WithEnergy>
void RunLoop(const KernelConstants& k, const PairList& list, const PairListPart& part, std::int32_t begin,
             std::int32_t end, const ClusterData* clusters, const std::int32_t* type, ClusterForces* force,
             EnergyVirial* energies, std::vector<Clash>& clashes) {
  const D d;
  const DI di;
  ICluster ci;
  SegmentSums sums;
  VI ix[registers], iy[registers], iz[registers];
  std::int32_t current = -1;
  const auto store_i_forces = [&] {
    if (current < 0) return;
    HWY_ALIGN std::int32_t lane[3][16];
    for (std::size_t r = 0; r < registers; ++r) {
      hn::Store(ix[r], di, lane[0] + r * lanes);
      hn::Store(iy[r], di, lane[1] + r * lanes);
      hn::Store(iz[r], di, lane[2] + r * lanes);
    }
    auto& fi = force[current].value;
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t i = 0; i < 4; ++i) {
        auto& total = fi[force_offset[c] + i];
        std::uint32_t sum = static_cast<std::uint32_t>(total);
        for (std::size_t j = 0; j < 4; ++j) sum += static_cast<std::uint32_t>(lane[c][4 * i + j]);
        total = static_cast<std::int32_t>(sum);
      }
  };
  TableLookup table;
  for (std::int32_t s = begin; s < end; ++s) {
    const Segment& segment = part.segments[static_cast<std::size_t>(s)];
    if (segment.i_cluster != current) {
      store_i_forces();
      current = segment.i_cluster;
      ci.Load(clusters[current]);
      for (std::size_t r = 0; r < registers; ++r) ix[r] = iy[r] = iz[r] = hn::Zero(di);
    }
    const auto& shift = list.shifts[static_cast<std::size_t>(segment.shift)];
    V xi[registers], yi[registers], zi[registers];
    for (std::size_t r = 0; r < registers; ++r) {
      xi[r] = hn::Sub(hn::Load(d, ci.x + r * lanes), set(shift[0]));
      yi[r] = hn::Sub(hn::Load(d, ci.y + r * lanes), set(shift[1]));
      zi[r] = hn::Sub(hn::Load(d, ci.z + r * lanes), set(shift[2]));
    }
    sums.ClearForces();
    if constexpr (WithEnergy) sums.ClearEnergies();
    for (const MaskedEntry& entry : part.masked_of(s)) {
      if (entry.by_table)
        table.Load(k, type + 4 * static_cast<std::ptrdiff_t>(current),
                   type + 4 * static_cast<std::ptrdiff_t>(entry.j_cluster));
      if (!AddEntries<Choice, 1, true, WithEnergy>(k, ci, xi, yi, zi, clusters, &entry.j_cluster, &entry, &table, force,
                                                   sums))
        clashes.push_back({segment.i_cluster, segment.shift, entry});
    }
    const auto plain = part.plain_of(s);
    for (std::size_t e = 0, alone_until = 0; e < plain.size();) {  // alone: after a clash among several
      if (at_once > 1 && e >= alone_until && e + at_once <= plain.size()) {
        if (AddEntries<Choice, at_once, false, WithEnergy>(k, ci, xi, yi, zi, clusters, &plain[e], nullptr, nullptr,
                                                           force, sums)) {
          e += at_once;
          continue;
        }
        alone_until = e + at_once;
      }
      if (!AddEntries<Choice, 1, false, WithEnergy>(k, ci, xi, yi, zi, clusters, &plain[e], nullptr, nullptr, force,
                                                    sums))
        clashes.push_back({segment.i_cluster, segment.shift, {plain[e], 0xFFFF, 0, false}});
      ++e;
    }
    for (std::size_t r = 0; r < registers; ++r) {
      ix[r] = hn::Add(ix[r], hn::NearestInt(sums.fx[r]));
      iy[r] = hn::Add(iy[r], hn::NearestInt(sums.fy[r]));
      iz[r] = hn::Add(iz[r], hn::NearestInt(sums.fz[r]));
    }
    if constexpr (WithEnergy) AddEnergies(sums, *energies);
  }
  store_i_forces();
}

void RunSegments(const KernelConstants& k, const PairList& list, const PairListPart& part, std::int32_t begin,
                 std::int32_t end, const ClusterData* clusters, const std::int32_t* type, ClusterForces* force,
                 EnergyVirial* energies, std::vector<Clash>& clashes) {
  [[maybe_unused]] const FlushDenormals flush;
  const auto run = [&](auto loop) { loop(k, list, part, begin, end, clusters, type, force, energies, clashes); };
  // Energies are rare, so one loop serves them all; its forces are the same bits, being the same operations.
  if (energies != nullptr) return run(RunLoop<Runtime, true>);
  const bool common =
      k.electrostatics == Electrostatics::pme && k.rule == KernelRule::lorentz_berthelot && !k.needs_high_degree;
  if (common && k.lj == LjModifier::force_switch) return run(RunLoop<Fixed<LjModifier::force_switch>, false>);
  if (common && k.lj == LjModifier::potential_switch) return run(RunLoop<Fixed<LjModifier::potential_switch>, false>);
  if (common && k.lj == LjModifier::cut) return run(RunLoop<Fixed<LjModifier::cut>, false>);
  run(RunLoop<Runtime, false>);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pair
HWY_AFTER_NAMESPACE();
