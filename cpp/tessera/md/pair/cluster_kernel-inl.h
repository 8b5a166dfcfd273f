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
constexpr std::size_t at_once = registers == 1 ? 4 : 1;  // entries

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
TESSERA_PACK_2(Pack, Min)
TESSERA_PACK_2(Pack, IfThenElseZero)
TESSERA_PACK_2(MaskPack, Lt)
TESSERA_PACK_2(MaskPack, Le)
TESSERA_PACK_2(MaskPack, And)
TESSERA_PACK_2(MaskPack, Or)
TESSERA_PACK_3(MulAdd)
TESSERA_PACK_3(MulSub)
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

/// The nearest integers of values that fit; hn::NearestInt also mends those that do not, in four operations more.
template <class W>  // a template, so that only the branch of this width is compiled
HWY_INLINE auto ToIntegers(W v) {
#if HWY_TARGET <= HWY_SSE4 && HWY_ARCH_X86
  using Integers = hn::Vec<hn::RebindToSigned<hn::DFromV<W>>>;
  constexpr std::size_t width = hn::MaxLanes(hn::DFromV<W>());
#if HWY_TARGET <= HWY_AVX3
  if constexpr (width == 16) return Integers{_mm512_cvtps_epi32(v.raw)};
#endif
#if HWY_TARGET <= HWY_AVX2
  if constexpr (width == 8) return Integers{_mm256_cvtps_epi32(v.raw)};
#endif
  if constexpr (width == 4) return Integers{_mm_cvtps_epi32(v.raw)};
#else
  return hn::NearestInt(v);
#endif
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

/// F·r, which is what most formulas come to, and the energy.
template <class T>
struct PairForce {
  T force_times_r, energy;
};

/// Lennard-Jones from the repulsion R = 12A/r¹² and dispersion P = 6B/r⁶, both in force units.
template <class Choice, bool WithEnergy, class T>
HWY_INLINE PairForce<T> LennardJones(const KernelConstants& k, const T& repulsion, const T& dispersion, const T& r2,
                                     const T& inverse) {
  const auto twelfth = set(1.0f / 12), sixth = set(1.0f / 6);
  switch (ChosenLj<Choice>(k)) {
    case LjModifier::cut: {
      T energy = hn::Zero(D());
      if constexpr (WithEnergy) energy = NegMulAdd(dispersion, sixth, Mul(repulsion, twelfth));
      return {Sub(repulsion, dispersion), energy};
    }
    case LjModifier::potential_switch: {
      const auto u = Mul(Max(Sub(r2, set(k.switch2)), hn::Zero(D())), set(k.switch_inverse_width));
      const auto one_less = Sub(set(1.0f), u);
      const auto s = Mul(Mul(one_less, one_less), MulAdd(set(2.0f), u, set(1.0f)));
      const auto ds = Mul(Mul(Mul(u, one_less), set(12 * k.switch_inverse_width)), r2);  // −2 r² dS/d(r²)
      const auto bare = NegMulAdd(dispersion, sixth, Mul(repulsion, twelfth));
      return {MulAdd(s, Sub(repulsion, dispersion), Mul(ds, bare)), Mul(s, bare)};
    }
    case LjModifier::force_switch: {
      const auto r3 = Mul(Mul(r2, r2), inverse), r6 = Mul(r3, r3);
      const auto one = set(1.0f);
      // k (1 − (r/r_c)ⁿ) falls to one at r_s: what is greater is inside.
      const auto f12 = Min(NegMulAdd(r6, set(k.k12_over_cutoff6), set(k.k12)), one);
      const auto f6 = Min(NegMulAdd(r3, set(k.k6_over_cutoff3), set(k.k6)), one);
      T energy = hn::Zero(D());
      if constexpr (WithEnergy) {
        const auto inner = Le(r2, set(k.switch2));
        const auto t12 = NegMulAdd(r6, set(k.inverse_cutoff6), one), t6 = NegMulAdd(r3, set(k.inverse_cutoff3), one);
        const T e12 = IfThenElse(inner, NegMulAdd(Mul(r6, r6), set(k.shift12), one), Mul(f12, t12));
        const auto e6 = IfThenElse(inner, NegMulAdd(r6, set(k.shift6), one), Mul(f6, t6));
        energy = Sub(Mul(Mul(repulsion, twelfth), e12), Mul(Mul(dispersion, sixth), e6));
      }
      return {NegMulAdd(dispersion, f6, Mul(repulsion, f12)), energy};
    }
    case LjModifier::force_switch_gromacs: {
      const auto r = Mul(r2, inverse), t = Max(Sub(r, set(k.switch_distance)), hn::Zero(D()));
      const auto t2 = Mul(t, t), r6 = Mul(Mul(r2, r2), r2);
      const auto a12 = Mul(Mul(repulsion, twelfth), Mul(r6, r6)), b6 = Mul(Mul(dispersion, sixth), r6);
      const auto p12 = Mul(t2, MulAdd(set(k.b12), t, set(k.a12)));
      const auto p6 = Mul(t2, MulAdd(set(k.b6), t, set(k.a6)));
      T energy = hn::Zero(D());
      if constexpr (WithEnergy) {
        const auto t3 = Mul(t2, t);
        const auto q12 = MulAdd(t3, MulAdd(set(k.b12 * 0.25f), t, set(k.a12 / 3)), set(k.c12));
        const auto q6 = MulAdd(t3, MulAdd(set(k.b6 * 0.25f), t, set(k.a6 / 3)), set(k.c6));
        energy = Sub(NegMulAdd(a12, q12, Mul(repulsion, twelfth)), NegMulAdd(b6, q6, Mul(dispersion, sixth)));
      }
      return {MulAdd(Sub(Mul(a12, p12), Mul(b6, p6)), r, Sub(repulsion, dispersion)), energy};
    }
    case LjModifier::quintic_switch: {
      const auto r = Mul(r2, inverse), w = set(k.switch_inverse_width);
      const auto x = Mul(Max(Sub(r, set(k.switch_distance)), hn::Zero(D())), w);
      const auto x2 = Mul(x, x);
      const auto s = MulAdd(Mul(x2, x), MulAdd(x, NegMulAdd(set(6.0f), x, set(15.0f)), set(-10.0f)), set(1.0f));
      const auto ds = Mul(Mul(x2, MulAdd(x, NegMulAdd(set(30.0f), x, set(60.0f)), set(-30.0f))), w);
      const auto bare = NegMulAdd(dispersion, sixth, Mul(repulsion, twelfth));
      return {NegMulAdd(Mul(ds, bare), r, Mul(s, Sub(repulsion, dispersion))), Mul(s, bare)};
    }
  }
  return {hn::Zero(D()), hn::Zero(D())};
}

/// Coulomb of unit charge product without a mesh.
template <bool WithEnergy, class T>
HWY_INLINE PairForce<T> PlainCoulomb(const KernelConstants& k, const T& r2, const T& inverse) {
  switch (k.electrostatics) {
    case Electrostatics::shift: {
      const auto u = Mul(r2, set(k.inverse_cutoff2)), t = Sub(set(1.0f), u);
      return {Mul(Mul(t, MulAdd(set(4.0f), u, t)), inverse), Mul(Mul(t, t), inverse)};
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
      return {Mul(s, inverse), energy};
    }
    default:
      return {inverse, inverse};
  }
}

/// One i-cluster's registers.
struct ICluster {
  HWY_ALIGN float x[16], y[16], z[16], q[16], sigma[16], epsilon[16];

  void Load(const ClusterData& c) {
    const D4 d4;
    for (std::size_t i = 0; i < 4; ++i) {
      hn::Store(hn::Set(d4, c.x[i]), d4, x + 4 * i);
      hn::Store(hn::Set(d4, c.y[i]), d4, y + 4 * i);
      hn::Store(hn::Set(d4, c.z[i]), d4, z + 4 * i);
      hn::Store(hn::Set(d4, c.q[i]), d4, q + 4 * i);
      hn::Store(hn::Set(d4, c.sigma[i]), d4, sigma + 4 * i);
      hn::Store(hn::Set(d4, c.epsilon[i]), d4, epsilon + 4 * i);
    }
  }
};

/// What a row adds to its i-cluster, lane by lane, in pair_force_unit.
struct IForces {
  VI x[registers], y[registers], z[registers];

  HWY_INLINE void Clear() {
    for (std::size_t r = 0; r < registers; ++r) x[r] = y[r] = z[r] = hn::Zero(DI());
  }
  HWY_INLINE void AddTo(std::int32_t* force) const {
    AddComponent(x, force + force_offset[0]);
    AddComponent(y, force + force_offset[1]);
    AddComponent(z, force + force_offset[2]);
  }

 private:
  static HWY_INLINE void AddComponent(const VI* component, std::int32_t* force) {
    HWY_ALIGN std::int32_t lane[16];
    for (std::size_t r = 0; r < registers; ++r) hn::Store(component[r], DI(), lane + r * lanes);
    for (std::size_t i = 0; i < 4; ++i) {
      std::uint32_t sum = static_cast<std::uint32_t>(force[i]);
      for (std::size_t j = 0; j < 4; ++j) sum += static_cast<std::uint32_t>(lane[4 * i + j]);
      force[i] = static_cast<std::int32_t>(sum);
    }
  }
};

/// 12A and 6B of all 16 pairs from the table of types.
struct TableLookup {
  HWY_ALIGN float a12[16], b6[16];

  void Load(const float* table_12a, const float* table_6b, std::int32_t n_types, const std::int32_t* type_i,
            const std::int32_t* type_j) {
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) {
        const bool padded = type_i[i] < 0 || type_j[j] < 0;
        const auto at = padded ? 0
                               : static_cast<std::size_t>(type_i[i]) * static_cast<std::size_t>(n_types) +
                                     static_cast<std::size_t>(type_j[j]);
        a12[4 * i + j] = padded ? 0 : table_12a[at];
        b6[4 * i + j] = padded ? 0 : table_6b[at];
      }
  }
};

/// The masks of several entries.
template <std::size_t entries>
HWY_INLINE MaskPack<entries * registers> Masks(const MaskedEntry* masked, std::uint16_t MaskedEntry::*which) {
  MaskPack<entries * registers> mask;
  for (std::size_t n = 0; n < entries * registers; ++n) {
    const auto bits = static_cast<std::uint16_t>((masked[n / registers].*which) >> (n % registers * lanes));
    HWY_ALIGN std::uint8_t bytes[8] = {static_cast<std::uint8_t>(bits), static_cast<std::uint8_t>(bits >> 8)};
    mask.part[n] = hn::LoadMaskBits(D(), bytes);
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

/// One component of the shifts of several entries.
template <std::size_t entries>
HWY_INLINE Pack<entries * registers> OfCell(const float* const* shift, std::size_t component) {
  Pack<entries * registers> pack;
  for (std::size_t n = 0; n < entries * registers; ++n) pack.part[n] = set(shift[n / registers][component]);
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
    hn::Store(hn::Sub(hn::Load(di, fj), ToIntegers(sum)), di, fj);
  } else {
    const DI4 di4;
    const W* all[] = {fx, fz, fy};  // in the order of force_offset
    for (const W* f : all) {
      V4 sum = SumBlocks(f[0]);
      for (std::size_t r = 1; r < registers; ++r) sum = hn::Add(sum, SumBlocks(f[r]));
      hn::Store(hn::Sub(hn::Load(di4, fj), ToIntegers(sum)), di4, fj);
      fj += 4;
    }
  }
}

/// What the loop over a part reads and writes besides constants and the list.
struct Loop {
  const std::array<float, 3>* shifts;
  const ClusterData* clusters;
  ClusterForces* force;
};

/// Energies and virial of a row. Each entry's share is rounded to a multiple of 2⁻²⁴ kcal/mol, so that the sums are
/// exact and their order makes no difference.
class EnergySums {
 public:
  HWY_INLINE void Clear() {
    for (auto& one : sum_) one = hn::Zero(D2());
  }

  /// Of the entry that stands at `part` of the packs: Lennard-Jones, Coulomb, distances and forces.
  template <class P>
  HWY_INLINE void Add(const P& lj, const P& real, const P* d, const P* f, std::size_t part) {
    const auto sum_of = [&](auto&& value) HWY_ATTR {
      V sum = value(part);
      for (std::size_t r = 1; r < registers; ++r) sum = hn::Add(sum, value(part + r));
      return sum;
    };
    AddRounded(0, sum_of([&](std::size_t p) HWY_ATTR { return lj.part[p]; }));
    AddRounded(1, sum_of([&](std::size_t p) HWY_ATTR { return real.part[p]; }));
    HWY_UNROLL(6)
    for (std::size_t c = 0; c < 6; ++c) {
      const auto a = virial_components[c][0], b = virial_components[c][1];
      AddRounded(2 + c, sum_of([&](std::size_t p) HWY_ATTR { return hn::Mul(d[a].part[p], f[b].part[p]); }));
    }
  }

  HWY_INLINE void AddTo(EnergyVirial& energies) const {
    const auto total = [&](std::size_t i) HWY_ATTR {
      HWY_ALIGN double lane[2];
      hn::Store(sum_[i], D2(), lane);
      return lane[0] + lane[1];
    };
    energies.add(Term::lj, total(0));
    energies.add(Term::coulomb_real, total(1));
    for (std::size_t c = 0; c < 6; ++c) add_fixed(energies.virial[c], to_fixed(total(2 + c), energy_unit));
  }

 private:
  using D2 = hn::FixedTag<double, 2>;
  static constexpr std::size_t virial_components[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};

  HWY_INLINE void AddRounded(std::size_t i, V value) {
    const V4 four = SumBlocks(value);
    const auto two = hn::Add(hn::LowerHalf(four), hn::UpperHalf(hn::FixedTag<float, 2>(), four));
    const auto shift = hn::Set(D2(), 0x1.8p28);  // its last digit is worth 2⁻²⁴
    const auto rounded = hn::MulAdd(hn::PromoteTo(D2(), two), hn::Set(D2(), pair_force_unit), shift);
    sum_[i] = hn::Add(sum_[i], hn::Sub(rounded, shift));
  }

  hn::Vec<D2> sum_[8];
};

/// All 16 pairs of each of some entries; false, with nothing added, where two atoms are so close that the sums'
/// integers might overflow. `masked`: their masks; `table`: their parameters, if they come from there.
template <class Choice, std::size_t entries, bool Masked, bool WithEnergy>
[[nodiscard]] HWY_INLINE bool AddEntries(const KernelConstants& k, const Loop& loop, const ICluster& ci,
                                         const PairEntry* j, const MaskedEntry* masked, const TableLookup* table,
                                         IForces& sums, EnergySums& energies) {
  constexpr std::size_t n = entries * registers;
  using P = Pack<n>;
  const D d;
  const ClusterData* cj[entries];
  const float* shift[entries];
  for (std::size_t e = 0; e < entries; ++e) {
    cj[e] = loop.clusters + cluster_of(j[e]);
    shift[e] = loop.shifts[cell_of(j[e])].data();
  }
  const P distance[3] = {Sub(OfI<entries>(ci.x), Add(OfJ<entries>(cj, &ClusterData::x), OfCell<entries>(shift, 0))),
                         Sub(OfI<entries>(ci.y), Add(OfJ<entries>(cj, &ClusterData::y), OfCell<entries>(shift, 1))),
                         Sub(OfI<entries>(ci.z), Add(OfJ<entries>(cj, &ClusterData::z), OfCell<entries>(shift, 2)))};
  const auto& [dx, dy, dz] = distance;
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
    repulsion = Mul(dispersion, s6);
  }
  if constexpr (Masked) {
    if (table != nullptr) {
      const P inverse6 = Mul(Mul(inverse2, inverse2), inverse2);
      dispersion = Mul(OfI<entries>(table->b6), inverse6);
      repulsion = Mul(OfI<entries>(table->a12), Mul(inverse6, inverse6));
    }
  }
  const auto lj = LennardJones<Choice, WithEnergy>(k, repulsion, dispersion, r2, inverse);
  P direct, potential = hn::Zero(d), smooth = hn::Zero(d);  // F·r of it all; F/r that the mesh already has
  auto interact = active;
  if constexpr (Masked) interact = And(active, Masks<entries>(masked, &MaskedEntry::interact));
  if (ChosenCoulomb<Choice>(k) == Electrostatics::pme) {
    // (1/r³ − correction) for pairs that interact, the correction alone for excluded ones
    const P t = MulAdd(r2, set(k.ewald_scale), set(-1.0f));
    direct = MulAdd(qq, inverse, lj.force_times_r);
    smooth = Mul(qq, Evaluate<Choice::ewald_degree>(k.ewald_force, t));
    if constexpr (Masked) {
      active = And(active, Or(interact, Masks<entries>(masked, &MaskedEntry::excluded)));
      direct = IfThenElseZero(interact, direct);
    }
    if constexpr (WithEnergy) potential = Sub(inverse, Evaluate<ewald_degree_high>(k.ewald_energy, t));
  } else {
    const auto plain = PlainCoulomb<WithEnergy>(k, r2, inverse);
    direct = MulAdd(qq, plain.force_times_r, lj.force_times_r);
    potential = plain.energy;
    active = interact;
  }
  const P force_over_r = IfThenElseZero(active, MulSub(direct, inverse2, smooth));
  const P size = Abs(force_over_r);
  V greatest = size.part[0];
  for (std::size_t p = 1; p < n; ++p) greatest = hn::Max(greatest, size.part[p]);
  if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Lt(greatest, set(clash_force_over_r))))) return false;

  const P force[3] = {Mul(force_over_r, dx), Mul(force_over_r, dy), Mul(force_over_r, dz)};
  for (std::size_t p = 0; p < n; ++p) {
    const auto r = p % registers;
    sums.x[r] = hn::Add(sums.x[r], ToIntegers(force[0].part[p]));
    sums.y[r] = hn::Add(sums.y[r], ToIntegers(force[1].part[p]));
    sums.z[r] = hn::Add(sums.z[r], ToIntegers(force[2].part[p]));
  }
  HWY_UNROLL(4)
  for (std::size_t e = 0; e < entries; ++e) {
    const auto p = e * registers;
    SubtractJForces(force[0].part + p, force[1].part + p, force[2].part + p, loop.force[cluster_of(j[e])].value);
    if constexpr (WithEnergy)
      energies.Add(IfThenElseZero(interact, lj.energy), IfThenElseZero(interact, Mul(qq, potential)), distance, force,
                   p);
  }
  return true;
}

/// Entries of a row that need no parameters from the table: as many at once as there are, at most `entries`. `masked`
/// goes with them where they have masks.
template <class Choice, std::size_t entries, bool Masked, bool WithEnergy, class OnClash>
HWY_INLINE void AddAll(const KernelConstants& k, const Loop& loop, const ICluster& ci, const PairEntry* j,
                       const MaskedEntry* masked, std::size_t n, IForces& sums, EnergySums& energies,
                       OnClash&& on_clash) {
  std::size_t e = 0;
  for (; e + entries <= n; e += entries) {
    const auto* masks = Masked ? masked + e : nullptr;
    if (HWY_LIKELY(
            (AddEntries<Choice, entries, Masked, WithEnergy>(k, loop, ci, j + e, masks, nullptr, sums, energies))))
      continue;
    if constexpr (entries == 1)
      on_clash(e);
    else
      for (std::size_t one = e; one < e + entries; ++one)
        if (!AddEntries<Choice, 1, Masked, WithEnergy>(k, loop, ci, j + one, Masked ? masked + one : nullptr, nullptr,
                                                       sums, energies))
          on_clash(one);
  }
  if constexpr (entries > 1)
    AddAll<Choice, entries / 2, Masked, WithEnergy>(k, loop, ci, j + e, Masked ? masked + e : nullptr, n - e, sums,
                                                    energies, [&](std::size_t one) { on_clash(e + one); });
}

template <class Choice, bool WithEnergy>
void RunLoop(const KernelConstants& constants, const PairListPart& part, const RowRange& rows, const std::int32_t* type,
             const Loop& loop, EnergyVirial* total, std::vector<Clash>& clashes) {
  const KernelConstants k = constants;  // of our own: nothing that is stored changes them
  ICluster ci;
  IForces sums;
  EnergySums energies;
  TableLookup table;
  for (auto row = rows.begin; row < rows.end; ++row) {
    const auto i_cluster = part.rows[row].i_cluster;
    ci.Load(loop.clusters[i_cluster]);
    sums.Clear();
    if constexpr (WithEnergy) energies.Clear();
    const auto masked = part.masked_of(row);
    for (std::size_t m = 0; m < masked.size();) {
      constexpr std::size_t most = 8;
      PairEntry j[most];
      std::size_t n = 0;
      while (n < most && m + n < masked.size() && !masked[m + n].by_table) {
        j[n] = masked[m + n].j;
        ++n;
      }
      AddAll<Choice, std::min<std::size_t>(2, at_once), true, WithEnergy>(
          k, loop, ci, j, &masked[m], n, sums, energies, [&](std::size_t e) {
            clashes.push_back({i_cluster, masked[m + e]});
          });
      m += n;
      if (m == masked.size() || !masked[m].by_table) continue;
      table.Load(k.table_12a, k.table_6b, k.n_types, type + 4 * std::ptrdiff_t{i_cluster},
                 type + 4 * std::ptrdiff_t{cluster_of(masked[m].j)});
      if (!AddEntries<Choice, 1, true, WithEnergy>(k, loop, ci, &masked[m].j, &masked[m], &table, sums, energies))
        clashes.push_back({i_cluster, masked[m]});
      ++m;
    }
    const auto plain = part.plain_of(row);
    AddAll<Choice, at_once, false, WithEnergy>(k, loop, ci, plain.data(), nullptr, plain.size(), sums, energies,
                                               [&](std::size_t e) {
                                                 clashes.push_back({i_cluster, {plain[e], 0xFFFF, 0, false}});
                                               });
    sums.AddTo(loop.force[i_cluster].value);
    if constexpr (WithEnergy) energies.AddTo(*total);
  }
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

void RunRows(const KernelConstants& k, const PairList& list, const PairListPart& part, const RowRange& rows,
             const ClusterData* clusters, const std::int32_t* type, ClusterForces* force, EnergyVirial* energies,
             std::vector<Clash>& clashes) {
  [[maybe_unused]] const FlushDenormals flush;
  const Loop loop = {list.shifts.data(), clusters, force};
  const auto run = [&](auto body) { body(k, part, rows, type, loop, energies, clashes); };
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
