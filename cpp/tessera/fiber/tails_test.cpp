#include "tessera/fiber/tails.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/fiber/monte_carlo.h"

namespace tessera::fiber {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr TailSprings loose = {12, 0.4, 2.0, 2.5};
const Screened screened(7, 0.05, 120);

/// Returns a single node, with charges and spheres or without, and one tail on it.
Model one_tail(std::vector<double> charges, double core_charge, double diameter, double bead_diameter) {
  Kind core = {{{{0, 0, -5}, core_charge}}, {}, {{{0, 0, 8}, std::move(charges), loose}}};
  if (diameter > 0) core.spheres = {{0, 0, -4}};
  return {{core}, {0}, {}, screened, diameter, infinite, infinite, {}, bead_diameter};
}

/// Returns the mean of a value with the weight w(x) exp(-k (x - x₀)²/2) from 0 to `end`, by a sum.
double mean(double end, double x0, double k, const std::function<double(double)>& w,
            const std::function<double(double)>& value) {
  double sum = 0, weights = 0;
  for (int i = 0; i < 20'000; ++i) {
    const double x = end * (i + 0.5) / 20'000, weight = w(x) * std::exp(-k * square(x - x0) / 2);
    sum += weight * value(x), weights += weight;
  }
  return sum / weights;
}

struct Shape {
  double bond = 0, cosine = 0, square = 0;  // of the distance from end to end

  void add(std::span<const Vec3> beads) {
    const auto bond_from = [&](std::size_t i) { return beads[i + 1] - beads[i]; };
    const auto n = static_cast<double>(beads.size());
    for (std::size_t i = 0; i + 1 < beads.size(); ++i) bond += norm(bond_from(i)) / (n - 1);
    for (std::size_t i = 0; i + 2 < beads.size(); ++i)
      cosine -= dot(bond_from(i), bond_from(i + 1)) / norm(bond_from(i)) / norm(bond_from(i + 1)) / (n - 2);
    square += norm2(beads.back() - beads[0]);
  }
};

Shape sampled_shape(MonteCarlo::Kind kind, int frames, int moves) {
  MonteCarlo sampled(one_tail(std::vector<double>(6), 0, 0, 0), 1);
  sampled.chain().place(0, {{30, 0, 0}, turn({1, 0, 0}, 0.7)});
  EXPECT_EQ(sampled.grow_tails(), 0);
  sampled.run_tails(kind, 10'000, 1.0, true);
  Shape shape;
  for (int frame = 0; frame < frames; ++frame) {
    sampled.run_tails(kind, moves, 1.0, false);
    shape.add(sampled.chain().beads({0, 0}));
  }
  return {shape.bond / frames, shape.cosine / frames, shape.square / frames};
}

/// Bonds and angles do not depend on each other: the rest is a chain that rotates freely.
TEST(Tails, AFreeTailHasTheShapeThatItsSpringsSay) {
  const auto of_length = [](auto value) {
    return mean(
        40, loose.length, loose.stretch, [](double r) { return r * r; }, value);
  };
  const auto of_angle = [](auto value) {
    return mean(
        std::numbers::pi, loose.angle, loose.bend, [](double x) { return std::sin(x); }, value);
  };
  const double bond = of_length([](double r) { return r; });
  const double cosine = of_angle([](double x) { return std::cos(x); });
  double end2 = 5 * of_length([](double r) { return r * r; });
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < i; ++j) end2 += 2 * bond * bond * std::pow(-cosine, i - j);
  for (const auto& [kind, frames, moves] :
       {std::tuple{MonteCarlo::regrowth, 20'000, 1}, std::tuple{MonteCarlo::shift, 20'000, 40}}) {
    const Shape found = sampled_shape(kind, frames, moves);
    EXPECT_NEAR(found.bond, bond, 0.03) << kind;
    EXPECT_NEAR(found.cosine, cosine, 0.01) << kind;
    EXPECT_NEAR(found.square, end2, 0.03 * end2) << kind;
  }
}

/// Returns the means of how far the end of a tail is from its first bead and of its energy beside its node, if one kind of
/// moves samples it.
std::array<double, 2> sampled_means(const Model& model, MonteCarlo::Kind kind, int frames, int moves) {
  MonteCarlo sampled(model, 3);
  Chain& chain = sampled.chain();
  chain.place(0, {});
  EXPECT_EQ(sampled.grow_tails(), 0);
  sampled.run_tails(kind, 10'000, 1.0, true);
  double distance = 0, energy = 0;
  for (int frame = 0; frame < frames; ++frame) {
    sampled.run_tails(kind, moves, 1.0, false);
    distance += norm(chain.beads({0, 0}).back() - chain.beads({0, 0})[0]);
    energy += chain.screened_energy();
  }
  return {distance / frames, energy / frames};
}

/// The same by the integral: drawn from the springs, and weighed by the energy.
TEST(Tails, RegrowthAndShiftsSampleTheIntegral) {
  const std::vector<double> charges = {1, 3, -2, 4};
  const Model model = one_tail(charges, -6, 22, 12);
  const auto energy_of = [](double r) { return r < 120 ? screened(r * r) : 0; };
  double weights = 0, distance = 0, energy = 0;
  Draws draws(5, 0);
  for (int trial = 0; trial < 200'000; ++trial) {
    std::vector<Vec3> beads = {{0, 0, 8}};
    while (beads.size() < 4) beads.push_back(drawn_bead(loose, beads, 1.0, draws));
    double e = 0;
    for (std::size_t i = 1; i < 4; ++i) {
      if (norm(beads[i] - Vec3{0, 0, -4}) < 17 || norm(beads[i]) > model.kinds[0].tails[0].reach()) e = infinite;
      e += charges[i] * -6 * energy_of(norm(beads[i] - Vec3{0, 0, -5}));
      for (std::size_t j = 0; j + 1 < i; ++j) {
        if (norm(beads[i] - beads[j]) < 12) e = infinite;
        e += charges[i] * charges[j] * energy_of(norm(beads[i] - beads[j]));
      }
    }
    if (std::isinf(e)) continue;
    const double weight = std::exp(-e);
    weights += weight, energy += weight * e, distance += weight * norm(beads[3] - beads[0]);
  }
  for (const auto& [kind, moves] : {std::pair{MonteCarlo::regrowth, 3}, std::pair{MonteCarlo::shift, 40}}) {
    const auto found = sampled_means(model, kind, 15'000, moves);
    EXPECT_NEAR(found[0], distance / weights, 0.25) << kind;  // four times what repeats differ by
    EXPECT_NEAR(found[1], energy / weights, 0.06) << kind;
  }
}

Model fibre_of(std::size_t n) {
  const Kind bead = {{{{0, 0, 5}, -3.0}, {{0, 0, -5}, -3.0}}, {{0, 0, 0}}};
  const Tail up = {{10, 0, 12}, {1, 2, 3, 2}, loose}, aside = {{-12, 0, 0}, {-2, -4, -3}, loose};
  const Kind core = {{{{12, 0, 0}, -5.0}, {{-8, 3, 0}, -4.0}, {{0, 9, 5}, 2.0}}, {{8, 0, 0}, {-8, 0, 0}}, {up, aside}};
  const Springs springs = {30, 0.1, 0.2, 10, 20};
  Model model = {{bead, core}, {}, {}, screened, 20, infinite, infinite, {}, 9};
  for (std::size_t i = 0; i < n; ++i) model.kind.push_back(i % 4 == 0 ? 1 : 0);
  model.steps.resize(n - 1, {{}, {}, springs});
  return model;
}

/// Puts nodes near each other at random, with tails that may overlap.
void scatter(Chain& chain, std::uint64_t seed, double size) {
  Draws draws(seed, 0);
  for (std::size_t node = 0; node < chain.size(); ++node) {
    const Vec3 at = {draws.within(size), draws.within(size), draws.within(size)};
    chain.place(node, {at, turn(draws.direction(), draws.within(3))});
    for (std::size_t tail = 0; tail < chain.tails(node); ++tail) {
      std::vector<Vec3> beads = {chain.root({node, tail})};
      while (beads.size() < chain.tail({node, tail}).size()) beads.push_back(drawn_bead(loose, beads, 1.0, draws));
      chain.set_tail({node, tail}, beads);
    }
  }
}

/// A charge or a sphere of a fibre: of which node, and of which bead of which tail.
struct Point {
  Vec3 place;
  double value = 0;
  std::size_t node = 0, tail = 0, bead = 0;
  bool is_of_tail = false;

  bool is_of_node() const { return !is_of_tail || bead == 0; }
};

std::vector<Point> points_of(const Chain& chain, bool charges) {
  std::vector<Point> points;
  for (std::size_t node = 0; node < chain.size(); ++node) {
    const Kind& kind = chain.model().kinds[chain.model().kind[node]];
    if (charges)
      for (const Charge& charge : kind.charges)
        points.push_back({chain.frame(node) * charge.place, charge.value, node});
    else
      for (const Vec3& sphere : kind.spheres) points.push_back({chain.frame(node) * sphere, 20, node});
    for (std::size_t tail = 0; tail < chain.tails(node); ++tail) {
      const auto beads = chain.beads({node, tail});
      for (std::size_t bead = 0; bead < beads.size(); ++bead)
        points.push_back({beads[bead], charges ? kind.tails[tail].charges[bead] : 9, node, tail, bead, true});
    }
  }
  return points;
}

bool see(const Point& a, const Point& b) {
  if (a.is_of_node() && b.is_of_node() && a.node <= b.node + 1 && b.node <= a.node + 1)
    return a.node != b.node && a.is_of_tail && b.is_of_tail;
  const bool are_of_one = a.is_of_tail && b.is_of_tail && a.node == b.node && a.tail == b.tail;
  return !are_of_one || a.bead > b.bead + 1 || b.bead > a.bead + 1;
}

/// Returns the energy of all charges, and whether anything overlaps, by all pairs.
double energy_directly(const Chain& chain) {
  double sum = 0;
  const auto points = points_of(chain, true);
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const double r = norm(points[i].place - points[j].place);
      if (see(points[i], points[j]) && r < 120) sum += points[i].value * points[j].value * screened(r * r);
    }
  return sum;
}

bool overlaps(const Chain& chain) {
  const auto points = points_of(chain, false);
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (see(points[i], points[j]) &&
          norm(points[i].place - points[j].place) < (points[i].value + points[j].value) / 2)
        return true;
  return false;
}

TEST(Tails, TheirEnergyIsThatOfAllPairs) {
  Chain chain(fibre_of(41));
  scatter(chain, 1, 80);
  const double expected = energy_directly(chain);
  EXPECT_NEAR(chain.screened_energy(), expected, 1e-9 * std::abs(expected));
}

TEST(Tails, ChangesOfNodesAreDifferencesOfWholeEnergies) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Chain chain(fibre_of(41));
    scatter(chain, seed, 80);
    Draws draws(seed, 1);
    const std::size_t first = draws.below(30);
    const Range range = {first, first + 1 + draws.below(41 - first)};
    const Rotation rotation = turn(draws.direction(), 0.4);
    for (std::size_t node = range.first; node < range.last; ++node)
      chain.try_at(node, turned_about({10, 0, 0}, rotation, chain.frame(node)));
    const double before = chain.screened_energy(), change = chain.screened_change(range);
    chain.accept(range);
    EXPECT_NEAR(chain.screened_energy() - before, change, 1e-9 * (1 + std::abs(before)));
  }
}

TEST(Tails, ChangesOfABeadAreDifferencesOfWholeEnergies) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Chain chain(fibre_of(41));
    scatter(chain, seed, 80);
    Draws draws(seed, 1);
    const TailId id = {4 * draws.below(11), 0};
    const std::size_t bead = 1 + draws.below(3);
    const auto places = chain.beads(id);
    std::vector<Vec3> beads(places.begin(), places.end());
    const auto& charges = chain.tail(id).charges;
    const double before = chain.screened_energy();
    const double elastic = elastic_energy(loose, beads, 0, beads.size());
    const double elastic_part = elastic_energy(loose, beads, bead, bead + 1);
    const auto energy = [&] {
      double sum = chain.energy_at(beads[bead], bead, id, chain.around(id));
      for (std::size_t other = 0; other < beads.size(); ++other)
        if (other + 1 < bead || bead + 1 < other)
          sum += chain.energy_of_beads(beads[bead], charges[bead], beads[other], charges[other]);
      return sum;
    };
    chain.hide_tail(id);
    const double was = energy();
    beads[bead] += 5 * draws.direction();
    const double is = energy();
    if (std::isinf(was) || std::isinf(is)) continue;
    chain.set_tail(id, beads);
    EXPECT_NEAR(chain.screened_energy() - before, is - was, 1e-9 * (1 + std::abs(before)));
    EXPECT_NEAR(elastic_energy(loose, beads, 0, beads.size()) - elastic,
                elastic_energy(loose, beads, bead, bead + 1) - elastic_part, 1e-9);
  }
}

TEST(Tails, ANodeIsFreeWhereNoPairOverlaps) {
  int free = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Chain chain(fibre_of(5));
    scatter(chain, seed, 60);
    bool is_free = true;
    for (std::size_t node = 0; node < 5; ++node) {
      chain.try_at(node, chain.frame(node));
      if (!chain.is_free({node, node + 1})) is_free = false;
    }
    // Within a node they are not looked at, since a move of it does not change them.
    const auto points = points_of(chain, false);
    bool overlaps_none = true;
    for (const Point& a : points)
      for (const Point& b : points)
        if (a.node < b.node && see(a, b) && norm(a.place - b.place) < (a.value + b.value) / 2) overlaps_none = false;
    EXPECT_EQ(is_free, overlaps_none);
    free += is_free ? 1 : 0;
  }
  EXPECT_GT(free, 20);
  EXPECT_LT(free, 280);
}

MonteCarlo grown(std::uint64_t seed, double radius) {
  Model model = fibre_of(25);
  model.radius = radius;
  MonteCarlo sampled(model, seed);
  std::vector<std::size_t> ends;
  for (std::size_t node = 0; node < 25; ++node) ends.push_back(node);
  EXPECT_TRUE(sampled.grow(ends, {}));
  EXPECT_EQ(sampled.grow_tails(), 0);
  return sampled;
}

TEST(Tails, NothingOverlapsAndAllStaysInside) {
  MonteCarlo sampled = grown(3, 220);
  const Chain& chain = sampled.chain();
  for (int part = 0; part < 5; ++part) {
    EXPECT_FALSE(overlaps(chain));
    for (const Point& point : points_of(chain, false)) EXPECT_LE(norm(point.place), 220 - point.value / 2);
    EXPECT_EQ(chain.furthest_outside(), 0);
    sampled.run(3000, 1.0, true);
  }
  for (const auto& counted : sampled.counted()) EXPECT_GT(counted.size, 0.01);
}

TEST(Tails, TheyFollowTheirNodes) {
  MonteCarlo sampled = grown(4, infinite);
  const Chain& chain = sampled.chain();
  sampled.run(2000, 1.0, true);
  for (std::size_t node = 0; node < chain.size(); node += 4)
    for (std::size_t tail = 0; tail < chain.tails(node); ++tail) {
      const TailId id = {node, tail};
      EXPECT_LT(norm(chain.beads(id)[0] - chain.root(id)), 1e-9);
      for (std::size_t i = 1; i < chain.beads(id).size(); ++i)
        EXPECT_NEAR(norm(chain.beads(id)[i] - chain.beads(id)[i - 1]), loose.length, 7 / std::sqrt(loose.stretch));
    }
}

TEST(Tails, OnlyThoseInFocusMove) {
  MonteCarlo sampled = grown(5, infinite);
  const auto place = [&](std::size_t node) { return sampled.chain().beads({node, 0})[3]; };
  const Vec3 here = place(8), there = place(16);
  sampled.set_focus({7, 8});
  sampled.run_tails(MonteCarlo::regrowth, 200, 1.0, true);
  EXPECT_GT(norm(place(8) - here), 0.1);
  EXPECT_EQ(norm(place(16) - there), 0);
}

TEST(Tails, WithoutRoomTheyAreCounted) {
  Model model = one_tail({1, 1, 1}, 0, 80, 12);  // in the middle of a sphere that is too wide
  model.kinds[0].spheres = {{0, 0, 8}};
  model.kinds[0].tails.push_back({{0, 0, 100}, {1, 1}, loose});
  MonteCarlo sampled(model, 1);
  sampled.chain().place(0, {});
  EXPECT_EQ(sampled.grow_tails(), 1);
  EXPECT_TRUE(sampled.chain().beads({0, 0}).empty());
  EXPECT_EQ(sampled.chain().beads({0, 1}).size(), 2);
}

/// The first bead, which is fixed, needs room too: beside nodes that are not joined to its own, and beside other tails.
TEST(Tails, TheirFirstBeadsNeedRoom) {
  const auto without = [](const Vec3& second, const Vec3& third, double radius) {
    Model model = fibre_of(3);
    model.kinds[1].tails = {{{0, 0, 30}, {0, 0}, loose}};
    model.radius = radius;
    MonteCarlo sampled(model, 1);
    sampled.chain().place(0, {});
    sampled.chain().place(1, {second, {}});
    sampled.chain().place(2, {third, {}});
    return sampled.grow_tails();
  };
  const Vec3 far = {0, 90, 0}, near = {0, 0, 31};
  EXPECT_EQ(without(far, far, infinite), 0);
  EXPECT_EQ(without(near, far, infinite), 0);  // joined
  EXPECT_EQ(without(far, near, infinite), 1);
  EXPECT_EQ(without(far, far, 32), 1);
  Model model = one_tail({0, 0}, 0, 0, 6);
  model.kinds[0].tails.push_back({{0, 0, 12}, {0, 0}, loose});  // first beads of one node are as they are
  MonteCarlo sampled(model, 1);
  sampled.chain().place(0, {});
  EXPECT_EQ(sampled.grow_tails(), 0);
}

TEST(Tails, TheSeedDecidesAllBits) {
  const auto made = [](std::uint64_t seed) {
    MonteCarlo sampled = grown(seed, infinite);
    sampled.run(2000, 1.0, true);
    const Vec3 end = sampled.chain().beads({12, 0})[3];
    return std::array{end.x, end.y, end.z, sampled.chain().frame(24).origin.x};
  };
  const auto one = made(7);
  EXPECT_EQ(one, made(7));
  EXPECT_NE(one, made(8));
  // the same on every processor
  EXPECT_EQ(one[0], -0x1.d266f8757cacp+6);
  EXPECT_EQ(one[3], -0x1.6f02bdce31797p+5);
}

TEST(Tails, TailsThatDoNotFitAreRefused) {
  const auto refused = [](auto change) {
    Model model = fibre_of(5);
    change(model, model.kinds[1].tails[0]);
    EXPECT_THROW(Chain{model}, InputError);
  };
  refused([](Model&, Tail& tail) { tail.charges.clear(); });
  refused([](Model&, Tail& tail) { tail.charges[1] = infinite; });
  refused([](Model&, Tail& tail) { tail.place.x = infinite; });
  refused([](Model&, Tail& tail) { tail.springs.length = 0; });
  refused([](Model&, Tail& tail) { tail.springs.stretch = infinite; });
  refused([](Model&, Tail& tail) { tail.springs.angle = 4; });
  refused([](Model&, Tail& tail) { tail.springs.bend = -1; });
  refused([](Model& model, Tail&) { model.bead_diameter = -1; });
}

}  // namespace
}  // namespace tessera::fiber
