// Draws normal deviates with one atom per lane; it is included once for each instruction set.
HWY_BEFORE_NAMESPACE();
namespace tessera::md::integrate {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
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
  const hn::Repartition<std::uint32_t, DU64> words;
  return hn::MulEven(hn::BitCast(words, word), hn::BitCast(words, Word(factor)));
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

/// Returns a number in (0, 1) for a word: (word + 1/2)/2³².
HWY_INLINE V Uniform(VU64 word) {
  const D d;
  const V shift = set(4503599627370496.0);  // 2⁵², whose lower bits are then the word's
  const V value = hn::BitCast(d, hn::Or(word, hn::BitCast(DU64(), shift))) - shift;
  return (value + set(0.5)) * set(1 / 4294967296.0);
}

/// Returns three normal deviates for each lane's atom.
HWY_INLINE Vectors DrawNormals(const FrictionAndNoise& noise, VU64 id) {
  const D d;
  const auto stream = static_cast<std::uint64_t>(RandomStream::thermostat) << 16;
  VU64 counter[4] = {LowHalf(id), hn::ShiftRight<32>(id), Word(noise.step), Word((noise.step >> 32) ^ stream)};
  Philox(counter, noise.seed);
  const auto radius = [&](VU64 word) HWY_ATTR { return hn::Sqrt(set(-2.0) * hn::Log(d, Uniform(word))); };
  const auto angle = [&](VU64 word) HWY_ATTR { return set(2 * std::numbers::pi) * Uniform(word); };
  const V first = radius(counter[0]), first_angle = angle(counter[1]);
  return {first * hn::Cos(d, first_angle), first * hn::Sin(d, first_angle),
          radius(counter[2]) * hn::Cos(d, angle(counter[3]))};
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::integrate
HWY_AFTER_NAMESPACE();
