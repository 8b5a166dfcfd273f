// Draws normal deviates with one atom per lane; it is included once for each instruction set, and for lanes of a device. Logarithm, sine and
// cosine are polynomials of degree 6 that interpolate at Chebyshev's points, with errors of two units in the last
// place: Highway's are other bits where multiplications and additions can't be fused.
#include "tessera/base/simd/rounding-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::integrate {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = tessera::simd::HWY_NAMESPACE;
namespace lanewise = constraint::HWY_NAMESPACE;

using lanewise::D;
using lanewise::set;
using lanewise::V;
using lanewise::Vectors;
using DU64 = hn::RebindToUnsigned<D>;
using VU64 = hn::Vec<DU64>;

/// Holds a 32-bit word of each lane in the lower half of 64 bits.
HWY_INLINE VU64 Word(std::uint64_t value) { return hn::Set(DU64(), value & 0xFFFFFFFFu); }
HWY_INLINE VU64 LowHalf(VU64 value) { return hn::And(value, Word(0xFFFFFFFFu)); }
HWY_INLINE VU64 Product(VU64 word, std::uint32_t factor) {
#ifdef TESSERA_LANE
  return hn::Mul(word, Word(factor));
#else
  const hn::Repartition<std::uint32_t, DU64> words;
  return hn::MulEven(hn::BitCast(words, word), hn::BitCast(words, Word(factor)));
#endif
}

/// Runs Philox4x32-10 on a counter (Salmon et al. 2011, the constants are the paper's).
HWY_INLINE void Philox(VU64 (&counter)[4], std::uint64_t seed) {
  auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const VU64 product0 = Product(counter[0], 0xD2511F53u), product1 = Product(counter[2], 0xCD9E8D57u);
    const VU64 next0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product1), counter[1]), Word(key0));
    const VU64 next2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product0), counter[3]), Word(key1));
    counter[0] = next0;
    counter[1] = LowHalf(product1);
    counter[2] = next2;
    counter[3] = LowHalf(product0);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

/// Returns the number that 52 bits of each lane are.
HWY_INLINE V ToDouble(VU64 bits) {
  const V shift = set(0x1p52);  // whose lower bits are then these
  return hn::BitCast(D(), hn::Or(bits, hn::BitCast(DU64(), shift))) - shift;
}

/// Returns a number in (0, 1) for a word: (word + 1/2)/2³².
HWY_INLINE V Uniform(VU64 word) { return (ToDouble(word) + set(0.5)) * set(1 / 4294967296.0); }

/// Returns Σ cᵢxⁱ.
HWY_INLINE V Polynomial(const double (&c)[7], V x) {
  V sum = set(c[6]);
  HWY_UNROLL(6)
  for (int i = 5; i >= 0; --i) sum = simd::MulAdd(sum, x, set(c[i]));
  return sum;
}

/// Returns the natural logarithm of positive normal numbers.
///
/// Formula: x = 2ᵏ(1 + f) with 1 + f from √½ to √2; log(1 + f) = f − f²/2 + s(f²/2 + s²P(s²)), s = f/(2 + f), as
///   log(1 + f) = 2 artanh s
HWY_INLINE V Log(V x) {
  constexpr double p[] = {0x1.5555555555558p-1, 0x1.99999999952d7p-2, 0x1.2492492df281ap-2, 0x1.c71c62e3f11e6p-3,
                          0x1.7462b51cb66b1p-3, 0x1.39fe51a7c18f9p-3, 0x1.2b5900de53b32p-3};
  const D d;
  const DU64 du;
  const VU64 root_half = hn::BitCast(du, set(0x1.6a09e667f3bcdp-1));
  // The exponent of x/√½, which is 1023 + k, above the bits of 1 + f less those of √½.
  const VU64 bits = hn::Add(hn::BitCast(du, x), hn::Sub(hn::BitCast(du, set(1)), root_half));
  const V k = ToDouble(hn::ShiftRight<52>(bits)) - set(1023);
  const VU64 mantissa = hn::Add(hn::And(bits, hn::Set(du, 0xFFFFFFFFFFFFFull)), root_half);
  const V f = hn::BitCast(d, mantissa) - set(1);
  const V s = f / (set(2) + f), z = s * s, half_square = set(0.5) * f * f;
  const V rest = s * simd::MulAdd(z, Polynomial(p, z), half_square);
  const V low = simd::MulAdd(k, set(0x1.9ef35793c7673p-41), rest);  // ln 2 in two parts, of which k times one is exact
  return simd::MulAdd(k, set(0x1.62e42fefa2000p-1), f - (half_square - low));
}

struct SinCos {
  V sin, cos;
};

/// Returns sine and cosine of 2π Uniform(word).
///
/// Formula: the angle is a whole number of quarter turns and r turns, |r| ≤ 1/8, without error; sin 2πr = r P(r²) and
///   cos 2πr = 1 + r² Q(r²)
HWY_INLINE SinCos SinCosOfTurn(VU64 word) {
  constexpr double p[] = {0x1.921fb54442d18p+2, -0x1.4abbce625be41p+5, 0x1.466bc677587f8p+6, -0x1.32d2cce2e5b19p+6,
                          0x1.50782fda12d96p+5, -0x1.e30071afc3e59p+3, 0x1.e3f38399551bfp+1};
  constexpr double q[] = {-0x1.3bd3cc9be45dep+4, 0x1.03c1f081b5ac0p+6, -0x1.55d3c7e3cb241p+6, 0x1.e1f5068688d5bp+5,
                          -0x1.a6d1eef479be1p+4, 0x1.f9ce245cada0bp+2, -0x1.b2f3eb054afcdp+0};
  const D d;
  const DU64 du;
  const VU64 quarters = hn::ShiftRight<30>(hn::Add(word, hn::Set(du, 1u << 29)));
  const V r = simd::NegMulAdd(ToDouble(quarters), set(0.25), Uniform(word)), z = r * r;
  const V sine = r * Polynomial(p, z), cosine = simd::MulAdd(z, Polynomial(q, z), set(1));
  const auto is_odd = hn::RebindMask(d, hn::TestBit(quarters, hn::Set(du, 1)));
  const auto sign_of = [&](VU64 half_turns) HWY_ATTR {  // of its second bit
    return hn::BitCast(d, hn::And(hn::ShiftLeft<62>(half_turns), hn::Set(du, std::uint64_t{1} << 63)));
  };
  return {hn::Xor(hn::IfThenElse(is_odd, cosine, sine), sign_of(quarters)),
          hn::Xor(hn::IfThenElse(is_odd, sine, cosine), sign_of(hn::Add(quarters, hn::Set(du, 1))))};
}

/// Returns three normal deviates for each lane's atom.
HWY_INLINE Vectors DrawNormals(std::uint64_t seed, std::uint64_t step, VU64 id) {
  const auto stream = static_cast<std::uint64_t>(RandomStream::thermostat) << 16;
  VU64 counter[4] = {LowHalf(id), hn::ShiftRight<32>(id), Word(step), Word((step >> 32) ^ stream)};
  Philox(counter, seed);
  const auto radius = [&](VU64 word) HWY_ATTR { return hn::Sqrt(set(-2.0) * Log(Uniform(word))); };
  const V first = radius(counter[0]);
  const SinCos angle = SinCosOfTurn(counter[1]);
  return {first * angle.cos, first * angle.sin, radius(counter[2]) * SinCosOfTurn(counter[3]).cos};
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::integrate
HWY_AFTER_NAMESPACE();
