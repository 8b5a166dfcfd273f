// The kernel's body, included once for each instruction set by cluster_kernel.cpp.
#include <cmath>

#include "tessera/base/fixed_point.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;
using DI = hn::RebindToSigned<D>;
using VI = hn::Vec<DI>;
using M = hn::Mask<D>;
using D4 = hn::FixedTag<float, 4>;
using V4 = hn::Vec<D4>;
using DI4 = hn::RebindToSigned<D4>;

constexpr std::size_t lanes = hn::MaxLanes(D());
constexpr std::size_t registers = 16 / lanes;

HWY_INLINE V set(float value) { return hn::Set(D(), value); }

/// 1/√v to float accuracy.
HWY_INLINE V InverseSqrt(V v) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR  // their guess has eight bits, not twelve
  const V guess = hn::ApproximateReciprocalSqrt(v);
  const V half = hn::Mul(hn::Mul(set(0.5f), v), guess);
  return hn::Mul(guess, hn::NegMulAdd(half, guess, set(1.5f)));
#else
  return hn::Div(set(1.0f), hn::Sqrt(v));
#endif
}

/// Σ cᵢtⁱ, even and odd powers in two chains. Leading zeros do not change the result.
template <int degree>
HWY_INLINE V Evaluate(const float* c, V t) {
  const V t2 = hn::Mul(t, t);
  V even = set(c[degree]), odd = set(c[degree - 1]);
  HWY_UNROLL(8)
  for (int i = degree - 2; i >= 0; i -= 2) even = hn::MulAdd(even, t2, set(c[i]));
  HWY_UNROLL(8)
  for (int i = degree - 3; i >= 1; i -= 2) odd = hn::MulAdd(odd, t2, set(c[i]));
  return hn::MulAdd(odd, t, even);
}

/// Sum over the blocks of four lanes: what each j-atom gets from all i-atoms of the register.
template <class W>  // a template, so that only the branch of this width is compiled
HWY_INLINE V4 SumBlocks(W v) {
  constexpr std::size_t width = hn::MaxLanes(hn::DFromV<W>());
  if constexpr (width == 16) {
    const hn::Half<hn::DFromV<W>> half;
    const auto eight = hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v));
    return hn::Add(hn::LowerHalf(D4(), eight), hn::UpperHalf(D4(), eight));
  } else if constexpr (width == 8) {
    return hn::Add(hn::LowerHalf(D4(), v), hn::UpperHalf(D4(), v));
  } else {
    return v;
  }
}

/// Which choices a loop is compiled for; `Runtime` reads them from the constants each time.
struct Runtime {
  static constexpr bool fixed = false;
  static constexpr int ewald_degree = ewald_degree_high;
};
template <LjModifier lj_modifier>
struct Fixed {
  static constexpr bool fixed = true;
  static constexpr int ewald_degree = pair::ewald_degree;
  static constexpr LjModifier lj = lj_modifier;
};

template <class Choice>
HWY_INLINE LjModifier ChosenLj(const KernelConstants& k) {
  if constexpr (Choice::fixed)
    return Choice::lj;
  else
    return k.lj;
}
template <class Choice>
HWY_INLINE Electrostatics ChosenCoulomb(const KernelConstants& k) {
  if constexpr (Choice::fixed)
    return Electrostatics::pme;
  else
    return k.electrostatics;
}
template <class Choice>
HWY_INLINE KernelRule ChosenRule(const KernelConstants& k) {
  if constexpr (Choice::fixed)
    return KernelRule::lorentz_berthelot;
  else
    return k.rule;
}

struct PairForce {
  V force_over_r, energy;
};

/// Lennard-Jones from the repulsion R = 12A/r¹² and dispersion P = 6B/r⁶, both in force units.
template <class Choice, bool WithEnergy>
HWY_INLINE PairForce LennardJones(const KernelConstants& k, V repulsion, V dispersion, V r2, V inverse, V inverse2) {
  const V twelfth = set(1.0f / 12), sixth = set(1.0f / 6);
  const V plain = hn::Mul(hn::Sub(repulsion, dispersion), inverse2);
  switch (ChosenLj<Choice>(k)) {
    case LjModifier::cut: {
      V energy = hn::Zero(D());
      if constexpr (WithEnergy) energy = hn::NegMulAdd(dispersion, sixth, hn::Mul(repulsion, twelfth));
      return {plain, energy};
    }
    case LjModifier::potential_switch: {
      const V u = hn::Mul(hn::Max(hn::Sub(r2, set(k.switch2)), hn::Zero(D())), set(k.switch_inverse_width));
      const V one_less = hn::Sub(set(1.0f), u);
      const V s = hn::Mul(hn::Mul(one_less, one_less), hn::MulAdd(set(2.0f), u, set(1.0f)));
      const V ds = hn::Mul(hn::Mul(hn::Mul(u, one_less), set(12.0f)), set(k.switch_inverse_width));  // −2 dS/d(r²)
      const V bare = hn::NegMulAdd(dispersion, sixth, hn::Mul(repulsion, twelfth));
      return {hn::MulAdd(s, plain, hn::Mul(ds, bare)), hn::Mul(s, bare)};
    }
    case LjModifier::force_switch: {
      const V r3 = hn::Mul(hn::Mul(r2, r2), inverse), r6 = hn::Mul(r3, r3);
      const V t12 = hn::NegMulAdd(r6, set(k.inverse_cutoff6), set(1.0f));
      const V t6 = hn::NegMulAdd(r3, set(k.inverse_cutoff3), set(1.0f));
      const M inner = hn::Le(r2, set(k.switch2));
      const V one = set(1.0f);
      const V f12 = hn::IfThenElse(inner, one, hn::Mul(set(k.k12), t12));
      const V f6 = hn::IfThenElse(inner, one, hn::Mul(set(k.k6), t6));
      const V force = hn::Mul(hn::NegMulAdd(dispersion, f6, hn::Mul(repulsion, f12)), inverse2);
      V energy = hn::Zero(D());
      if constexpr (WithEnergy) {
        const V e12 = hn::IfThenElse(inner, hn::NegMulAdd(hn::Mul(r6, r6), set(k.shift12), one), hn::Mul(f12, t12));
        const V e6 = hn::IfThenElse(inner, hn::NegMulAdd(r6, set(k.shift6), one), hn::Mul(f6, t6));
        energy = hn::Sub(hn::Mul(hn::Mul(repulsion, twelfth), e12), hn::Mul(hn::Mul(dispersion, sixth), e6));
      }
      return {force, energy};
    }
    case LjModifier::force_switch_gromacs: {
      const V r = hn::Mul(r2, inverse), t = hn::Max(hn::Sub(r, set(k.switch_distance)), hn::Zero(D()));
      const V t2 = hn::Mul(t, t), r6 = hn::Mul(hn::Mul(r2, r2), r2);
      const V a12 = hn::Mul(hn::Mul(repulsion, twelfth), hn::Mul(r6, r6)), b6 = hn::Mul(hn::Mul(dispersion, sixth), r6);
      const V p12 = hn::Mul(t2, hn::MulAdd(set(k.b12), t, set(k.a12)));
      const V p6 = hn::Mul(t2, hn::MulAdd(set(k.b6), t, set(k.a6)));
      const V force = hn::MulAdd(hn::Sub(hn::Mul(a12, p12), hn::Mul(b6, p6)), inverse, plain);
      V energy = hn::Zero(D());
      if constexpr (WithEnergy) {
        const V t3 = hn::Mul(t2, t);
        const V q12 = hn::MulAdd(t3, hn::MulAdd(set(k.b12 * 0.25f), t, set(k.a12 / 3)), set(k.c12));
        const V q6 = hn::MulAdd(t3, hn::MulAdd(set(k.b6 * 0.25f), t, set(k.a6 / 3)), set(k.c6));
        energy = hn::Sub(hn::NegMulAdd(a12, q12, hn::Mul(repulsion, twelfth)),
                         hn::NegMulAdd(b6, q6, hn::Mul(dispersion, sixth)));
      }
      return {force, energy};
    }
    case LjModifier::quintic_switch: {
      const V r = hn::Mul(r2, inverse), w = set(k.switch_inverse_width);
      const V x = hn::Mul(hn::Max(hn::Sub(r, set(k.switch_distance)), hn::Zero(D())), w);
      const V x2 = hn::Mul(x, x);
      const V s =
          hn::MulAdd(hn::Mul(x2, x), hn::MulAdd(x, hn::NegMulAdd(set(6.0f), x, set(15.0f)), set(-10.0f)), set(1.0f));
      const V ds = hn::Mul(hn::Mul(x2, hn::MulAdd(x, hn::NegMulAdd(set(30.0f), x, set(60.0f)), set(-30.0f))), w);
      const V bare = hn::NegMulAdd(dispersion, sixth, hn::Mul(repulsion, twelfth));
      return {hn::NegMulAdd(hn::Mul(ds, bare), inverse, hn::Mul(s, plain)), hn::Mul(s, bare)};
    }
  }
  return {hn::Zero(D()), hn::Zero(D())};
}

/// Coulomb of unit charge product without a mesh.
template <bool WithEnergy>
HWY_INLINE PairForce PlainCoulomb(const KernelConstants& k, V r2, V inverse, V inverse2) {
  switch (k.electrostatics) {
    case Electrostatics::shift: {
      const V t = hn::NegMulAdd(r2, set(k.inverse_cutoff2), set(1.0f));
      const V force = hn::Mul(hn::MulAdd(hn::Mul(t, t), inverse2, hn::Mul(t, set(4 * k.inverse_cutoff2))), inverse);
      return {force, hn::Mul(hn::Mul(t, t), inverse)};
    }
    case Electrostatics::force_switch: {
      const V u = hn::Mul(hn::Max(hn::Sub(r2, set(k.coulomb_switch2)), hn::Zero(D())), set(k.coulomb_inverse_width));
      const V one_less = hn::Sub(set(1.0f), u);
      const V s = hn::Mul(hn::Mul(one_less, one_less), hn::MulAdd(set(2.0f), u, set(1.0f)));
      V energy = hn::Zero(D());
      if constexpr (WithEnergy) {
        const float rc = k.cutoff, rc3 = rc * rc * rc;
        const V r = hn::Mul(r2, inverse), r3 = hn::Mul(r2, r), r5 = hn::Mul(r2, r3);
        V outer = hn::Mul(set(k.coulomb_a), hn::Sub(inverse, set(1 / rc)));
        outer = hn::MulAdd(set(k.coulomb_b), hn::Sub(set(rc), r), outer);
        outer = hn::MulAdd(set(k.coulomb_c), hn::Sub(set(rc3), r3), outer);
        outer = hn::MulAdd(set(k.coulomb_d), hn::Sub(set(rc3 * rc * rc), r5), outer);
        energy = hn::IfThenElse(hn::Le(r2, set(k.coulomb_switch2)), hn::Add(inverse, set(k.coulomb_below)), outer);
      }
      return {hn::Mul(s, hn::Mul(inverse, inverse2)), energy};
    }
    default:
      return {hn::Mul(inverse, inverse2), inverse};
  }
}

struct Coordinates {
  V x, y, z;
};

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

/// A cluster pair's masks for one register.
template <bool Masked>
HWY_INLINE M RegisterMask(std::uint16_t bits, std::size_t r) {
  const std::uint16_t shifted = static_cast<std::uint16_t>(bits >> (r * lanes));
  HWY_ALIGN std::uint8_t bytes[8] = {static_cast<std::uint8_t>(shifted), static_cast<std::uint8_t>(shifted >> 8)};
  return hn::LoadMaskBits(D(), bytes);
}

/// All 16 pairs of one entry; false, with nothing added, where two atoms are so close that the sums' integers might
/// overflow.
template <class Choice, bool Masked, bool WithEnergy>
[[nodiscard]] HWY_INLINE bool AddEntry(const KernelConstants& k, const ICluster& ci, const V* xi, const V* yi,
                                       const V* zi, const ClusterData& cj, const MaskedEntry* entry,
                                       const TableLookup* table, std::int32_t* fj, SegmentSums& sums) {
  const D d;
  const V xj = hn::LoadDup128(d, cj.x), yj = hn::LoadDup128(d, cj.y), zj = hn::LoadDup128(d, cj.z);
  const V qj = hn::LoadDup128(d, cj.q), sj = hn::LoadDup128(d, cj.sigma), ej = hn::LoadDup128(d, cj.epsilon);
  V dx[registers], dy[registers], dz[registers], force[registers], lj_energy[registers], real[registers];
  bool clash = false;
  HWY_UNROLL(4)
  for (std::size_t r = 0; r < registers; ++r) {
    dx[r] = hn::Sub(xi[r], xj);
    dy[r] = hn::Sub(yi[r], yj);
    dz[r] = hn::Sub(zi[r], zj);
    const V distance2 = hn::MulAdd(dx[r], dx[r], hn::MulAdd(dy[r], dy[r], hn::Mul(dz[r], dz[r])));
    M active = hn::Lt(distance2, set(k.cutoff2));  // pairs that feel anything
    const V r2 = hn::Max(distance2, set(1e-4f));   // atoms on top of each other: finite, and huge
    const V inverse = InverseSqrt(r2), inverse2 = hn::Mul(inverse, inverse);
    const V qq = hn::Mul(hn::Load(d, ci.q + r * lanes), qj);

    V dispersion, repulsion;
    {
      const V si = hn::Load(d, ci.sigma + r * lanes), ei = hn::Load(d, ci.epsilon + r * lanes);
      const V sigma = ChosenRule<Choice>(k) == KernelRule::lorentz_berthelot ? hn::Add(si, sj) : hn::Mul(si, sj);
      const V s1 = hn::Mul(sigma, inverse), s2 = hn::Mul(s1, s1), s6 = hn::Mul(hn::Mul(s2, s2), s2);
      dispersion = hn::Mul(hn::Mul(ei, ej), s6);
      repulsion = hn::Mul(hn::Add(dispersion, dispersion), s6);
    }
    if constexpr (Masked) {
      if (entry->by_table) {
        const V inverse6 = hn::Mul(hn::Mul(inverse2, inverse2), inverse2);
        dispersion = hn::Mul(hn::Load(d, table->b6 + r * lanes), inverse6);
        repulsion = hn::Mul(hn::Load(d, table->a12 + r * lanes), hn::Mul(inverse6, inverse6));
      }
    }
    const auto lj = LennardJones<Choice, WithEnergy>(k, repulsion, dispersion, r2, inverse, inverse2);
    V direct = lj.force_over_r, potential, smooth = hn::Zero(d);  // in full; what the mesh already has
    M interact = active;
    if constexpr (Masked) interact = hn::And(active, RegisterMask<Masked>(entry->interact, r));
    if (ChosenCoulomb<Choice>(k) == Electrostatics::pme) {
      // (1/r³ − correction) for pairs that interact, the correction alone for excluded ones
      const V t = hn::MulAdd(r2, set(k.ewald_scale), set(-1.0f));
      direct = hn::MulAdd(qq, hn::Mul(inverse, inverse2), direct);
      smooth = hn::Mul(qq, Evaluate<Choice::ewald_degree>(k.ewald_force, t));
      if constexpr (Masked) {
        active = hn::And(active, hn::Or(interact, RegisterMask<Masked>(entry->excluded, r)));
        direct = hn::IfThenElseZero(interact, direct);
      }
      if constexpr (WithEnergy) potential = hn::Sub(inverse, Evaluate<ewald_degree_high>(k.ewald_energy, t));
    } else {
      const auto plain = PlainCoulomb<WithEnergy>(k, r2, inverse, inverse2);
      direct = hn::MulAdd(qq, plain.force_over_r, direct);
      potential = plain.energy;
      active = interact;
    }
    force[r] = hn::IfThenElseZero(active, hn::Sub(direct, smooth));
    if constexpr (WithEnergy) {
      lj_energy[r] = hn::IfThenElseZero(interact, lj.energy);
      real[r] = hn::IfThenElseZero(interact, hn::Mul(qq, potential));
    }
    clash |= !hn::AllTrue(d, hn::Lt(hn::Abs(force[r]), set(clash_force_over_r)));
  }
  if (HWY_UNLIKELY(clash)) return false;

  V4 jx = hn::Zero(D4()), jy = jx, jz = jx;
  HWY_UNROLL(4)
  for (std::size_t r = 0; r < registers; ++r) {
    const V fx = hn::Mul(force[r], dx[r]), fy = hn::Mul(force[r], dy[r]), fz = hn::Mul(force[r], dz[r]);
    sums.fx[r] = hn::Add(sums.fx[r], fx);
    sums.fy[r] = hn::Add(sums.fy[r], fy);
    sums.fz[r] = hn::Add(sums.fz[r], fz);
    jx = hn::Add(jx, SumBlocks(fx));
    jy = hn::Add(jy, SumBlocks(fy));
    jz = hn::Add(jz, SumBlocks(fz));
    if constexpr (WithEnergy) {
      sums.lj = hn::Add(sums.lj, lj_energy[r]);
      sums.real = hn::Add(sums.real, real[r]);
      sums.xx = hn::MulAdd(dx[r], fx, sums.xx);
      sums.yy = hn::MulAdd(dy[r], fy, sums.yy);
      sums.zz = hn::MulAdd(dz[r], fz, sums.zz);
      sums.xy = hn::MulAdd(dx[r], fy, sums.xy);
      sums.xz = hn::MulAdd(dx[r], fz, sums.xz);
      sums.yz = hn::MulAdd(dy[r], fz, sums.yz);
    }
  }
  const DI4 di4;
  hn::StoreU(hn::Sub(hn::LoadU(di4, fj), hn::NearestInt(jx)), di4, fj);
  hn::StoreU(hn::Sub(hn::LoadU(di4, fj + 4), hn::NearestInt(jy)), di4, fj + 4);
  hn::StoreU(hn::Sub(hn::LoadU(di4, fj + 8), hn::NearestInt(jz)), di4, fj + 8);
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
             std::int32_t end, const ClusterData* clusters, const std::int32_t* type, std::int32_t* force,
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
    std::int32_t* fi = force + 12 * static_cast<std::ptrdiff_t>(current);
    for (int c = 0; c < 3; ++c)
      for (int i = 0; i < 4; ++i) {
        std::uint32_t sum = static_cast<std::uint32_t>(fi[4 * c + i]);
        for (int j = 0; j < 4; ++j) sum += static_cast<std::uint32_t>(lane[c][4 * i + j]);
        fi[4 * c + i] = static_cast<std::int32_t>(sum);
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
    for (std::int32_t e = segment.masked_begin; e < segment.masked_end; ++e) {
      const MaskedEntry& entry = part.masked[static_cast<std::size_t>(e)];
      if (entry.by_table)
        table.Load(k, type + 4 * static_cast<std::ptrdiff_t>(current),
                   type + 4 * static_cast<std::ptrdiff_t>(entry.j_cluster));
      if (!AddEntry<Choice, true, WithEnergy>(k, ci, xi, yi, zi, clusters[entry.j_cluster], &entry, &table,
                                              force + 12 * static_cast<std::ptrdiff_t>(entry.j_cluster), sums))
        clashes.push_back({segment.i_cluster, segment.shift, entry});
    }
    for (std::int32_t e = segment.plain_begin; e < segment.plain_end; ++e) {
      const std::int32_t j = part.plain[static_cast<std::size_t>(e)];
      if (!AddEntry<Choice, false, WithEnergy>(k, ci, xi, yi, zi, clusters[j], nullptr, nullptr,
                                               force + 12 * static_cast<std::ptrdiff_t>(j), sums))
        clashes.push_back({segment.i_cluster, segment.shift, {j, 0xFFFF, 0, false}});
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

/// Denormals of padding and of distant exponentials cost half the speed: flush them while the kernel runs.
class FlushDenormals {
 public:
#if HWY_ARCH_X86
  FlushDenormals() : saved_(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(saved_ | 0x8040u); }
  ~FlushDenormals() { __builtin_ia32_ldmxcsr(saved_); }

 private:
  unsigned saved_;
#endif
};

void RunSegments(const KernelConstants& k, const PairList& list, const PairListPart& part, std::int32_t begin,
                 std::int32_t end, const ClusterData* clusters, const std::int32_t* type, std::int32_t* force,
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
