// Defines what lanes of a warp do together, and what else Highway has no name for; target.h includes it.
#pragma once

HWY_BEFORE_NAMESPACE();
namespace tessera::simd {
namespace N_LANE {

namespace hn = hwy::N_LANE;

using Numbers = hn::Lanes<std::int32_t>;

using hn::LaneNumbers;

/// Returns the same integer in all lanes.
HWY_INLINE Numbers Integer(std::int32_t value) { return hn::Set(hn::Tag<std::int32_t>(), value); }

/// Tells the first lane of a warp that it is.
HWY_INLINE hn::LanesMask IsFirstLane() { return hn::Eq(LaneNumbers(), Integer(0)); }

/// Returns numbers that are not negative divided by a positive one, without the rest.
TESSERA_OPERATION Numbers Quotient(const Numbers& a, std::int32_t by) { return {a.raw / by}; }

/// Returns a function of each lane's number, which is one text for hosts and devices and does what IEEE 754 rounds.
template <class Function>
HWY_INLINE hn::Lanes<double> OfEach(Function function, const hn::Lanes<double>& a) {
  return {TESSERA_ON(function(a.raw), hn::EachLane<double>(function, a.raw))};
}

/// Calls such a function with each lane's integer and with n numbers that it sets, and returns what it returns.
template <int n, class Function>
HWY_INLINE Numbers ForEachLane(Function function, const Numbers& a, hn::Lanes<double> (&results)[n]) {
#ifdef __CUDA_ARCH__
  double own[n];
  const Numbers returned = {function(a.raw, own)};
  HWY_UNROLL(64)
  for (int i = 0; i < n; ++i) results[i].raw = own[i];
#else
  Numbers returned;
  for (int lane = 0; lane < hn::warp_size; ++lane) {
    double own[n];
    returned.raw[lane] = function(a.raw[lane], own);
    for (int i = 0; i < n; ++i) results[i].raw[lane] = own[i];
  }
#endif
  return returned;
}

/// Returns the value of the lane whose number differs in one bit.
template <int bit, class T>
TESSERA_OPERATION hn::Lanes<T> Exchange(const hn::Lanes<T>& a) {
  static_assert(bit > 0 && bit < hn::warp_size && (bit & (bit - 1)) == 0);
#ifdef __CUDA_ARCH__
  return {__shfl_xor_sync(~0u, a.raw, bit)};
#else
  hn::Raw<T> result;
  for (int lane = 0; lane < hn::warp_size; ++lane) result[lane] = a.raw[lane ^ bit];
  return {result};
#endif
}

/// Returns the value of the first lane.
template <class T>
TESSERA_OPERATION T OfFirst(const hn::Lanes<T>& a) {
  return TESSERA_ON(__shfl_sync(~0u, a.raw, 0), a.raw[0]);
}

/// Returns in how many lanes a mask is set.
TESSERA_OPERATION std::int32_t CountTrue(const hn::LanesMask& mask) {
#ifdef __CUDA_ARCH__
  return __popc(__ballot_sync(~0u, mask.raw));
#else
  std::int32_t n = 0;
  for (int lane = 0; lane < hn::warp_size; ++lane) n += mask.raw[lane] != 0 ? 1 : 0;
  return n;
#endif
}

/// Tells each lane in how many lanes before it a mask is set.
TESSERA_OPERATION Numbers CountBefore(const hn::LanesMask& mask) {
#ifdef __CUDA_ARCH__
  return {
      static_cast<std::int32_t>(__popc(__ballot_sync(~0u, mask.raw) & ((1u << (threadIdx.x % hn::warp_size)) - 1)))};
#else
  hn::Raw<std::int32_t> result{};
  for (int lane = 1; lane < hn::warp_size; ++lane) result[lane] = result[lane - 1] + (mask.raw[lane - 1] != 0 ? 1 : 0);
  return {result};
#endif
}

/// Lets lanes see what others of their warp have written to memory that a block shares.
TESSERA_OPERATION void SyncWarp() {
#ifdef __CUDA_ARCH__
  __syncwarp();
#endif
}

/// Returns the sum over all lanes, in each of them.
template <class T>
TESSERA_OPERATION hn::Lanes<T> SumOfWarp(const hn::Lanes<T>& a) {
  static_assert(std::is_integral_v<T>, "another order would have other bits");
  const auto two = hn::Add(a, Exchange<1>(a)), four = hn::Add(two, Exchange<2>(two));
  const auto eight = hn::Add(four, Exchange<4>(four)), sixteen = hn::Add(eight, Exchange<8>(eight));
  return hn::Add(sixteen, Exchange<16>(sixteen));
}

/// Tells each lane whether the mask is set in any lane of its half of the warp.
TESSERA_OPERATION hn::LanesMask AnyOfHalf(const hn::LanesMask& mask) {
#ifdef __CUDA_ARCH__
  return {((__ballot_sync(~0u, mask.raw) >> (threadIdx.x & 16)) & 0xFFFF) != 0};
#else
  hn::RawMask result;
  for (int half = 0; half < hn::warp_size; half += 16) {
    std::int32_t any = 0;
    for (int lane = half; lane < half + 16; ++lane) any |= mask.raw[lane];
    for (int lane = half; lane < half + 16; ++lane) result[lane] = any;
  }
  return {result};
#endif
}

/// Returns the nearest integers of 64 bits.
TESSERA_OPERATION hn::Lanes<std::int64_t> ToWideIntegers(const hn::F32& a) {
  return {TESSERA_ON(__float2ll_rn(a.raw),
                     hn::EachLane<std::int64_t>(
                         [](float x) HWY_ATTR { return hn::Saturate<std::int64_t>(std::nearbyintf(x)); }, a.raw))};
}

/// Returns 1/x, with the bits of a division, for x of 2⁻¹⁰⁰ to 2¹⁰⁰. These are the operations to which NVIDIA's compiler
/// turns a division, on every device, once it has found that a number is in such a range.
TESSERA_OPERATION hn::F32 ShortReciprocal(const hn::F32& x) {
#ifdef __CUDA_ARCH__
  float estimate;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(estimate) : "f"(x.raw));
  return {__fmaf_rn(estimate, __fmaf_rn(-x.raw, estimate, 1.0f), estimate)};
#else
  return {1.0f / x.raw};
#endif
}

/// Returns √x likewise, but no number for 0.
TESSERA_OPERATION hn::F32 ShortRoot(const hn::F32& x) {
#ifdef __CUDA_ARCH__
  float estimate;  // of 1/√x
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(estimate) : "f"(x.raw));
  const float root = __fmul_rn(estimate, x.raw);
  return {__fmaf_rn(__fmaf_rn(-root, root, x.raw), __fmul_rn(estimate, 0.5f), root)};
#else
  return hn::Sqrt(x);
#endif
}

/// Sets base[index] of the lanes of a mask, none of which have the same index.
template <class T>
TESSERA_OPERATION void Scatter(const hn::Lanes<T>& values, T* base, const Numbers& index, const hn::LanesMask& mask) {
#ifdef __CUDA_ARCH__
  if (mask.raw) base[index.raw] = values.raw;
#else
  for (int lane = 0; lane < hn::warp_size; ++lane)
    if (mask.raw[lane] != 0) base[index.raw[lane]] = values.raw[lane];
#endif
}

/// Adds an integer to another and returns what that was. On a host no other thread adds meanwhile.
template <class T>
TESSERA_OPERATION T AddToOne(T* sum, T value) {
  static_assert(std::is_integral_v<T>, "sums of floating point depend on their order");
  using Unsigned = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
#ifdef __CUDA_ARCH__
  return static_cast<T>(atomicAdd(reinterpret_cast<Unsigned*>(sum), static_cast<Unsigned>(value)));
#else
  const T before = *sum;
  *sum = static_cast<T>(static_cast<Unsigned>(before) + static_cast<Unsigned>(value));
  return before;
#endif
}

/// Adds integers, which wrap round, to base[index] of the lanes of a mask. Others may add to the same ones meanwhile.
template <class T>
TESSERA_OPERATION void AtomicAdd(const hn::Lanes<T>& values, T* base, const Numbers& index, const hn::LanesMask& mask) {
#ifdef __CUDA_ARCH__
  if (mask.raw) AddToOne(base + index.raw, values.raw);
#else
  for (int lane = 0; lane < hn::warp_size; ++lane)
    if (mask.raw[lane] != 0) AddToOne(base + index.raw[lane], values.raw[lane]);
#endif
}

/// Makes an integer at least as great as others.
TESSERA_OPERATION void RaiseOne(std::int64_t* most, std::int64_t value) {
#ifdef __CUDA_ARCH__
  atomicMax(reinterpret_cast<long long*>(most), static_cast<long long>(value));
#else
  *most = std::max(*most, value);
#endif
}

/// Makes an integer at least as great as those of all lanes.
TESSERA_OPERATION void AtomicMax(const hn::Lanes<std::int64_t>& values, std::int64_t* most) {
  const auto greatest = hn::MaxOfLanes(hn::Tag<std::int64_t>(), values);
#ifdef __CUDA_ARCH__
  if (threadIdx.x % hn::warp_size == 0) RaiseOne(most, greatest.raw);
#else
  RaiseOne(most, greatest.raw[0]);
#endif
}

/// Gives each lane of a mask a number of its own, in no order: those that follow `counter`, which it advances.
TESSERA_OPERATION Numbers TakeNumbers(std::int32_t* counter, const hn::LanesMask& mask) {
#ifdef __CUDA_ARCH__
  return {mask.raw ? AddToOne(counter, 1) : 0};
#else
  hn::Raw<std::int32_t> result{};
  for (int lane = 0; lane < hn::warp_size; ++lane)
    if (mask.raw[lane] != 0) result[lane] = AddToOne(counter, 1);
  return {result};
#endif
}

/// Counts one at base[index] for each lane of a mask, and returns what had been counted there before, in no order.
TESSERA_OPERATION Numbers CountAt(std::int32_t* base, const Numbers& index, const hn::LanesMask& mask) {
#ifdef __CUDA_ARCH__
  return {mask.raw ? AddToOne(base + index.raw, 1) : 0};
#else
  hn::Raw<std::int32_t> result{};
  for (int lane = 0; lane < hn::warp_size; ++lane)
    if (mask.raw[lane] != 0) result[lane] = AddToOne(base + index.raw[lane], 1);
  return {result};
#endif
}

/// Gives a warp `n` numbers of its own, from the one that it returns on; they follow `counter`, which it advances.
TESSERA_OPERATION std::int32_t TakeRow(std::int32_t* counter, std::int32_t n) {
#ifdef __CUDA_ARCH__
  return __shfl_sync(~0u, threadIdx.x % hn::warp_size == 0 ? AddToOne(counter, n) : 0, 0);
#else
  return AddToOne(counter, n);
#endif
}

}  // namespace N_LANE
}  // namespace tessera::simd
HWY_AFTER_NAMESPACE();
