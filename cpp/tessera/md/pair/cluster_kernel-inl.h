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
constexpr std::size_t at_once = registers == 1 ? 2 : 1;  // entries

HWY_INLINE V set(float value) { return hn::Set(D(), value); }

// A kernel's chain of operations is long, and a processor sees only so far ahead: what follows works on packs of
// registers, in which several chains go side by side.

/// `n` registers as one value. An operation on packs acts on each; a plain register stands for n alike.
template <std::size_t n>
struct Pack {
  V part[n];

  HWY_INLINE Pack() = default;
  HWY_INLINE Pack(V v) {  // NOLINT(google-explicit-constructor): so that packs mix with constants
    for (auto& one : part) one = v;
  }
};
template <std::size_t n>
struct MaskPack {
  M part[n];
};

template <class T>
HWY_INLINE T Part(T v, std::size_t) {
  return v;
}
template <std::size_t n>
HWY_INLINE V Part(const Pack<n>& pack, std::size_t i) {
  return pack.part[i];
}
template <std::size_t n>
HWY_INLINE M Part(const MaskPack<n>& pack, std::size_t i) {
  return pack.part[i];
}

template <class T>
inline constexpr std::size_t pack_size = 0;
template <std::size_t n>
inline constexpr std::size_t pack_size<Pack<n>> = n;
template <std::size_t n>
inline constexpr std::size_t pack_size<MaskPack<n>> = n;
template <class A, class B = V, class C = V>
inline constexpr std::size_t widest = std::max({pack_size<A>, pack_size<B>, pack_size<C>});

#define TESSERA_PACK_1(Operation)                                                   \
  template <class A, std::size_t n = widest<A>>                                     \
  requires(n > 0) HWY_INLINE Pack<n> Operation(const A& a) {                        \
    Pack<n> result;                                                                 \
    for (std::size_t i = 0; i < n; ++i) result.part[i] = hn::Operation(Part(a, i)); \
    return result;                                                                  \
  }
#define TESSERA_PACK_2(Result, Operation)                                                       \
  template <class A, class B, std::size_t n = widest<A, B>>                                     \
  requires(n > 0) HWY_INLINE Result<n> Operation(const A& a, const B& b) {                      \
    Result<n> result;                                                                           \
    for (std::size_t i = 0; i < n; ++i) result.part[i] = hn::Operation(Part(a, i), Part(b, i)); \
    return result;                                                                              \
  }
#define TESSERA_PACK_3(Operation)                                                                           \
  template <class A, class B, class C, std::size_t n = widest<A, B, C>>                                     \
  requires(n > 0) HWY_INLINE Pack<n> Operation(const A& a, const B& b, const C& c) {                        \
    Pack<n> result;                                                                                         \
    for (std::size_t i = 0; i < n; ++i) result.part[i] = hn::Operation(Part(a, i), Part(b, i), Part(c, i)); \
    return result;                                                                                          \
  }
TESSERA_PACK_1(Abs)
TESSERA_PACK_2(Pack, Add)
TESSERA_PACK_2(Pack, Sub)
TESSERA_PACK_2(Pack, Mul)
TESSERA_PACK_2(Pack, Max)
TESSERA_PACK_2(Pack, IfThenElseZero)
TESSERA_PACK_2(MaskPack, Lt)
TESSERA_PACK_2(MaskPack, Le)
TESSERA_PACK_2(MaskPack, And)
TESSERA_PACK_2(MaskPack, Or)
TESSERA_PACK_3(MulAdd)
TESSERA_PACK_3(NegMulAdd)
TESSERA_PACK_3(IfThenElse)
#undef TESSERA_PACK_1
#undef TESSERA_PACK_2
#undef TESSERA_PACK_3

/// 1/√v to float accuracy.
template <std::size_t n>
HWY_INLINE Pack<n> InverseSqrt(const Pack<n>& v) {
  Pack<n> guess;
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR  // their guess has eight bits, not twelve
  for (std::size_t i = 0; i < n; ++i) guess.part[i] = hn::ApproximateReciprocalSqrt(v.part[i]);
  const auto half = Mul(Mul(set(0.5f), v), guess);
  return Mul(guess, NegMulAdd(half, guess, set(1.5f)));
#else
  for (std::size_t i = 0; i < n; ++i) guess.part[i] = hn::Div(set(1.0f), hn::Sqrt(v.part[i]));
  return guess;
#endif
}

/// Σ cᵢtⁱ, even and odd powers in two chains. Leading zeros do not change the result.
template <int degree, std::size_t n>
HWY_INLINE Pack<n> Evaluate(const float* c, const Pack<n>& t) {
  const auto t2 = Mul(t, t);
  Pack<n> even = set(c[degree]), odd = set(c[degree - 1]);
  HWY_UNROLL(8)
  for (int i = degree - 2; i >= 0; i -= 2) even = MulAdd(even, t2, set(c[i]));
  HWY_UNROLL(8)
  for (int i = degree - 3; i >= 1; i -= 2) odd = MulAdd(odd, t2, set(c[i]));
  return MulAdd(odd, t, even);
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

template <class T>
struct PairForce {
  T force_over_r, energy;
};

/// Lennard-Jones from the repulsion R = 12A/r¹² and dispersion P = 6B/r⁶, both in force units.
template <class Choice, bool WithEnergy, class T>
HWY_INLINE PairForce<T> LennardJones(const KernelConstants& k, const T& repulsion, const T& dispersion, const T& r2,
                                     const T& inverse, const T& inverse2) {
  const auto twelfth = set(1.0f / 12), sixth = set(1.0f / 6);
  const auto plain = Mul(Sub(repulsion, dispersion), inverse2);
  switch (ChosenLj<Choice>(k)) {
    case LjModifier::cut: {
      T energy = hn::Zero(D());
      if constexpr (WithEnergy) energy = NegMulAdd(dispersion, sixth, Mul(repulsion, twelfth));
      return {plain, energy};
    }
    case LjModifier::potential_switch: {
      const auto u = Mul(Max(Sub(r2, set(k.switch2)), hn::Zero(D())), set(k.switch_inverse_width));
      const auto one_less = Sub(set(1.0f), u);
      const auto s = Mul(Mul(one_less, one_less), MulAdd(set(2.0f), u, set(1.0f)));
      const auto ds = Mul(Mul(Mul(u, one_less), set(12.0f)), set(k.switch_inverse_width));  // −2 dS/d(r²)
      const auto bare = NegMulAdd(dispersion, sixth, Mul(repulsion, twelfth));
      return {MulAdd(s, plain, Mul(ds, bare)), Mul(s, bare)};
    }
    case LjModifier::force_switch: {
      const auto r3 = Mul(Mul(r2, r2), inverse), r6 = Mul(r3, r3);
      const auto t12 = NegMulAdd(r6, set(k.inverse_cutoff6), set(1.0f));
      const auto t6 = NegMulAdd(r3, set(k.inverse_cutoff3), set(1.0f));
      const auto inner = Le(r2, set(k.switch2));
      const auto one = set(1.0f);
      const auto f12 = IfThenElse(inner, one, Mul(set(k.k12), t12));
      const auto f6 = IfThenElse(inner, one, Mul(set(k.k6), t6));
      const auto force = Mul(NegMulAdd(dispersion, f6, Mul(repulsion, f12)), inverse2);
      T energy = hn::Zero(D());
      if constexpr (WithEnergy) {
        const T e12 = IfThenElse(inner, NegMulAdd(Mul(r6, r6), set(k.shift12), one), Mul(f12, t12));
        const auto e6 = IfThenElse(inner, NegMulAdd(r6, set(k.shift6), one), Mul(f6, t6));
        energy = Sub(Mul(Mul(repulsion, twelfth), e12), Mul(Mul(dispersion, sixth), e6));
      }
      return {force, energy};
    }
    case LjModifier::force_switch_gromacs: {
      const auto r = Mul(r2, inverse), t = Max(Sub(r, set(k.switch_distance)), hn::Zero(D()));
      const auto t2 = Mul(t, t), r6 = Mul(Mul(r2, r2), r2);
      const auto a12 = Mul(Mul(repulsion, twelfth), Mul(r6, r6)), b6 = Mul(Mul(dispersion, sixth), r6);
      const auto p12 = Mul(t2, MulAdd(set(k.b12), t, set(k.a12)));
      const auto p6 = Mul(t2, MulAdd(set(k.b6), t, set(k.a6)));
      const auto force = MulAdd(Sub(Mul(a12, p12), Mul(b6, p6)), inverse, plain);
      T energy = hn::Zero(D());
      if constexpr (WithEnergy) {
        const auto t3 = Mul(t2, t);
        const auto q12 = MulAdd(t3, MulAdd(set(k.b12 * 0.25f), t, set(k.a12 / 3)), set(k.c12));
        const auto q6 = MulAdd(t3, MulAdd(set(k.b6 * 0.25f), t, set(k.a6 / 3)), set(k.c6));
        energy = Sub(NegMulAdd(a12, q12, Mul(repulsion, twelfth)), NegMulAdd(b6, q6, Mul(dispersion, sixth)));
      }
      return {force, energy};
    }
    case LjModifier::quintic_switch: {
      const auto r = Mul(r2, inverse), w = set(k.switch_inverse_width);
      const auto x = Mul(Max(Sub(r, set(k.switch_distance)), hn::Zero(D())), w);
      const auto x2 = Mul(x, x);
      const auto s = MulAdd(Mul(x2, x), MulAdd(x, NegMulAdd(set(6.0f), x, set(15.0f)), set(-10.0f)), set(1.0f));
      const auto ds = Mul(Mul(x2, MulAdd(x, NegMulAdd(set(30.0f), x, set(60.0f)), set(-30.0f))), w);
      const auto bare = NegMulAdd(dispersion, sixth, Mul(repulsion, twelfth));
      return {NegMulAdd(Mul(ds, bare), inverse, Mul(s, plain)), Mul(s, bare)};
    }
  }
  return {hn::Zero(D()), hn::Zero(D())};
}

/// Coulomb of unit charge product without a mesh.
template <bool WithEnergy, class T>
HWY_INLINE PairForce<T> PlainCoulomb(const KernelConstants& k, const T& r2, const T& inverse, const T& inverse2) {
  switch (k.electrostatics) {
    case Electrostatics::shift: {
      const auto t = NegMulAdd(r2, set(k.inverse_cutoff2), set(1.0f));
      const auto force = Mul(MulAdd(Mul(t, t), inverse2, Mul(t, set(4 * k.inverse_cutoff2))), inverse);
      return {force, Mul(Mul(t, t), inverse)};
    }
    case Electrostatics::force_switch: {
      const auto u = Mul(Max(Sub(r2, set(k.coulomb_switch2)), hn::Zero(D())), set(k.coulomb_inverse_width));
      const auto one_less = Sub(set(1.0f), u);
      const auto s = Mul(Mul(one_less, one_less), MulAdd(set(2.0f), u, set(1.0f)));
      T energy = hn::Zero(D());
      if constexpr (WithEnergy) {
        const float rc = k.cutoff, rc3 = rc * rc * rc;
        const auto r = Mul(r2, inverse), r3 = Mul(r2, r), r5 = Mul(r2, r3);
        T outer = Mul(set(k.coulomb_a), Sub(inverse, set(1 / rc)));
        outer = MulAdd(set(k.coulomb_b), Sub(set(rc), r), outer);
        outer = MulAdd(set(k.coulomb_c), Sub(set(rc3), r3), outer);
        outer = MulAdd(set(k.coulomb_d), Sub(set(rc3 * rc * rc), r5), outer);
        energy = IfThenElse(Le(r2, set(k.coulomb_switch2)), Add(inverse, set(k.coulomb_below)), outer);
      }
      return {Mul(s, Mul(inverse, inverse2)), energy};
    }
    default:
      return {Mul(inverse, inverse2), inverse};
  }
}

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
