#include "tessera/md/virtual_site/virtual_sites.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"
#include "tessera/md/test_support/systems.h"
#include "tessera/md/virtual_site/formulas.h"

namespace tessera::md::virtual_site {
namespace {

using model::SiteFrame;
using model::VirtualSite;
using tessera::test::expect_says, tessera::test::message_of;

std::vector<VirtualSite> sites() {
  return {
      {4, SiteFrame::none, {}, {{0, 0.7, 0, 0}, {1, 0.4, 0, 0}, {2, -0.1, 0, 0}}},
      {4, SiteFrame::plain, {-0.34, 0.2, 0.6}, {{0, 1, -1, -1}, {1, 0, 1, 0}, {2, 0, 0, 1}}},
      {4, SiteFrame::orthonormal, {-0.3, 0, 0}, {{0, 1, -1, 0}, {1, 0, 0.6, 0}, {2, 0, 0.4, 0}}},
      {4,
       SiteFrame::orthonormal,
       {0.3, -0.5, 0.7},
       {{0, 0.5, -1, 0.3}, {1, 0.3, 0.6, -1}, {2, 0.1, 0.4, 0.2}, {3, 0.1, 0, 0.5}}},
  };
}

std::vector<Vec3> random_places(std::mt19937_64& random) {
  std::vector<Vec3> places = {{0, 0, 0}, {1, 0, 0.2}, {-0.3, 1.1, 0}, {0.1, -0.4, 0.9}};
  for (auto& r : places) r += 0.2 * test::random_direction(random);
  return places;
}

Vec3 place_of(const VirtualSite& site, std::span<const Vec3> places) {
  bool is_determined = true;
  const Vec3 r = place(site, places, is_determined);
  EXPECT_TRUE(is_determined);
  return r;
}

TEST(VirtualSite, ForcesAreThoseOfTheChainRule) {
  std::mt19937_64 random(3);
  for (const auto& site : sites())
    for (int trial = 0; trial < 20; ++trial) {
      const auto places = random_places(random);
      const Vec3 force = 10 * test::random_direction(random);
      std::vector<Vec3> on_parents(site.parents.size());
      spread(site, places, force, on_parents);
      Vec3 sum, torque = -cross(place_of(site, places), force);
      for (std::size_t i = 0; i < on_parents.size(); ++i) {
        const auto parent = static_cast<std::size_t>(site.parents[i].atom);
        sum += on_parents[i];
        torque += cross(places[parent], on_parents[i]);
        for (const Vec3& axis : {Vec3{1, 0, 0}, Vec3{0, 1, 0}, Vec3{0, 0, 1}}) {
          constexpr double h = 1e-5;
          auto ahead = places, behind = places;
          ahead[parent] += h * axis;
          behind[parent] -= h * axis;
          const double slope = dot(place_of(site, ahead) - place_of(site, behind), force) / (2 * h);
          EXPECT_NEAR(dot(on_parents[i], axis), slope, 1e-7);
        }
      }
      EXPECT_NEAR(norm(sum - force), 0, 1e-12);
      EXPECT_NEAR(norm(torque), 0, 1e-11);
    }
}

TEST(VirtualSite, ADirectionMayBeUndetermined) {
  const auto all = sites();
  std::vector<Vec3> in_line = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}};
  std::vector<Vec3> in_one_place(4, Vec3{1, 1, 1});
  std::vector<Vec3> on_parents(4);
  for (const auto& site : all) {
    bool is_determined = true;
    place(site, in_one_place, is_determined);
    EXPECT_EQ(is_determined, site.frame != SiteFrame::orthonormal);
    is_determined = true;
    const Vec3 r = place(site, in_line, is_determined);
    EXPECT_EQ(is_determined, site.frame != SiteFrame::orthonormal || !site.has_plane());
    EXPECT_TRUE(std::isfinite(norm(r)));
    spread(site, in_line, {1, 2, 3}, std::span(on_parents).first(site.parents.size()));
    Vec3 sum;
    for (std::size_t i = 0; i < site.parents.size(); ++i) sum += on_parents[i];
    EXPECT_NEAR(norm(sum - Vec3{1, 2, 3}), 0, 1e-12);
  }
}

/// Slots of many copies of one group, whose atoms are scattered over the slots.
struct Copies {
  Box box = orthorhombic(20, 21, 22);
  std::vector<SiteList> lists;
  std::vector<Fraction> position;
  std::vector<std::int64_t> force;

  explicit Copies(int n) {
    std::mt19937_64 random(7);
    SiteGroup kind = {{0, 1, 2, 3, 4, 5}, {sites()[3], sites()[1]}};
    kind.sites[1].atom = 5;
    lists = {{kind, {}}};
    position.resize(static_cast<std::size_t>(6 * n));
    for (int m = 0; m < n; ++m) {
      const Vec3 centre = 30 * test::random_direction(random);  // across the edges of the box
      const auto places = random_places(random);
      for (int a = 0; a < 6; ++a) {
        const auto slot = static_cast<std::size_t>(a * n + m);
        lists[0].slots.push_back(static_cast<std::int32_t>(slot));
        position[slot] = box.fraction(centre + places[static_cast<std::size_t>(a % 4)]);
      }
    }
    for (std::size_t i = 0; i < 3 * position.size(); ++i)
      force.push_back(static_cast<std::int64_t>(random() >> 20) - (std::int64_t{1} << 43));
  }
};

TEST(VirtualSite, SumsOfForcesAreKeptToTheBitOnAnyThreads) {
  const Copies start(37);
  std::vector<Fraction> first_position;
  std::vector<std::int64_t> first_force;
  std::array<std::int64_t, 6> first_virial{};
  for (const int n_threads : {1, 2, 3}) {
    auto copies = start;
    ThreadPool threads(n_threads);
    EXPECT_EQ(place_all(copies.lists, copies.box, copies.position, threads), -1);
    const auto placed = copies.position;
    EXPECT_EQ(place_all(copies.lists, copies.box, copies.position, threads), -1);
    EXPECT_EQ(placed, copies.position);  // sites depend on their parents alone
    std::vector<EnergyVirial> virial(static_cast<std::size_t>(n_threads));
    spread_all(copies.lists, copies.box, copies.position, copies.force, virial, threads);
    for (std::size_t d = 0; d < 3; ++d) {
      std::int64_t before = 0, after = 0;
      for (std::size_t s = 0; s < copies.position.size(); ++s) {
        before += start.force[3 * s + d];
        after += copies.force[3 * s + d];
      }
      EXPECT_EQ(before, after);
    }
    for (std::size_t s = 4 * 37; s < 6 * 37; ++s) EXPECT_EQ(copies.force[3 * s], 0);
    for (int t = 1; t < n_threads; ++t) virial[0].merge(virial[static_cast<std::size_t>(t)]);
    if (n_threads == 1) {
      first_position = copies.position;
      first_force = copies.force;
      first_virial = virial[0].virial;
    }
    EXPECT_EQ(copies.position, first_position);
    EXPECT_EQ(copies.force, first_force);
    EXPECT_EQ(virial[0].virial, first_virial);
  }
}

model::System four_site_water(double distance) {
  model::System system;
  system.box = orthorhombic(20, 20, 20);
  auto water = test::molecule("WAT", {"O", "H1", "H2", "M"}, {0, 0, 0, 0}, {0, 0.5, 0.5, -1}, {16, 1, 1, 0});
  water.terms[model::bond] = {{{0, 1}, {0, 2}}, {0, 0}};
  water.virtual_sites = {
      {3, SiteFrame::orthonormal, {distance, 0, 0}, {{0, 1, -1, 0}, {1, 0, 0.5, 0}, {2, 0, 0.5, 0}}}};
  system.force_field.parameters[model::bond] = {{450, 0.96}};
  system.templates = {water};
  system.set_instances({{0, 5}});
  return system;
}

TEST(VirtualSite, TellsHowFarItsGroupReaches) {
  EXPECT_NEAR(site_group_reach(four_site_water(0.15)).distance, 0.96, 1e-12);
  EXPECT_NEAR(site_group_reach(four_site_water(1.5)).distance, 1.5, 1e-12);
  EXPECT_THROW(site_group_reach(four_site_water(6.5)), InputError);
  auto rigid = four_site_water(0.15);
  rigid.templates[0].rigid_water = true;
  rigid.templates[0].water_oh = 0.9572;
  rigid.templates[0].water_hh = 1.5139;
  EXPECT_NEAR(site_group_reach(rigid).distance, 0.9572, 1e-12);
  auto loose = four_site_water(0.15);
  loose.templates[0].terms[model::bond] = {{{0, 1}}, {0}};
  expect_says(message_of<InputError>([&] { site_group_reach(loose); }), "no bonds join WAT O and WAT H2");
}

/// Returns six atoms in a ring with bonds of `kind` of 1.4 Å, and a site midway between the first and the fourth.
template <class Kind>
model::System ring(Kind kind, double stiffness) {
  model::System system;
  system.box = orthorhombic(30, 30, 30);
  auto molecule = test::molecule("RNG", {"C1", "C2", "C3", "C4", "C5", "C6", "X"}, {0, 0, 0, 0, 0, 0, 0},
                                 {0, 0, 0, 0, 0, 0, 0}, {12, 12, 12, 12, 12, 12, 0});
  molecule.group = {0, 1, 2, 0, 4, 5, 0};
  for (std::int32_t i = 0; i < 6; ++i) {
    molecule.terms[kind].atoms.push_back({i, (i + 1) % 6});
    molecule.terms[kind].parameter.push_back(0);
    molecule.terms[model::angle].atoms.push_back({i, (i + 1) % 6, (i + 2) % 6});
    molecule.terms[model::angle].parameter.push_back(0);
  }
  molecule.virtual_sites = {{6, SiteFrame::none, {}, {{0, 0.5, 0, 0}, {3, 0.5, 0, 0}}}};
  system.force_field.parameters[kind] = {{300, 1.4}};
  system.force_field.parameters[model::angle] = {{stiffness, 2 * std::numbers::pi / 3}};
  system.templates = {molecule};
  system.set_instances({{0, 1}});
  return system;
}

TEST(VirtualSite, ReachesAcrossARingByItsAngles) {
  const double across = 1.4 * (1 + std::sqrt(3));
  EXPECT_NEAR(site_group_reach(ring(model::bond, 40)).distance, across, 1e-12);
  EXPECT_NEAR(site_group_reach(ring(model::bond_quartic, 40)).distance, across, 1e-12);
  EXPECT_NEAR(site_group_reach(ring(model::bond, 1)).distance, 3 * 1.4, 1e-12);  // an angle that may open
  EXPECT_EQ(site_group_reach(ring(model::bond, 40)).of, "RNG X");
}

TEST(VirtualSite, ReachesAlongSpringsWhereNoBondsLead) {
  const double stretch = std::sqrt(8.0 / 300);  // by 8 kcal/mol
  EXPECT_NEAR(site_group_reach(ring(model::urey_bradley, 40)).distance, (1.4 + stretch) * (1 + std::sqrt(3)), 1e-12);
  EXPECT_NEAR(site_group_reach(ring(model::urey_bradley, 1)).distance, 3 * (1.4 + stretch), 1e-12);
  auto soft = ring(model::urey_bradley, 1);
  soft.force_field.parameters[model::urey_bradley][0].k = 0.5;
  EXPECT_THROW(site_group_reach(soft), InputError);
  auto both = ring(model::bond, 40);  // a spring across says nothing that bonds do not
  both.templates[0].terms[model::urey_bradley] = {{{0, 3}}, {0}};
  both.force_field.parameters[model::urey_bradley] = {{10, 1.0}};
  EXPECT_EQ(site_group_reach(both).distance, site_group_reach(ring(model::bond, 40)).distance);
}

}  // namespace
}  // namespace tessera::md::virtual_site
