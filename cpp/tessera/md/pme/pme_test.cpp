// Compares the mesh with Ewald's sum by definition, with known lattices, and with itself on several threads.
#include "tessera/md/pme/pme.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/units.h"
#include "tessera/fft/schemes.h"
#include "tessera/md/pme/influence.h"
#include "tessera/md/pme/pme_reference.h"

namespace tessera::md::pme {
namespace {

constexpr double coulomb_constant = 332.0637;

struct Charges {
  Box box;
  std::vector<Fraction> position;
  std::vector<double> charge;
};

Charges random_charges(std::size_t n, const Box& box, unsigned seed) {
  std::mt19937 random(seed);
  Charges charges{box, {}, {}};
  double net = 0;
  for (std::size_t i = 0; i < n; ++i) {
    charges.position.push_back({static_cast<std::int32_t>(random()), static_cast<std::int32_t>(random()),
                                static_cast<std::int32_t>(random())});
    charges.charge.push_back(std::uniform_real_distribution<double>(-1, 1)(random));
    net += charges.charge.back();
  }
  for (auto& q : charges.charge) q -= net / static_cast<double>(n);
  return charges;
}

struct Result {
  EnergyVirial energies;
  std::vector<std::int64_t> fixed_force;
  std::vector<Vec3> force;
  double energy() const {
    return from_fixed(energies.energy[static_cast<std::size_t>(Term::coulomb_reciprocal)], energy_unit);
  }
};

template <class Real>
Result compute(const Charges& charges, const PmeSettings& settings, int size = 1) {
  const auto comm = comm::Communicator::world();
  ThreadPool threads(size);
  const auto plan =
      plan_pme(settings, charges.box.heights(), {3, 3, 3}, {{{0, 0, 0}, {3, 3, 3}}}, 0.5, fft::plan_pencil);
  Pme<Real> pme(plan, charges.box, coulomb_constant, comm, threads);
  const std::vector<Real> charge(charges.charge.begin(), charges.charge.end());
  const std::size_t n = charge.size();
  std::vector<std::vector<std::int64_t>> force(static_cast<std::size_t>(size), std::vector<std::int64_t>(3 * n));
  std::vector<Accumulator> accumulators;
  for (auto& f : force) accumulators.push_back({f, nullptr});
  Result result;
  pme.spread(charges.position, charge);
  pme.forward();
  pme.solve(&result.energies);
  pme.backward();
  pme.add_forces(charges.position, charge, static_cast<std::int64_t>(n), accumulators);
  result.fixed_force.resize(3 * n);
  for (const auto& f : force)
    for (std::size_t i = 0; i < 3 * n; ++i) add_fixed(result.fixed_force[i], f[i]);
  for (std::size_t i = 0; i < n; ++i)
    result.force.push_back({from_fixed(result.fixed_force[3 * i], force_unit),
                            from_fixed(result.fixed_force[3 * i + 1], force_unit),
                            from_fixed(result.fixed_force[3 * i + 2], force_unit)});
  return result;
}

double relative_error(const std::vector<Vec3>& a, const std::vector<Vec3>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference += norm2(a[i] - b[i]), size += norm2(b[i]);
  return std::sqrt(difference / size);
}

const Box brick_box({21, 0, 0}, {0, 24, 0}, {0, 0, 18});

// The mesh's error is proportional to (spacing)^order; the bounds are twice the errors of these systems. The errors of
// float stay near 1e-6, because of the charges' integers.
struct Accuracy {
  int order;
  double double_tolerance, float_tolerance;
};
class PmeOrder : public testing::TestWithParam<Accuracy> {};

TEST_P(PmeOrder, AgreesWithTheDefiningSum) {
  const auto [order, double_tolerance, float_tolerance] = GetParam();
  for (const auto& box : {brick_box, Box({21, 0, 0}, {4, 22, 0}, {-3, 5, 19})}) {
    const auto charges = random_charges(60, box, 11);
    const PmeSettings settings{order, 0.3, {50, 56, 48}};
    const auto expected =
        direct_reciprocal_sum(box, charges.position, charges.charge, coulomb_constant, settings.alpha, 16);
    const auto check = [&](const Result& result, double tolerance) {
      EXPECT_NEAR(result.energy() / expected.energy, 1.0, tolerance);
      EXPECT_LT(relative_error(result.force, expected.force), tolerance);
      for (std::size_t c = 0; c < 6; ++c)
        EXPECT_NEAR(from_fixed(result.energies.virial[c], energy_unit) / expected.energy,
                    expected.virial[c] / expected.energy, tolerance);
    };
    check(compute<double>(charges, settings), double_tolerance);
    check(compute<float>(charges, settings), float_tolerance);
  }
}
INSTANTIATE_TEST_SUITE_P(All, PmeOrder,
                         testing::Values(Accuracy{4, 2e-4, 2e-4}, Accuracy{6, 6e-7, 2e-6}, Accuracy{8, 1e-8, 2e-6}),
                         [](const auto& test) { return "order_" + std::to_string(test.param.order); });

TEST(Pme, MadelungConstantOfRockSalt) {
  constexpr double spacing = 2.8, madelung = 1.747564594633182;
  constexpr int n = 4;
  const double edge = n * spacing;
  Charges charges{Box({edge, 0, 0}, {0, edge, 0}, {0, 0, edge}), {}, {}};
  double squares = 0;
  for (int x = 0; x < n; ++x)
    for (int y = 0; y < n; ++y)
      for (int z = 0; z < n; ++z) {
        charges.position.push_back(charges.box.fraction({(x + 0.3) * spacing, y * spacing, (z + 0.1) * spacing}));
        charges.charge.push_back((x + y + z) % 2 == 0 ? 1 : -1);
        squares += 1;
      }
  const double cutoff = 5.5, alpha = alpha_from_tolerance(cutoff, 1e-12);
  double real = 0;
  for (std::size_t i = 0; i < charges.position.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const double r = norm(charges.box.displacement(charges.position[i], charges.position[j]));
      if (r < cutoff) real += charges.charge[i] * charges.charge[j] * std::erfc(alpha * r) / r;
    }
  const auto result = compute<double>(charges, {8, alpha, {90, 90, 90}});
  const double total = coulomb_constant * real + result.energy() + self_energy(coulomb_constant, alpha, squares);
  const double expected = -madelung * coulomb_constant / spacing * squares / 2;
  EXPECT_NEAR(total / expected, 1.0, 1e-6);
}

TEST(Pme, ForceIsMinusTheGradient) {
  auto charges = random_charges(12, Box({12, 0, 0}, {1, 11, 0}, {2, -1, 13}), 4);
  const PmeSettings settings{6, 0.35, {20, 18, 24}};
  const auto at_rest = compute<double>(charges, settings);
  constexpr double step = 1e-4;
  for (const Vec3 direction : {Vec3{1, 0, 0}, Vec3{0, 1, 0}, Vec3{0, 0, 1}}) {
    const Fraction start = charges.position[3], move = charges.box.fraction(step * direction);
    charges.position[3] = start + move;
    const double up = compute<double>(charges, settings).energy();
    charges.position[3] = start - move;
    const double down = compute<double>(charges, settings).energy();
    charges.position[3] = start;
    // Positions have steps of 3e-9 Å, energies steps of 4e-9 kcal/mol.
    EXPECT_NEAR((down - up) / (2 * step), dot(at_rest.force[3], direction), 1e-3);
  }
}

TEST(Pme, VirialIsTheDerivativeByTheBox) {
  auto charges = random_charges(20, brick_box, 9);
  const PmeSettings settings{6, 0.3, {40, 40, 40}};
  const auto at_rest = compute<double>(charges, settings);
  constexpr double strain = 1e-5;
  const auto strained = [&](double e) {
    charges.box = Box({21 * (1 + e), 0, 0}, {0, 24, 0}, {0, 0, 18});
    return compute<double>(charges, settings).energy();
  };
  EXPECT_NEAR((strained(-strain) - strained(strain)) / (2 * strain),
              from_fixed(at_rest.energies.virial[0], energy_unit), 1e-3);
}

TEST(Pme, ThreadsDoNotChangeBits) {
  const auto charges = random_charges(500, brick_box, 2);
  for (const int order : {4, 6, 8}) {
    const PmeSettings settings{order, 0.3, {20, 24, 18}};
    const auto one_float = compute<float>(charges, settings);
    const auto one_double = compute<double>(charges, settings);
    for (const int threads : {2, 3, 7, 30}) {
      const auto many_float = compute<float>(charges, settings, threads);
      const auto many_double = compute<double>(charges, settings, threads);
      EXPECT_EQ(many_float.fixed_force, one_float.fixed_force);
      EXPECT_EQ(many_float.energies.energy, one_float.energies.energy);
      EXPECT_EQ(many_float.energies.virial, one_float.energies.virial);
      EXPECT_EQ(many_double.fixed_force, one_double.fixed_force);
      EXPECT_EQ(many_double.energies.energy, one_double.energies.energy);
    }
  }
}

TEST(Pme, TranslationByMeshVectorsChangesNothing) {
  auto charges = random_charges(50, brick_box, 8);
  const PmeSettings settings{4, 0.3, {32, 16, 64}};  // powers of two: a mesh spacing is a whole number of fractions
  const auto before = compute<double>(charges, settings);
  const Fraction shift{(1 << 27) * 5, (1 << 28) * 3, -(1 << 26) * 9};
  for (auto& position : charges.position) position = position + shift;
  const auto after = compute<double>(charges, settings);
  EXPECT_NEAR(after.energy(), before.energy(), 1e-7);
  EXPECT_LT(relative_error(after.force, before.force), 1e-9);
}

TEST(Pme, PaddingSlotsAreSkippedAndForcesAreOfOwnedSlotsOnly) {
  const auto comm = comm::Communicator::world();
  ThreadPool threads(2);
  auto charges = random_charges(10, brick_box, 8);
  const PmeSettings settings{4, 0.3, {20, 24, 18}};
  const auto expected = compute<float>(charges, settings);
  charges.position.insert(charges.position.begin() + 3, Fraction{});
  charges.charge.insert(charges.charge.begin() + 3, 0.0);
  const auto padded = compute<float>(charges, settings);
  EXPECT_EQ(padded.energies.energy, expected.energies.energy);
  EXPECT_EQ(padded.fixed_force[9], 0);
  EXPECT_EQ(padded.fixed_force[12], expected.fixed_force[9]);
}

TEST(Pme, CollapsedChargesAreARunError) {
  Charges charges{brick_box, std::vector<Fraction>(1000), std::vector<double>(1000, 1.0)};
  EXPECT_THROW(compute<float>(charges, {4, 0.3, {20, 24, 18}}), RunError);
}

TEST(Pme, BackgroundEnergyVirialFollowsFromVolume) {
  const double e = background_energy(coulomb_constant, 0.3, 2, 1000), strain = 1e-6;
  const double derivative = (background_energy(coulomb_constant, 0.3, 2, 1000 * (1 - strain)) -
                             background_energy(coulomb_constant, 0.3, 2, 1000 * (1 + strain))) /
                            (2 * strain);
  EXPECT_NEAR(derivative, e, 1e-8 * std::abs(e));
}

}  // namespace
}  // namespace tessera::md::pme
