#include "tessera/md/integrate/noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tessera/base/random.h"

namespace tessera::md::integrate {
namespace {

struct Atoms {
  std::vector<std::int64_t> id;
  std::vector<double> inverse_mass;
  std::vector<Velocity> velocity;
};

Atoms some_atoms(std::size_t n) {
  Atoms atoms;
  for (std::size_t i = 0; i < n; ++i) {
    const auto k = static_cast<std::int32_t>(i);
    atoms.id.push_back(i % 7 == 6 ? -1 : (std::int64_t{1} << (i % 50)) + k);
    atoms.inverse_mass.push_back(atoms.id.back() < 0 ? 0 : 1 / (1.0 + static_cast<double>(i % 16)));
    atoms.velocity.push_back(atoms.id.back() < 0 ? Velocity{}
                                                 : Velocity{1000000 * (k % 11 - 5), 300000 * (k % 5 - 2), -7 * k});
  }
  return atoms;
}

TEST(FrictionAndNoise, IsThatOfTheScalarFormula) {
  const FrictionAndNoise bath = {0.9, 250.0, 0x123456789ABCDEFull, (std::uint64_t{1} << 33) + 5};
  for (const std::size_t n : {1u, 3u, 4u, 8u, 100u}) {
    auto atoms = some_atoms(n);
    const auto before = atoms.velocity;
    bath.apply_to(atoms.id.data(), atoms.inverse_mass.data(), atoms.velocity.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto normal =
          random_normals(bath.seed, RandomStream::thermostat, static_cast<std::uint64_t>(atoms.id[i]), bath.step);
      const double sigma = std::sqrt(bath.thermal * atoms.inverse_mass[i]) / velocity_unit;
      EXPECT_NEAR(atoms.velocity[i].x, bath.decay * before[i].x + sigma * normal[0], 1);
      EXPECT_NEAR(atoms.velocity[i].y, bath.decay * before[i].y + sigma * normal[1], 1);
      EXPECT_NEAR(atoms.velocity[i].z, bath.decay * before[i].z + sigma * normal[2], 1);
      if (atoms.id[i] < 0) {
        EXPECT_EQ(atoms.velocity[i], Velocity{});
      }
    }
  }
}

TEST(FrictionAndNoise, DoesNotDependOnHowAtomsAreShared) {
  const FrictionAndNoise bath = {0.99, 100.0, 3, 17};
  const std::size_t n = 61;
  auto together = some_atoms(n), apart = together;
  bath.apply_to(together.id.data(), together.inverse_mass.data(), together.velocity.data(), n);
  for (std::size_t begin = 0, size = 1; begin < n; begin += size, size = std::min(size + 2, n - begin))
    bath.apply_to(&apart.id[begin], &apart.inverse_mass[begin], &apart.velocity[begin], size);
  EXPECT_EQ(together.velocity, apart.velocity);
}

TEST(FrictionAndNoise, StaysInRangeWhereAnAtomIsTooFast) {
  auto atoms = some_atoms(1);
  atoms.velocity[0] = {2147483647, -2147483647, 0};
  const FrictionAndNoise bath = {1.5, 0, 1, 1};
  bath.apply_to(atoms.id.data(), atoms.inverse_mass.data(), atoms.velocity.data(), 1);
  EXPECT_EQ(atoms.velocity[0], (Velocity{2147483647, -2147483647, 0}));
}

}  // namespace
}  // namespace tessera::md::integrate
