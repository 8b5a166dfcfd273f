// Groups of every kind for tests of half steps.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "tessera/md/constraint/constraint_test_support.h"
#include "tessera/md/integrate/half_step.h"
#include "tessera/md/test_support/systems.h"

namespace tessera::md::integrate::test {

using constraint::GroupKind;
using constraint::GroupList;
using constraint::test::Molecule;
using md::test::index;

inline const Box box = orthorhombic(40, 41, 42);
inline constexpr double timestep = 0.002;

struct Sample {
  std::vector<GroupList> lists;
  std::vector<std::vector<double>> mass;  // of the groups of each list
  std::vector<Fraction> position;
  std::vector<Velocity> velocity;
  std::vector<std::int64_t> force;

  HalfStep step(double kick = 0.5 * timestep) {
    return {box.unit_vectors(), inverse(box.unit_vectors()), kick, timestep, 1e-10, force.data(), velocity.data(),
            position.data()};
  }
  Vec3 exact_velocity(std::int32_t slot) const {
    const auto& v = velocity[index(slot)];
    return {v.x * velocity_unit, v.y * velocity_unit, v.z * velocity_unit};
  }
  Vec3 exact_force(std::int32_t slot) const {
    const auto* f = &force[3 * index(slot)];
    return {from_fixed(f[0], force_unit), from_fixed(f[1], force_unit), from_fixed(f[2], force_unit)};
  }
};

/// Returns groups of every kind in random places and slots, at about 300 K; `each` of a kind.
inline Sample make_sample(int each) {
  std::mt19937_64 random(41);
  auto molecules = constraint::test::molecules();
  molecules.push_back(constraint::test::star(0, 12.011, 1));
  molecules.push_back(constraint::test::water());
  Sample sample;
  std::size_t n = 0;
  for (const auto& molecule : molecules) {
    sample.lists.push_back({{molecule.group(), {}}, {}});
    sample.mass.push_back(molecule.mass);
    n += molecule.mass.size() * index(each);
  }
  sample.lists.back().kind.settle = constraint::make_settle(15.9994, 1.008, 0.9572, 1.5139);
  std::vector<std::int32_t> slots(n);
  std::iota(slots.begin(), slots.end(), 0);
  std::shuffle(slots.begin(), slots.end(), random);
  sample.position.resize(n);
  sample.velocity.resize(n);
  sample.force.resize(3 * n);
  auto slot = slots.begin();
  for (std::size_t m = 0; m < molecules.size(); ++m)
    for (int i = 0; i < each; ++i) {
      const auto place = constraint::test::placed(molecules[m].shape, random, 60);
      for (std::size_t a = 0; a < place.size(); ++a, ++slot) {
        sample.lists[m].slots.push_back(*slot);
        sample.position[index(*slot)] = box.fraction(place[a]);
        const auto v = constraint::test::random_vector(random, 15 / std::sqrt(molecules[m].mass[a]));
        const auto component = [](double x) { return static_cast<std::int32_t>(x / velocity_unit); };
        sample.velocity[index(*slot)] = {component(v.x), component(v.y), component(v.z)};
        add_fixed_force(&sample.force[3 * index(*slot)], constraint::test::random_vector(random, 60));
      }
    }
  return sample;
}

/// Describes two baths and ids that lie far apart, for as many slots.
struct Noise {
  explicit Noise(std::size_t n) {
    for (std::size_t s = 0; s < n; ++s) {
      id.push_back((std::int64_t{1} << (s % 50)) + static_cast<std::int64_t>(s));
      bath.push_back(static_cast<std::uint8_t>(s % 2));
    }
    all = {.baths = {{0.9, 250}, {0.5, 900}},
           .seed = 0x123456789ABCDEFull,
           .step = (std::uint64_t{1} << 33) + 5,
           .id = id.data(),
           .bath = bath.data()};
  }

  std::vector<std::int64_t> id;
  std::vector<std::uint8_t> bath;
  FrictionAndNoise all;
};

}  // namespace tessera::md::integrate::test
