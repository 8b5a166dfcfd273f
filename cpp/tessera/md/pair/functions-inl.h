// Computes the functions of distance (functions.h) for kernels, on packs of registers in single precision. The kernels
// include it once for each instruction set.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tessera/base/simd/denormals.h"
#include "tessera/base/simd/reciprocal-inl.h"
#include "tessera/base/simd/rounding-inl.h"
#include "tessera/md/pair/clusters/cluster_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = tessera::simd::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;
using DI = hn::RebindToSigned<D>;
using VI = hn::Vec<DI>;
using M = hn::Mask<D>;
using D4 = hn::FixedTag<float, 4>;
using V4 = hn::Vec<D4>;

constexpr std::size_t lanes = hn::MaxLanes(D());
constexpr std::size_t registers = 16 / lanes;

HWY_INLINE V set(float value) { return hn::Set(D(), value); }

// A kernel has a long chain of dependent operations, and a processor's out-of-order window is limited. The functions
// below therefore work on packs of registers, in which several independent chains run side by side.

/// Holds `n` registers as one value. An operation on packs acts on each register; a single register stands for n equal
/// ones.
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
#define TESSERA_PACK_3(Operations, Operation)                                                                       \
  template <class A, class B, class C, std::size_t n = widest<A, B, C>>                                             \
  requires(n > 0) HWY_INLINE Pack<n> Operation(const A& a, const B& b, const C& c) {                                \
    Pack<n> result;                                                                                                 \
    for (std::size_t i = 0; i < n; ++i) result.part[i] = Operations::Operation(Part(a, i), Part(b, i), Part(c, i)); \
    return result;                                                                                                  \
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
TESSERA_PACK_3(simd, MulAdd)
TESSERA_PACK_3(simd, MulSub)
TESSERA_PACK_3(simd, NegMulAdd)
TESSERA_PACK_3(hn, IfThenElse)
#undef TESSERA_PACK_1
#undef TESSERA_PACK_2
#undef TESSERA_PACK_3

/// Stands for the number one, with which operations are free.
struct One {};
template <class B>
HWY_INLINE B Mul(One, const B& b) {
  return b;
}
template <class A>
HWY_INLINE auto Sub(const A& a, One) {
  return Sub(a, set(1.0f));
}
template <class B, class C>
HWY_INLINE auto NegMulAdd(One, const B& b, const C& c) {
  return Sub(c, b);
}

/// Holds what the functions need of a distance.
template <class T>
struct Distance {
  T r2, r, inverse, inverse2;  // r², r, 1/r and 1/r²
};

/// Tells how 1/r² is computed, which changes no bit.
enum class Reciprocals { divided, multiplied };

/// Returns the powers of a distance. All processors round quotients and roots alike, which their estimates of 1/√ are
/// not. Both come from r² at once, and a unit of their own computes them beside other entries' multiplications.
template <Reciprocals reciprocals = Reciprocals::divided, std::size_t n>
HWY_INLINE Distance<Pack<n>> DistanceOf(const Pack<n>& r2) {
  Pack<n> r, inverse2;
  for (std::size_t i = 0; i < n; ++i) {  // in turns: operations on whole packs would wait in memory
    inverse2.part[i] =
        reciprocals == Reciprocals::divided ? hn::Div(set(1.0f), r2.part[i]) : simd::RoundedReciprocal(D(), r2.part[i]);
    r.part[i] = reciprocals == Reciprocals::divided ? hn::Sqrt(r2.part[i]) : simd::RoundedRoot(r2.part[i]);
  }
  return {r2, r, Mul(r, inverse2), inverse2};
}

/// Returns Σ cᵢtⁱ, with even and odd powers in two chains. Leading zeros do not change the result.
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

/// Returns the sum over the four blocks of four lanes that an entry's registers hold: what each j-atom gets from all
/// i-atoms. The order of the sum is the same for all widths: first blocks 0 and 2, 1 and 3.
template <class W>  // a template, so that only the branch of this width is compiled
HWY_INLINE auto SumBlocks(const W* of_entry) {
#ifdef TESSERA_LANE
  const W eight = hn::Add(*of_entry, simd::Exchange<8>(*of_entry));
  return hn::Add(eight, simd::Exchange<4>(eight));
#else
  const hn::FixedTag<hn::TFromV<W>, 4> four;
  if constexpr (lanes == 16) {
    const hn::Half<hn::DFromV<W>> half;
    const auto eight = hn::Add(hn::LowerHalf(half, *of_entry), hn::UpperHalf(half, *of_entry));
    return hn::Add(hn::LowerHalf(four, eight), hn::UpperHalf(four, eight));
  } else if constexpr (lanes == 8) {
    const auto eight = hn::Add(of_entry[0], of_entry[1]);
    return hn::Add(hn::LowerHalf(four, eight), hn::UpperHalf(four, eight));
  } else {
    return hn::Add(hn::Add(of_entry[0], of_entry[2]), hn::Add(of_entry[1], of_entry[3]));
  }
#endif
}

/// Fixes the settings that a loop is compiled for; `Runtime` reads them from the constants each time.
struct Runtime {
  static constexpr bool fixed = false;
  static constexpr Lookup lookup = Lookup::none;
};
template <LjModifier lj_modifier, bool with_two_cutoffs = false>
struct Fixed {
  static constexpr bool fixed = true;
  static constexpr Lookup lookup = Lookup::none;
  static constexpr bool two_cutoffs = with_two_cutoffs;
  static constexpr LjModifier lj = lj_modifier;
};

/// Adds pair potentials to a choice.
template <class Choice, Lookup which>
struct WithLookup : Choice {
  static constexpr Lookup lookup = which;
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

/// Returns, lane by lane, the value of the piece that the last three bits of `index` name. `of_pieces` holds the values
/// of eight pieces twice, so that registers of sixteen lanes find them too.
HWY_INLINE V LookUpPiece(const float* of_pieces, VI index) {
  static_assert(PiecewisePolynomial::n_pieces == 8);
#ifdef TESSERA_LANE
  return hn::GatherIndex(D(), of_pieces, hn::And(index, hn::Set(DI(), 7)));
#elif HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  return V{_mm512_permutexvar_ps(index.raw, hn::Load(D(), of_pieces).raw)};
#elif HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
  return V{_mm256_permutevar8x32_ps(hn::Load(D(), of_pieces).raw, index.raw)};
#else
  const auto in_half = hn::IndicesFromVec(D(), hn::And(index, hn::Set(DI(), 3)));
  const auto is_upper = hn::TestBit(index, hn::Set(DI(), 4));
  return hn::IfThenElse(hn::RebindMask(D(), is_upper), hn::TableLookupLanes(hn::Load(D(), of_pieces + 4), in_half),
                        hn::TableLookupLanes(hn::Load(D(), of_pieces), in_half));
#endif
}

/// Returns `direct` minus F·r of the mesh's contribution between unit charges, erf(αr)/r − 2α/√π e^(−α²r²). `pieces` are
/// those of the constants, or a copy of them. Looking up eight short polynomials takes fewer operations than computing a long one, and it uses ports that multiplications
/// leave idle.
template <class Choice, std::size_t n>
HWY_INLINE Pack<n> WithoutMesh(const KernelConstants& k, const EwaldPieces& pieces, const Pack<n>& r2,
                               const Pack<n>& direct) {
  if (!Choice::fixed && k.needs_high_degree)
    return Sub(direct, Evaluate<ewald_degree_high>(k.ewald_force, MulAdd(r2, set(k.ewald_scale), set(-1.0f))));
  const auto scale = set(k.ewald_pieces_scale), to_integer = set(0x1.8p23f);
  const auto shifted = MulAdd(r2, scale, to_integer);  // its last bits are the number of the piece
  const auto u = MulSub(r2, scale, Sub(shifted, to_integer));
  const auto coefficient = [&](int c) HWY_ATTR {
    Pack<n> of_lanes;
    for (std::size_t i = 0; i < n; ++i) of_lanes.part[i] = LookUpPiece(pieces[c], hn::BitCast(DI(), shifted.part[i]));
    return of_lanes;
  };
  Pack<n> sum = coefficient(PiecewisePolynomial::degree);
  HWY_UNROLL(4)
  for (int c = PiecewisePolynomial::degree - 1; c >= 1; --c) sum = MulAdd(sum, u, coefficient(c));
  return NegMulAdd(sum, u, Sub(direct, coefficient(0)));
}

template <class Choice>
HWY_INLINE bool HasTwoCutoffs(const KernelConstants& k) {
  if constexpr (Choice::fixed)
    return Choice::two_cutoffs;
  else
    return k.has_two_cutoffs;
}

/// F·r, which most formulas yield directly, and the energy.
template <class T>
struct PairForce {
  T force_times_r, energy;
};

/// Computes Lennard-Jones from the repulsion R = 12A/r¹² and the dispersion P = 6B/r⁶, in units of both.
template <class Choice, bool WithEnergy, class T, class U>
HWY_INLINE PairForce<T> LennardJones(const KernelConstants& k, const T& repulsion, const U& dispersion,
                                     const Distance<T>& distance) {
  const auto& [r2, r, inverse, inverse2] = distance;
  const auto twelfth = set(1.0f / 12), sixth = set(1.0f / 6);
  switch (ChosenLj<Choice>(k)) {
    case LjModifier::cut: {
      T energy = hn::Zero(D());
      if constexpr (WithEnergy) energy = NegMulAdd(dispersion, sixth, Mul(repulsion, twelfth));
      return {Sub(repulsion, dispersion), energy};
    }
    case LjModifier::pme: {
      // The value at the cut-off is taken off; what goes with the mesh comes by DispersionWithoutMesh().
      T energy = hn::Zero(D());
      if constexpr (WithEnergy) {
        const auto r6 = Mul(Mul(Mul(r2, r2), r2), set(k.inverse_cutoff6));  // (r/r_c)⁶
        const auto twelve = NegMulAdd(Mul(r6, r6), Mul(repulsion, twelfth), Mul(repulsion, twelfth));
        energy = Sub(twelve, NegMulAdd(r6, Mul(dispersion, sixth), Mul(dispersion, sixth)));
      }
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
      const auto r3 = Mul(r2, r), r6 = Mul(r3, r3);
      const auto one = set(1.0f);
      // k (1 − (r/r_c)ⁿ) falls to one at r_s; greater values belong to distances inside r_s.
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
      if constexpr (std::is_same_v<U, One>) return {MulSub(repulsion, f12, f6), energy};
      return {NegMulAdd(dispersion, f6, Mul(repulsion, f12)), energy};
    }
    case LjModifier::force_switch_gromacs: {
      const auto t = Max(Sub(r, set(k.switch_distance)), hn::Zero(D()));
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
      const auto w = set(k.switch_inverse_width);
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

/// Returns an atom's factor in 6cᵢcⱼ, from the combination rule's parameters: 6cᵢcⱼ is 24√(εᵢεⱼ)σᵢ³σⱼ³.
template <class T>
HWY_INLINE T DispersionFactor(KernelRule rule, const T& sigma, const T& epsilon) {
  const T s3 = Mul(Mul(sigma, sigma), sigma);
  if (rule == KernelRule::lorentz_berthelot) return Mul(Mul(epsilon, set(8.0f)), s3);  // sigma is 2^(1/6) σ/2
  return Mul(epsilon, Mul(s3, s3));                                                    // sigma² is 2^(1/6) σ
}

/// Computes what the direct sum of LjModifier::pme adds, for 6C = 1.
template <bool WithEnergy, std::size_t n>
HWY_INLINE PairForce<Pack<n>> DispersionWithoutMesh(const KernelConstants& k, const Pack<n>& r2) {
  const auto t = MulAdd(r2, set(k.dispersion_scale), set(-1.0f));
  Pack<n> energy = hn::Zero(D());
  if constexpr (WithEnergy) energy = Evaluate<ewald_degree_high>(k.dispersion_energy, t);
  return {Evaluate<dispersion_degree>(k.dispersion_force, t), energy};
}

/// Computes Coulomb's interaction of unit charge product without a mesh.
template <bool WithEnergy, class T>
HWY_INLINE PairForce<T> PlainCoulomb(const KernelConstants& k, const Distance<T>& distance) {
  const auto& [r2, r, inverse, inverse2] = distance;
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
        const auto r3 = Mul(r2, r), r5 = Mul(r2, r3);
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

/// Denormal numbers from padding and from exponentials at large distances would halve the kernel's speed.
using FlushDenormals = tessera::simd::FlushDenormals<HWY_TARGET != HWY_EMU128>;

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pair
HWY_AFTER_NAMESPACE();
