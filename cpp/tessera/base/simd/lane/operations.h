// Defines Highway's types and operations for the target of target.h, which includes it, as many as kernels use.
//
// All round correctly and none is contracted. What processors and devices do in ways of their own is done here as on a
// device: a conversion of a number that does not fit saturates. Bits of NaN are the exception; no kernel keeps them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace hwy {
namespace N_LANE {

inline constexpr int warp_size = 32;

#ifdef __CUDA_ARCH__
#define TESSERA_ON(device, host) device
template <class T>
using Raw = T;
using RawMask = bool;
#else
#define TESSERA_ON(device, host) host
template <class T>
struct RawOf {
  typedef T Type __attribute__((vector_size(warp_size * sizeof(T))));
};
template <class T>
using Raw = typename RawOf<T>::Type;
using RawMask = Raw<std::int32_t>;  // 0 or −1
#endif

/// Holds a value of each lane, on a device that of its own lane.
template <class T>
struct Lanes {
  Raw<T> raw;
};
struct LanesMask {
  RawMask raw;
};

// The number of lanes of a Highway register has no meaning here.
template <class T>
struct Tag {
  using Type = T;
};
template <class T, std::size_t most>
using CappedTag = Tag<T>;
template <class T, std::size_t n>
using FixedTag = Tag<T>;

template <class V>
struct OfLanes;
template <class T>
struct OfLanes<Lanes<T>> {
  using Type = T;
};
template <class D>
using TFromD = typename D::Type;
template <class D>
using Vec = Lanes<TFromD<D>>;
template <class D>
using Mask = LanesMask;
template <class V>
using TFromV = typename OfLanes<V>::Type;
template <class V>
using DFromV = Tag<TFromV<V>>;
template <class T>
using SignedOf = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
template <class T, class D>
using Rebind = Tag<T>;
template <class D>
using RebindToSigned = Tag<SignedOf<TFromD<D>>>;
template <class D>
using RebindToUnsigned = Tag<std::make_unsigned_t<SignedOf<TFromD<D>>>>;

/// Returns 16: kernels that spread the pairs of an entry of a list over registers see one register of them. A warp holds
/// two such registers side by side.
template <class D>
HWY_INLINE constexpr std::size_t MaxLanes(D) {
  return warp_size / 2;
}

// --- what the definitions below are made of --------------------------------------------------------------------------

#ifndef __CUDA_ARCH__
/// Calls a function for each lane.
template <class To, class Function, class... From>
HWY_INLINE Raw<To> EachLane(Function function, const From&... from) {
  Raw<To> result;
  for (int lane = 0; lane < warp_size; ++lane) result[lane] = function(from[lane]...);
  return result;
}
/// Returns a comparison's result, which has as many bits as what is compared, as a mask.
template <class M>
HWY_INLINE RawMask ToMask(M compared) {
  return __builtin_convertvector(compared, RawMask);
}
template <class T>
HWY_INLINE Raw<T> Select(RawMask mask, Raw<T> yes, Raw<T> no) {
  return __builtin_convertvector(mask, Raw<SignedOf<T>>) ? yes : no;
}

/// Converts a rounded number to an integer as a device does: it saturates, and NaN becomes 0 or the least one of 64 bits.
template <class To, class From>
HWY_INLINE To Saturate(From rounded) {
  using Limits = std::numeric_limits<To>;
  constexpr From beyond = sizeof(To) == 4 ? From(0x1p31) : From(0x1p63);
  if (rounded >= -beyond && rounded < beyond) return static_cast<To>(rounded);
  if (rounded > 0) return Limits::max();
  return rounded < 0 || sizeof(To) == 8 ? Limits::min() : 0;
}
#endif

// Adds, subtracts or multiplies the integers a and b, which wrap round.
#define TESSERA_WRAPPED(T, operation) \
  (Raw<T>)((Raw<std::make_unsigned_t<T>>)a.raw operation(Raw<std::make_unsigned_t<T>>) b.raw)

// --- constants, loads and stores -------------------------------------------------------------------------------------

template <class D>
TESSERA_OPERATION Vec<D> Set(D, TFromD<D> value) {
  return {TESSERA_ON(value, value - Raw<TFromD<D>>{})};  // less 0: the same in all lanes
}
template <class D>
TESSERA_OPERATION Vec<D> Zero(D) {
  return {Raw<TFromD<D>>{}};
}

/// Returns the number of the lane.
TESSERA_OPERATION Lanes<std::int32_t> LaneNumbers() {
#ifdef __CUDA_ARCH__
  return {static_cast<std::int32_t>(threadIdx.x % warp_size)};
#else
  Raw<std::int32_t> number;
  for (int lane = 0; lane < warp_size; ++lane) number[lane] = lane;
  return {number};
#endif
}

/// Returns base[index] of each lane.
template <class D>
TESSERA_OPERATION Vec<D> GatherIndex(D, const TFromD<D>* base, const Lanes<std::int32_t>& index) {
  return {
      TESSERA_ON(base[index.raw], EachLane<TFromD<D>>([base](std::int32_t i) HWY_ATTR { return base[i]; }, index.raw))};
}
/// Returns base[lane], which stands anywhere.
template <class D>
TESSERA_OPERATION Vec<D> LoadU(D d, const TFromD<D>* base) {
  return GatherIndex(d, base, LaneNumbers());
}
/// Sets base[lane].
template <class D>
TESSERA_OPERATION void StoreU(const Vec<D>& values, D, TFromD<D>* base) {
#ifdef __CUDA_ARCH__
  base[LaneNumbers().raw] = values.raw;
#else
  for (int lane = 0; lane < warp_size; ++lane) base[lane] = values.raw[lane];
#endif
}

// --- floating point --------------------------------------------------------------------------------------------------

using F32 = Lanes<float>;
using F64 = Lanes<double>;

TESSERA_OPERATION F32 Add(const F32& a, const F32& b) { return {TESSERA_ON(__fadd_rn(a.raw, b.raw), a.raw + b.raw)}; }
TESSERA_OPERATION F64 Add(const F64& a, const F64& b) { return {TESSERA_ON(__dadd_rn(a.raw, b.raw), a.raw + b.raw)}; }
TESSERA_OPERATION F32 Sub(const F32& a, const F32& b) { return {TESSERA_ON(__fsub_rn(a.raw, b.raw), a.raw - b.raw)}; }
TESSERA_OPERATION F64 Sub(const F64& a, const F64& b) { return {TESSERA_ON(__dsub_rn(a.raw, b.raw), a.raw - b.raw)}; }
TESSERA_OPERATION F32 Mul(const F32& a, const F32& b) { return {TESSERA_ON(__fmul_rn(a.raw, b.raw), a.raw * b.raw)}; }
TESSERA_OPERATION F64 Mul(const F64& a, const F64& b) { return {TESSERA_ON(__dmul_rn(a.raw, b.raw), a.raw * b.raw)}; }
TESSERA_OPERATION F32 Div(const F32& a, const F32& b) { return {TESSERA_ON(__fdiv_rn(a.raw, b.raw), a.raw / b.raw)}; }
TESSERA_OPERATION F64 Div(const F64& a, const F64& b) { return {TESSERA_ON(__ddiv_rn(a.raw, b.raw), a.raw / b.raw)}; }

TESSERA_OPERATION F32 Sqrt(const F32& a) {
  return {TESSERA_ON(__fsqrt_rn(a.raw), EachLane<float>([](float x) HWY_ATTR { return std::sqrt(x); }, a.raw))};
}
TESSERA_OPERATION F64 Sqrt(const F64& a) {
  return {TESSERA_ON(__dsqrt_rn(a.raw), EachLane<double>([](double x) HWY_ATTR { return std::sqrt(x); }, a.raw))};
}

/// Returns a·b + c, rounded once.
TESSERA_OPERATION F32 MulAdd(const F32& a, const F32& b, const F32& c) {
  return {TESSERA_ON(__fmaf_rn(a.raw, b.raw, c.raw),
                     EachLane<float>([](float x, float y, float z) HWY_ATTR { return __builtin_fmaf(x, y, z); }, a.raw,
                                     b.raw, c.raw))};
}
TESSERA_OPERATION F64 MulAdd(const F64& a, const F64& b, const F64& c) {
  return {TESSERA_ON(__fma_rn(a.raw, b.raw, c.raw),
                     EachLane<double>([](double x, double y, double z) HWY_ATTR { return __builtin_fma(x, y, z); },
                                      a.raw, b.raw, c.raw))};
}

/// Returns the number with the other sign.
template <class T>
TESSERA_OPERATION Lanes<T> Neg(const Lanes<T>& a) {
  static_assert(std::is_floating_point_v<T>);
  return {-a.raw};
}

// Doubles are also added and so on by signs, as Highway's are.

#define TESSERA_SIGN(sign, Name) \
  HWY_INLINE F64 operator sign(const F64& a, const F64& b) { return Name(a, b); }
TESSERA_SIGN(+, Add)
TESSERA_SIGN(-, Sub)
TESSERA_SIGN(*, Mul)
TESSERA_SIGN(/, Div)
#undef TESSERA_SIGN

template <class T>
TESSERA_OPERATION Lanes<T> NegMulAdd(const Lanes<T>& a, const Lanes<T>& b, const Lanes<T>& c) {
  return MulAdd(Neg(a), b, c);
}
template <class T>
TESSERA_OPERATION Lanes<T> MulSub(const Lanes<T>& a, const Lanes<T>& b, const Lanes<T>& c) {
  return MulAdd(a, b, Neg(c));
}

// --- integers --------------------------------------------------------------------------------------------------------

template <class T>
inline constexpr bool is_integer = std::is_integral_v<T>;

template <class T>
requires is_integer<T> TESSERA_OPERATION Lanes<T> Add(const Lanes<T>& a, const Lanes<T>& b) {
  return {TESSERA_WRAPPED(T, +)};
}
template <class T>
requires is_integer<T> TESSERA_OPERATION Lanes<T> Sub(const Lanes<T>& a, const Lanes<T>& b) {
  return {TESSERA_WRAPPED(T, -)};
}
template <class T>
requires is_integer<T> TESSERA_OPERATION Lanes<T> Mul(const Lanes<T>& a, const Lanes<T>& b) {
  return {TESSERA_WRAPPED(T, *)};
}
template <class T>
requires is_integer<T> TESSERA_OPERATION Lanes<T> And(const Lanes<T>& a, const Lanes<T>& b) { return {a.raw & b.raw}; }
template <class T>
requires is_integer<T> TESSERA_OPERATION Lanes<T> Or(const Lanes<T>& a, const Lanes<T>& b) { return {a.raw | b.raw}; }
template <class T>
requires is_integer<T> TESSERA_OPERATION Lanes<T> Xor(const Lanes<T>& a, const Lanes<T>& b) { return {a.raw ^ b.raw}; }

template <int bits, class T>
TESSERA_OPERATION Lanes<T> ShiftLeft(const Lanes<T>& a) {
  return {(Raw<T>)((Raw<std::make_unsigned_t<T>>)a.raw << bits)};
}
/// Moves bits to lower places; negative numbers stay negative.
template <int bits, class T>
TESSERA_OPERATION Lanes<T> ShiftRight(const Lanes<T>& a) {
  return {a.raw >> bits};
}
/// Moves bits of each lane to higher places, by a number of its own.
template <class T>
TESSERA_OPERATION Lanes<T> Shl(const Lanes<T>& a, const Lanes<T>& bits) {
  return {(Raw<T>)((Raw<std::make_unsigned_t<T>>)a.raw << bits.raw)};
}

// --- comparisons and choices -----------------------------------------------------------------------------------------

#define TESSERA_COMPARE(Name, operation)                                       \
  template <class T>                                                           \
  TESSERA_OPERATION LanesMask Name(const Lanes<T>& a, const Lanes<T>& b) {     \
    return {TESSERA_ON(a.raw operation b.raw, ToMask(a.raw operation b.raw))}; \
  }
TESSERA_COMPARE(Eq, ==)
TESSERA_COMPARE(Ne, !=)
TESSERA_COMPARE(Lt, <)
TESSERA_COMPARE(Le, <=)
TESSERA_COMPARE(Gt, >)
TESSERA_COMPARE(Ge, >=)
#undef TESSERA_COMPARE

#define TESSERA_COMPARING_SIGN(sign, Name) \
  HWY_INLINE LanesMask operator sign(const F64& a, const F64& b) { return Name(a, b); }
TESSERA_COMPARING_SIGN(<, Lt)
TESSERA_COMPARING_SIGN(<=, Le)
TESSERA_COMPARING_SIGN(>, Gt)
TESSERA_COMPARING_SIGN(>=, Ge)
#undef TESSERA_COMPARING_SIGN

/// Returns the mask for lanes of another type.
template <class D>
HWY_INLINE LanesMask RebindMask(D, const LanesMask& mask) {
  return mask;
}

TESSERA_OPERATION LanesMask And(const LanesMask& a, const LanesMask& b) {
  return {TESSERA_ON(a.raw && b.raw, a.raw & b.raw)};
}
TESSERA_OPERATION LanesMask Or(const LanesMask& a, const LanesMask& b) {
  return {TESSERA_ON(a.raw || b.raw, a.raw | b.raw)};
}
TESSERA_OPERATION LanesMask Not(const LanesMask& a) { return {TESSERA_ON(!a.raw, ~a.raw)}; }
/// Returns !a & b.
TESSERA_OPERATION LanesMask AndNot(const LanesMask& a, const LanesMask& b) { return And(Not(a), b); }

template <class T>
TESSERA_OPERATION LanesMask TestBit(const Lanes<T>& a, const Lanes<T>& bit) {
  return Eq(And(a, bit), bit);
}
template <class T>
TESSERA_OPERATION Lanes<T> IfThenElse(const LanesMask& mask, const Lanes<T>& yes, const Lanes<T>& no) {
  return {TESSERA_ON(mask.raw ? yes.raw : no.raw, Select<T>(mask.raw, yes.raw, no.raw))};
}
template <class T>
TESSERA_OPERATION Lanes<T> IfThenElseZero(const LanesMask& mask, const Lanes<T>& yes) {
  return IfThenElse(mask, yes, Zero(Tag<T>()));
}
template <class T>
TESSERA_OPERATION Lanes<T> IfThenZeroElse(const LanesMask& mask, const Lanes<T>& no) {
  return IfThenElse(mask, Zero(Tag<T>()), no);
}

// Of equal numbers, and where one is none, these return the second, as x86 does.

template <class T>
TESSERA_OPERATION Lanes<T> Max(const Lanes<T>& a, const Lanes<T>& b) {
  return IfThenElse(Gt(a, b), a, b);
}
template <class T>
TESSERA_OPERATION Lanes<T> Min(const Lanes<T>& a, const Lanes<T>& b) {
  return IfThenElse(Lt(a, b), a, b);
}

// --- conversions -----------------------------------------------------------------------------------------------------

template <class D, class From, class T = TFromD<D>>
TESSERA_OPERATION Lanes<T> BitCast(D, const Lanes<From>& a) {
  static_assert(sizeof(T) == sizeof(From));
  return {TESSERA_ON(__builtin_bit_cast(T, a.raw), (Raw<T>)a.raw)};
}
/// Changes the bits that a second number has.
TESSERA_OPERATION F64 Xor(const F64& a, const F64& b) {
  using Integers = Tag<std::int64_t>;
  return BitCast(Tag<double>(), Xor(BitCast(Integers(), a), BitCast(Integers(), b)));
}
/// Takes the sign off.
template <class T>
TESSERA_OPERATION Lanes<T> Abs(const Lanes<T>& a) {
  static_assert(std::is_floating_point_v<T>);
  using Integers = Tag<SignedOf<T>>;
  return BitCast(Tag<T>(), And(BitCast(Integers(), a), Set(Integers(), std::numeric_limits<SignedOf<T>>::max())));
}

/// Returns the first number with the sign of the second.
template <class T>
TESSERA_OPERATION Lanes<T> CopySign(const Lanes<T>& a, const Lanes<T>& sign) {
  using Integers = Tag<SignedOf<T>>;
  const auto bit = Set(Integers(), std::numeric_limits<SignedOf<T>>::min());
  return BitCast(Tag<T>(), Or(BitCast(Integers(), Abs(a)), And(BitCast(Integers(), sign), bit)));
}

template <class T>
TESSERA_OPERATION LanesMask IsFinite(const Lanes<T>& a) {
  return Lt(Abs(a), Set(Tag<T>(), std::numeric_limits<T>::infinity()));
}

TESSERA_OPERATION F64 Round(const F64& a) {
  return {TESSERA_ON(rint(a.raw), EachLane<double>([](double x) HWY_ATTR { return std::nearbyint(x); }, a.raw))};
}
TESSERA_OPERATION Lanes<std::int32_t> NearestInt(const F32& a) {
  return {TESSERA_ON(
      __float2int_rn(a.raw),
      EachLane<std::int32_t>([](float x) HWY_ATTR { return Saturate<std::int32_t>(std::nearbyintf(x)); }, a.raw))};
}

// Conversions to integers drop fractions, those to floating point round to the nearest number.

TESSERA_OPERATION Lanes<std::int32_t> ConvertTo(Tag<std::int32_t>, const F32& a) {
  return {TESSERA_ON(__float2int_rz(a.raw),
                     EachLane<std::int32_t>([](float x) HWY_ATTR { return Saturate<std::int32_t>(x); }, a.raw))};
}
TESSERA_OPERATION Lanes<std::int64_t> ConvertTo(Tag<std::int64_t>, const F64& a) {
  return {TESSERA_ON(__double2ll_rz(a.raw),
                     EachLane<std::int64_t>([](double x) HWY_ATTR { return Saturate<std::int64_t>(x); }, a.raw))};
}
TESSERA_OPERATION F32 ConvertTo(Tag<float>, const Lanes<std::int32_t>& a) {
  return {TESSERA_ON(__int2float_rn(a.raw), __builtin_convertvector(a.raw, Raw<float>))};
}
TESSERA_OPERATION F64 ConvertTo(Tag<double>, const Lanes<std::int64_t>& a) {
  return {TESSERA_ON(__ll2double_rn(a.raw), __builtin_convertvector(a.raw, Raw<double>))};
}
TESSERA_OPERATION Lanes<std::int32_t> DemoteTo(Tag<std::int32_t>, const F64& a) {
  return {TESSERA_ON(__double2int_rz(a.raw),
                     EachLane<std::int32_t>([](double x) HWY_ATTR { return Saturate<std::int32_t>(x); }, a.raw))};
}
TESSERA_OPERATION F32 DemoteTo(Tag<float>, const F64& a) {
  return {TESSERA_ON(__double2float_rn(a.raw), __builtin_convertvector(a.raw, Raw<float>))};
}
/// Converts to a type that holds every value of the narrower one.
template <class D, class From, class T = TFromD<D>>
TESSERA_OPERATION Lanes<T> PromoteTo(D, const Lanes<From>& a) {
  static_assert(sizeof(T) == 2 * sizeof(From));
  return {TESSERA_ON(static_cast<T>(a.raw), __builtin_convertvector(a.raw, Raw<T>))};
}

// --- the whole warp --------------------------------------------------------------------------------------------------

template <class D>
TESSERA_OPERATION bool AllFalse(D, const LanesMask& mask) {
#ifdef __CUDA_ARCH__
  return __any_sync(~0u, mask.raw) == 0;
#else
  std::int32_t any = 0;
  for (int lane = 0; lane < warp_size; ++lane) any |= mask.raw[lane];
  return any == 0;
#endif
}
/// Returns the greatest of all lanes, in each of them.
template <class D, class T = TFromD<D>>
TESSERA_OPERATION Lanes<T> MaxOfLanes(D, const Lanes<T>& a) {
#ifdef __CUDA_ARCH__
  T most = a.raw;
  for (int bit = 1; bit < warp_size; bit *= 2) {
    const T other = __shfl_xor_sync(~0u, most, bit);
    most = other > most ? other : most;
  }
  return {most};
#else
  T most = a.raw[0];
  for (int lane = 1; lane < warp_size; ++lane) most = a.raw[lane] > most ? a.raw[lane] : most;
  return Set(D(), most);
#endif
}
/// Returns the first lane's value on a host, and each lane's own on a device: use it where all are equal.
template <class T>
TESSERA_OPERATION T GetLane(const Lanes<T>& a) {
  return TESSERA_ON(a.raw, a.raw[0]);
}

template <class D>
TESSERA_OPERATION bool AllTrue(D d, const LanesMask& mask) {
  return AllFalse(d, Not(mask));
}

}  // namespace N_LANE
}  // namespace hwy
HWY_AFTER_NAMESPACE();
