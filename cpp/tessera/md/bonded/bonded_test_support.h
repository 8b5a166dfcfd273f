// Measures forces, energies and virial of a few atoms with terms in double, and provides the checks that every
// potential must pass.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "tessera/base/test_support/instruction_sets.h"
#include "tessera/base/units.h"
#include "tessera/md/bonded/bonded.h"

namespace tessera::md::bonded::test {

/// Force constants of tests are this many times the usual ones. Energies are stored in steps of 4e-9 kcal/mol, and a
/// finite difference of small energies would show the steps. Forces stay within force_limit.
inline constexpr double strong = 1e3;

/// Runs a test with each instruction set.
class WithInstructionSet : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { tessera::test::choose_instruction_set(GetParam()); }
  void TearDown() override { tessera::test::choose_instruction_set(0); }
};

#define TESSERA_WITH_EACH_INSTRUCTION_SET(Suite)                                              \
  class Suite : public test::WithInstructionSet {};                                           \
  INSTANTIATE_TEST_SUITE_P(Each, Suite, testing::ValuesIn(tessera::test::instruction_sets()), \
                           [](const auto& set) { return hwy::TargetName(set.param); })

struct Result {
  std::vector<Vec3> force;         // kcal/mol/Å
  std::array<double, 6> virial{};  // kcal/mol
  double energy = 0;               // all terms
  EnergyVirial fixed;
  std::vector<std::int64_t> fixed_force;

  double term(Term t) const { return fixed[t]; }
};

using Add = std::function<void(const Box&, Positions, Accumulator&)>;

inline Result measure_once(const Box& box, const std::vector<Fraction>& position, const Add& add) {
  Result result;
  result.fixed_force.assign(3 * position.size(), 0);
  Accumulator accumulator{result.fixed_force, &result.fixed};
  add(box, position, accumulator);
  for (std::size_t i = 0; i < position.size(); ++i) {
    const std::int64_t* f = &result.fixed_force[3 * i];
    result.force.push_back({from_fixed(f[0], force_unit), from_fixed(f[1], force_unit), from_fixed(f[2], force_unit)});
  }
  for (int term = 0; term < n_terms; ++term) result.energy += result.fixed[static_cast<Term>(term)];
  for (std::size_t i = 0; i < 6; ++i)
    result.virial[i] =
        from_fixed(result.fixed.virial[i], energy_unit) + from_fixed(result.fixed.virial_of_clashes[i], large_energy);
  return result;
}

/// Measures with the chosen instruction set, and checks that others give the same bits.
inline Result measure(const Box& box, const std::vector<Fraction>& position, const Add& add) {
  auto result = measure_once(box, position, add);
  const auto chosen = tessera::test::chosen_instruction_set;
  if (chosen != tessera::test::instruction_sets().front()) return result;
  for (const auto set : tessera::test::instruction_sets()) {
    tessera::test::choose_instruction_set(set);
    const auto other = measure_once(box, position, add);
    EXPECT_EQ(other.fixed_force, result.fixed_force) << hwy::TargetName(set);
    EXPECT_EQ(other.fixed.energy, result.fixed.energy) << hwy::TargetName(set);
    EXPECT_EQ(other.fixed.virial, result.fixed.virial) << hwy::TargetName(set);
  }
  tessera::test::choose_instruction_set(chosen);
  return result;
}

inline std::vector<Fraction> fractions(const Box& box, const std::vector<Vec3>& r) {
  std::vector<Fraction> f;
  for (const Vec3& x : r) f.push_back(box.fraction(x));
  return f;
}

/// Returns a triclinic box of 20 Å, in which a step of the integer fractions is 5e-9 Å.
inline Box small_box() { return {{20, 0, 0}, {3, 21, 0}, {-2, 4, 19}}; }

/// Returns a cube in which positions that are multiples of 2⁻²⁷ Å are exact.
inline Box cube() { return {{32, 0, 0}, {0, 32, 0}, {0, 0, 32}}; }

/// Returns a chain with bonds of about 1.5 Å and no three atoms in line, so that angles and dihedrals are well defined.
inline std::vector<Vec3> random_chain(std::mt19937_64& random, int n_atoms) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto direction = [&] {
    for (;;) {
      const Vec3 d{uniform(random), uniform(random), uniform(random)};
      if (norm2(d) < 1 && norm2(d) > 0.1) return (1 / norm(d)) * d;
    }
  };
  std::vector<Vec3> r{{9 * uniform(random), 9 * uniform(random), 9 * uniform(random)}};
  Vec3 last = direction();
  while (static_cast<int>(r.size()) < n_atoms) {
    const Vec3 next = direction();
    const double turn = norm(cross(last, next));
    if (turn < 0.4) continue;
    r.push_back(r.back() + (1.5 + 0.3 * uniform(random)) * next);
    last = next;
  }
  return r;
}

/// Checks that the force is −∇U, the virial is −dU/dstrain, the net force is exactly zero, the net torque vanishes, and
/// the forces are the same without energies and in another image.
inline void check_potential(const Box& box, const std::vector<Vec3>& r, const Add& add, double tolerance = 2e-7) {
  const std::vector<Fraction> position = fractions(box, r);
  const Result here = measure(box, position, add);
  double scale = 1;
  for (const Vec3& f : here.force) scale = std::max(scale, norm(f));
  ASSERT_TRUE(std::isfinite(scale));

  const auto energy = [&](const Box& of, const std::vector<Fraction>& x) { return measure(of, x, add).energy; };
  // The steps are whole fractions, and the difference is of fourth order: its error is about step⁴ times the fifth
  // derivative.
  const std::int32_t step = 1 << 16;
  for (std::size_t i = 0; i < position.size(); ++i) {
    const std::array<std::int32_t Fraction::*, 3> axes{&Fraction::x, &Fraction::y, &Fraction::z};
    const std::array<Vec3, 3> vectors{box.a(), box.b(), box.c()};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto moved = [&](int steps) {
        std::vector<Fraction> x = position;
        x[i].*axes[axis] += steps * step;
        return energy(box, x);
      };
      const double slope = (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * step / 4294967296.0);
      const double along = dot(here.force[i], vectors[axis]);
      EXPECT_NEAR(along, -slope, tolerance * scale * norm(vectors[axis])) << "atom " << i << " axis " << axis;
    }
  }

  const auto strained = [&](int component, double e) {
    Vec3 a = box.a(), b = box.b(), c = box.c();
    for (Vec3* v : {&a, &b, &c}) {
      const Vec3 old = *v;
      if (component == 0) v->x += e * old.x;
      if (component == 1) v->y += e * old.y;
      if (component == 2) v->z += e * old.z;
      if (component == 3) v->x += e * old.y;
      if (component == 4) v->x += e * old.z;
      if (component == 5) v->y += e * old.z;
    }
    return energy({a, b, c}, position);
  };
  const double e = 1e-4;
  for (int component = 0; component < 6; ++component) {
    const double slope = (8 * (strained(component, e) - strained(component, -e)) -
                          (strained(component, 2 * e) - strained(component, -2 * e))) /
                         (12 * e);
    EXPECT_NEAR(here.virial[static_cast<std::size_t>(component)], -slope, 10 * tolerance * scale)
        << "virial component " << component;
  }

  std::array<std::int64_t, 3> net{};
  for (std::size_t i = 0; i < here.fixed_force.size(); ++i) add_fixed(net[i % 3], here.fixed_force[i]);
  EXPECT_EQ(net, (std::array<std::int64_t, 3>{}));
  Vec3 torque;
  for (std::size_t i = 0; i < r.size(); ++i) {
    torque += cross(box.displacement(position[0], position[i]), here.force[i]);
  }
  EXPECT_NEAR(norm(torque), 0, 1e-8 + 1e-12 * scale);

  std::vector<std::int64_t> forces_only(here.fixed_force.size(), 0);
  Accumulator accumulator{forces_only, nullptr};
  add(box, position, accumulator);
  EXPECT_EQ(forces_only, here.fixed_force);

  // A shift by half the box puts the atoms on both sides of the boundary; their differences are the same integers.
  std::vector<Fraction> shifted = position;
  for (Fraction& x : shifted) x = x + Fraction{INT32_MIN, 123456789, -987654321};
  const Result there = measure(box, shifted, add);
  EXPECT_EQ(there.fixed_force, here.fixed_force);
  EXPECT_EQ(there.fixed.energy, here.fixed.energy);
  EXPECT_EQ(there.fixed.virial, here.fixed.virial);
  EXPECT_EQ(there.fixed.energy_of_clashes, here.fixed.energy_of_clashes);
  EXPECT_EQ(there.fixed.virial_of_clashes, here.fixed.virial_of_clashes);
}

/// Checks that the energy is unchanged and the forces rotate with the atoms when these are turned about an axis.
inline void check_rotation(const Box& box, const std::vector<Vec3>& r, const Add& add, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  const Vec3 raw{uniform(random), uniform(random), uniform(random) + 2};
  const Vec3 axis = (1 / norm(raw)) * raw;
  const double c = std::cos(2 * uniform(random)), s = std::sqrt(1 - c * c);
  const auto turned = [&](const Vec3& v) { return c * v + s * cross(axis, v) + ((1 - c) * dot(axis, v)) * axis; };
  std::vector<Vec3> near, far;  // relative to the first atom, so that none is half the box away
  for (const Vec3& x : r) {
    near.push_back(x - r[0]);
    far.push_back(turned(x - r[0]));
  }
  const Result before = measure(box, fractions(box, near), add);
  const Result after = measure(box, fractions(box, far), add);
  // Both sets of positions are rounded to half a fraction step. The tolerance is the effect of displacements of 16
  // steps on this potential.
  std::vector<Fraction> shaken = fractions(box, near);
  std::uniform_int_distribution<int> sign(0, 1);
  for (Fraction& x : shaken) x = x + Fraction{32 * sign(random) - 16, 32 * sign(random) - 16, 32 * sign(random) - 16};
  const Result shake = measure(box, shaken, add);
  double energy_tolerance = 1e-6 + std::abs(shake.energy - before.energy), force_tolerance = 1e-6;
  for (std::size_t i = 0; i < r.size(); ++i) {
    force_tolerance += norm(shake.force[i] - before.force[i]);
    energy_tolerance += 1e-7 * norm(before.force[i]);
  }
  EXPECT_NEAR(after.energy, before.energy, energy_tolerance);
  for (std::size_t i = 0; i < r.size(); ++i) {
    EXPECT_LT(norm(after.force[i] - turned(before.force[i])), force_tolerance) << "atom " << i;
  }
}

/// Returns parameters of every kind, those of energies times `scale`.
inline model::ForceField every_kind(double scale) {
  model::ForceField field;
  field.coulomb_constant = 332 * scale;
  field.parameters[model::bond] = {{300 * scale, 1.5}, {250 * scale, 1.3}};
  field.parameters[model::urey_bradley] = {{20 * scale, 2.4}};
  field.parameters[model::angle] = {{50 * scale, 1.9}};
  for (int n = 1; n <= 4; ++n) field.parameters[model::dihedral].push_back({0.4 * n * scale, double(n), 0.7 * n});
  field.parameters[model::dihedral_rb] = {{{1 * scale, -2 * scale, 0.5 * scale, 0, 0.25 * scale, 0.1 * scale}}};
  field.parameters[model::improper_harmonic] = {{5 * scale, 0.2}};
  field.parameters[model::improper_periodic] = {{2 * scale, 2, units::pi}};
  model::CmapParameter cmap{6, {}};
  for (int i = 0; i < 36; ++i) cmap.energy.push_back(scale * ((i * 11) % 7));
  field.parameters[model::cmap] = {cmap};
  field.parameters[model::bond_quartic] = {{100 * scale, 1.4}};
  field.parameters[model::angle_cosine] = {{60 * scale, 1.8}};
  field.parameters[model::pair_14] = {{2.8, 0.05 * scale, 0.8}};
  return field;
}

/// Returns terms of every kind in a chain of n atoms.
inline LocalTerms chain_terms(std::int32_t n) {
  LocalTerms terms;
  for (std::int32_t i = 0; i + 1 < n; ++i) terms[model::bond].add({i, i + 1}, i % 2);
  for (std::int32_t i = 0; i + 2 < n; ++i) {
    terms[model::angle].add({i, i + 1, i + 2}, 0);
    if (i % 2 == 0) terms[model::angle_cosine].add({i, i + 1, i + 2}, 0);
    if (i % 7 == 0) terms[model::bond_quartic].add({i, i + 1}, 0);
    terms[model::urey_bradley].add({i, i + 2}, 0);
  }
  for (std::int32_t i = 0; i + 3 < n; ++i) {
    for (std::int32_t row = 0; row <= i % 4; ++row) terms[model::dihedral].add({i, i + 1, i + 2, i + 3}, row);
    if (i % 3 == 0) terms[model::dihedral_rb].add({i, i + 1, i + 2, i + 3}, 0);
    if (i % 5 == 0) terms[model::improper_harmonic].add({i, i + 1, i + 2, i + 3}, 0);
    if (i % 4 == 0) terms[model::improper_periodic].add({i, i + 1, i + 2, i + 3}, 0);
    terms[model::pair_14].add({i, i + 3}, 0);
  }
  for (std::int32_t i = 0; i + 4 < n; i += 2)
    terms[model::cmap].add({i, i + 1, i + 2, i + 3, i + 1, i + 2, i + 3, i + 4}, 0);
  return terms;
}

}  // namespace tessera::md::bonded::test
