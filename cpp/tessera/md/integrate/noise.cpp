#include "tessera/md/integrate/noise.h"

#include <array>
#include <numbers>

#include "tessera/base/random.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/integrate/noise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::md::integrate {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, 8>;
using V = hn::Vec<D>;
using DU = hn::RebindToUnsigned<D>;
using VU = hn::Vec<DU>;
using DI = hn::Rebind<std::int32_t, D>;

constexpr std::size_t lanes = hn::MaxLanes(D());

/// Holds a 32-bit word of each lane in the lower half of 64 bits.
HWY_INLINE VU Word(std::uint64_t value) { return hn::Set(DU(), value & 0xFFFFFFFFu); }
HWY_INLINE VU LowHalf(VU value) { return hn::And(value, Word(0xFFFFFFFFu)); }
HWY_INLINE VU Product(VU word, std::uint32_t factor) {
  const hn::Repartition<std::uint32_t, DU> words;
  return hn::MulEven(hn::BitCast(words, word), hn::BitCast(words, Word(factor)));
}

/// Runs Philox4x32-10 on a counter (Salmon et al. 2011, the constants are the paper's).
HWY_INLINE void Philox(VU (&counter)[4], std::uint64_t seed) {
  auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const VU product0 = Product(counter[0], 0xD2511F53u), product1 = Product(counter[2], 0xCD9E8D57u);
    const VU next0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product1), counter[1]), Word(key0));
    const VU next2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product0), counter[3]), Word(key1));
    counter[0] = next0;
    counter[1] = LowHalf(product1);
    counter[2] = next2;
    counter[3] = LowHalf(product0);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

/// Returns a number in (0, 1) for a word: (word + 1/2)/2³².
HWY_INLINE V Uniform(VU word) {
  const D d;
  const V shift = hn::Set(d, 4503599627370496.0);  // 2⁵², whose lower bits are then the word's
  const V value = hn::Sub(hn::BitCast(d, hn::Or(word, hn::BitCast(DU(), shift))), shift);
  return hn::Mul(hn::Add(value, hn::Set(d, 0.5)), hn::Set(d, 1 / 4294967296.0));
}

struct Normals {
  V x, y, z;
};

/// Returns three normal deviates for each lane's counter.
HWY_INLINE Normals DrawNormals(VU (&counter)[4], std::uint64_t seed) {
  const D d;
  Philox(counter, seed);
  const auto radius = [&](VU word) HWY_ATTR { return hn::Sqrt(hn::Mul(hn::Set(d, -2.0), hn::Log(d, Uniform(word)))); };
  const auto angle = [&](VU word) HWY_ATTR { return hn::Mul(hn::Set(d, 2 * std::numbers::pi), Uniform(word)); };
  const V first = radius(counter[0]), first_angle = angle(counter[1]);
  return {hn::Mul(first, hn::Cos(d, first_angle)), hn::Mul(first, hn::Sin(d, first_angle)),
          hn::Mul(radius(counter[2]), hn::Cos(d, angle(counter[3])))};
}

HWY_INLINE V Changed(const FrictionAndNoise& bath, hn::Vec<DI> velocity, V sigma, V normal) {
  const D d;
  const V value = hn::MulAdd(sigma, normal, hn::Mul(hn::Set(d, bath.decay), hn::PromoteTo(d, velocity)));
  return hn::Round(hn::Clamp(value, hn::Set(d, -2147483647.0), hn::Set(d, 2147483647.0)));
}

void ApplyToLanes(const FrictionAndNoise& bath, const std::int64_t* id, const double* inverse_mass,
                  std::int32_t* velocity) {
  const D d;
  const DI di;
  const VU ids = hn::BitCast(DU(), hn::LoadU(hn::RebindToSigned<D>(), id));
  const auto stream = static_cast<std::uint64_t>(RandomStream::thermostat) << 16;
  VU counter[4] = {LowHalf(ids), hn::ShiftRight<32>(ids), Word(bath.step), Word((bath.step >> 32) ^ stream)};
  const auto normals = DrawNormals(counter, bath.seed);
  const V sigma =
      hn::Mul(hn::Sqrt(hn::Mul(hn::Set(d, bath.thermal), hn::LoadU(d, inverse_mass))), hn::Set(d, 1 / velocity_unit));
  hn::Vec<DI> x, y, z;
  hn::LoadInterleaved3(di, velocity, x, y, z);
  hn::StoreInterleaved3(hn::DemoteTo(di, Changed(bath, x, sigma, normals.x)),
                        hn::DemoteTo(di, Changed(bath, y, sigma, normals.y)),
                        hn::DemoteTo(di, Changed(bath, z, sigma, normals.z)), di, velocity);
}

void ApplyFrictionAndNoise(const FrictionAndNoise& bath, const std::int64_t* id, const double* inverse_mass,
                           std::int32_t* velocity, std::size_t n) {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) ApplyToLanes(bath, id + i, inverse_mass + i, velocity + 3 * i);
  if (i == n) return;
  std::array<std::int64_t, lanes> some_id{};
  std::array<double, lanes> some_mass{};
  std::array<std::int32_t, 3 * lanes> some_velocity{};
  for (std::size_t k = 0; i + k < n; ++k) {
    some_id[k] = id[i + k];
    some_mass[k] = inverse_mass[i + k];
    for (std::size_t c = 0; c < 3; ++c) some_velocity[3 * k + c] = velocity[3 * (i + k) + c];
  }
  ApplyToLanes(bath, some_id.data(), some_mass.data(), some_velocity.data());
  for (std::size_t k = 0; k < 3 * (n - i); ++k) velocity[3 * i + k] = some_velocity[k];
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::integrate
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tessera::md::integrate {

HWY_EXPORT(ApplyFrictionAndNoise);

void FrictionAndNoise::apply_to(const std::int64_t* id, const double* inverse_mass, Velocity* velocity,
                                std::size_t n) const {
  static_assert(sizeof(Velocity) == 3 * sizeof(std::int32_t));
  HWY_DYNAMIC_DISPATCH(ApplyFrictionAndNoise)(*this, id, inverse_mass, &velocity->x, n);
}

}  // namespace tessera::md::integrate

#endif
