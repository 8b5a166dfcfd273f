#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core.h"
#include "tessera/base/error.h"
#include "tessera/fiber/knots/simplified.h"
#include "tessera/fiber/monte_carlo.h"

namespace nb = nanobind;
using namespace nb::literals;
namespace fiber = tessera::fiber;
using tessera::Vec3;

namespace {

template <int columns>
using Table = nb::ndarray<const double, nb::shape<-1, columns>, nb::c_contig, nb::device::cpu>;
using Frames = nb::ndarray<const double, nb::shape<-1, 4, 3>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<nb::numpy, double>;

Numbers array_of(std::vector<double> values, std::initializer_list<std::size_t> shape) {
  auto* kept = new std::vector<double>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return {kept->data(), shape, owner};
}

fiber::Frame frame_of(const Frames& frames, std::size_t at) {
  const auto row = [&](std::size_t i) { return Vec3{frames(at, i, 0), frames(at, i, 1), frames(at, i, 2)}; };
  return {row(0), {row(1), row(2), row(3)}};
}

fiber::Kind kind_of(const Table<4>& charges, const Table<3>& spheres) {
  fiber::Kind kind;
  for (std::size_t i = 0; i < charges.shape(0); ++i)
    kind.charges.push_back({{charges(i, 0), charges(i, 1), charges(i, 2)}, charges(i, 3)});
  for (std::size_t i = 0; i < spheres.shape(0); ++i)
    kind.spheres.push_back({spheres(i, 0), spheres(i, 1), spheres(i, 2)});
  return kind;
}

std::vector<fiber::Step> steps_of(const Frames& exits, const Frames& entries, const Table<5>& springs) {
  if (entries.shape(0) != exits.shape(0) || springs.shape(0) != exits.shape(0))
    throw nb::value_error("exits, entries and springs have different lengths");
  std::vector<fiber::Step> steps;
  for (std::size_t at = 0; at < exits.shape(0); ++at)
    steps.push_back({frame_of(exits, at),
                     frame_of(entries, at),
                     {springs(at, 0), springs(at, 1), springs(at, 2), springs(at, 3), springs(at, 4)}});
  return steps;
}

std::vector<fiber::Anchor> anchors_of(const std::optional<Table<4>>& rows) {
  std::vector<fiber::Anchor> anchors;
  for (std::size_t at = 0; rows && at < rows->shape(0); ++at)
    anchors.push_back({{(*rows)(at, 0), (*rows)(at, 1), (*rows)(at, 2)}, (*rows)(at, 3)});
  return anchors;
}

/// A tail: the kind of node that it hangs on, where its first bead is, and the charges of its beads.
using TailOfKind = std::tuple<std::size_t, std::array<double, 3>, std::vector<double>>;

void add_tails(std::vector<fiber::Kind>& kinds, const std::vector<TailOfKind>& tails,
               const std::array<double, 4>& springs) {
  const auto [length, stretch, angle, bend] = springs;
  for (const auto& [kind, place, charges] : tails) {
    if (kind >= kinds.size()) throw nb::value_error("a tail hangs on a kind of node that is not there");
    kinds[kind].tails.push_back({{place[0], place[1], place[2]}, charges, {length, stretch, angle, bend}});
  }
}

std::vector<std::size_t> indices_of(const Indices& values) { return {values.data(), values.data() + values.shape(0)}; }

/// Returns the frames of all nodes as (n,4,3): the origin and three axes.
Numbers frames_of(fiber::MonteCarlo& sampled) {
  std::vector<double> values;
  const auto& chain = sampled.chain();
  for (std::size_t node = 0; node < chain.size(); ++node) {
    const auto& [origin, axes] = chain.frame(node);
    for (const Vec3& row : {origin, axes.x, axes.y, axes.z}) values.insert(values.end(), {row.x, row.y, row.z});
  }
  return array_of(std::move(values), {chain.size(), 4, 3});
}

/// Returns the places of all beads of tails (k,3), in the order of nodes, tails and beads.
Numbers beads_of(fiber::MonteCarlo& sampled) {
  std::vector<double> values;
  const auto& chain = sampled.chain();
  for (std::size_t node = 0; node < chain.size(); ++node)
    for (std::size_t tail = 0; tail < chain.tails(node); ++tail)
      for (const Vec3& bead : chain.beads({node, tail})) values.insert(values.end(), {bead.x, bead.y, bead.z});
  const std::size_t count = values.size() / 3;
  return array_of(std::move(values), {count, 3});
}

Numbers step_energies_of(fiber::MonteCarlo& sampled) {
  std::vector<double> values;
  const auto& chain = sampled.chain();
  for (std::size_t at = 0; at + 1 < chain.size(); ++at) {
    const fiber::StepEnergy energy = chain.energy_of_step(at);
    values.insert(values.end(), {energy.across, energy.along, energy.bend, energy.twist});
  }
  return array_of(std::move(values), {chain.size() - 1, 4});
}

void place(fiber::MonteCarlo& sampled, const Frames& frames) {
  auto& chain = sampled.chain();
  if (frames.shape(0) != chain.size()) throw nb::value_error("expected a frame for each node");
  for (std::size_t node = 0; node < chain.size(); ++node) chain.place(node, frame_of(frames, node));
}

bool grow(fiber::MonteCarlo& sampled, const Indices& ends, const std::optional<Table<3>>& targets) {
  const auto last = indices_of(ends);
  const bool rises = std::ranges::adjacent_find(last, std::greater_equal<>()) == last.end();
  if (last.empty() || !rises || last.back() + 1 != sampled.chain().size())
    throw nb::value_error("expected the last nodes of pieces, in order");
  std::vector<Vec3> places;
  if (targets)
    for (std::size_t i = 0; i < targets->shape(0); ++i)
      places.push_back({(*targets)(i, 0), (*targets)(i, 1), (*targets)(i, 2)});
  if (targets && places.size() != last.size()) throw nb::value_error("expected a target for each piece");
  const nb::gil_scoped_release release;
  return sampled.grow(last, places);
}

Numbers simplified(const Table<3>& points, std::size_t few) {
  std::vector<double> values;
  {
    const nb::gil_scoped_release release;
    std::vector<Vec3> curve;
    for (std::size_t i = 0; i < points.shape(0); ++i) curve.push_back({points(i, 0), points(i, 1), points(i, 2)});
    for (const Vec3& p : fiber::knots::simplified(curve, few)) values.insert(values.end(), {p.x, p.y, p.z});
  }
  const std::size_t count = values.size() / 3;
  return array_of(std::move(values), {count, 3});
}

}  // namespace

void register_fiber(nb::module_& module) {
  module.def(
      "simplified_curve", &simplified, "points"_a, "few"_a,
      "Returns a closed curve of the same knot (m,3) as that through points (n,3), with fewer corners: fewer than "
      "`few`, or as many as can't go.");
  nb::class_<fiber::MonteCarlo>(
      module, "FiberChain",
      "A chain of rigid nodes that elastic steps join, and its sampling by Monte Carlo. Lengths "
      "are in Å, energies in kT; frames (n,4,3) are an origin and three axes.")
      .def(
          "__init__",
          [](fiber::MonteCarlo* self, const std::vector<std::pair<Table<4>, Table<3>>>& kinds, const Indices& kind,
             const Frames& exits, const Frames& entries, const Table<5>& springs, const std::array<double, 3>& screened,
             double diameter, double radius, double reach, std::uint64_t seed, const std::optional<Table<4>>& anchors,
             const std::vector<TailOfKind>& tails, const std::array<double, 4>& tail_springs, double bead_diameter) {
            std::vector<fiber::Kind> all;
            for (const auto& [charges, spheres] : kinds) all.push_back(kind_of(charges, spheres));
            add_tails(all, tails, tail_springs);
            const auto [bjerrum, kappa, cutoff] = screened;
            fiber::Model model = {all,
                                  indices_of(kind),
                                  steps_of(exits, entries, springs),
                                  {bjerrum, kappa, cutoff},
                                  diameter,
                                  radius,
                                  reach,
                                  anchors_of(anchors),
                                  bead_diameter};
            new (self) fiber::MonteCarlo(std::move(model), seed);
          },
          "kinds"_a, "kind"_a, "exits"_a, "entries"_a, "springs"_a, nb::kw_only(), "screened"_a, "diameter"_a,
          "radius"_a, "reach"_a, "seed"_a, "anchors"_a.none() = nb::none(), "tails"_a = std::vector<TailOfKind>(),
          "tail_springs"_a = std::array<double, 4>{1, 1, 1, 1}, "bead_diameter"_a = 0.0,
          "Kinds of nodes are charges (m,4), x y z and e, and spheres (k,3); `kind` (n) says which each node is; a step "
          "leaves the frame `exits` of one node and reaches `entries` of the next (n - 1,4,3), with springs (n - 1,5): "
          "length, and kT of shifts, of stretching, of bending, of twisting; `screened` is the Bjerrum length, κ and the "
          "cutoff; springs hold nodes near `anchors` (n,4), x y z in Å, with a stiffness in kT/Å². Tails are a kind of node, "
          "the place of the first bead in its frame, and the charges of all beads; `tail_springs` are the length of bonds, "
          "kT/Å² of stretching, the angle in radians and kT/rad² of bending.")
      .def(
          "grow", &grow, "ends"_a, "targets"_a.none() = nb::none(),
          "Builds the chain from its first node on, in pieces that end at these nodes (m), each near its target (m,3). "
          "Returns whether there was room.")
      .def(
          "grow_tails", [](fiber::MonteCarlo& self) { return self.grow_tails(); },
          "Puts tails where they have room, on nodes that have a place. Returns how many found none.")
      .def("place", &place, "frames"_a, "Puts all nodes at frames (n,4,3).")
      .def(
          "run",
          [](fiber::MonteCarlo& self, std::uint64_t moves, double heat, bool tune) {
            const nb::gil_scoped_release release;
            self.run(moves, heat, tune);
          },
          "moves"_a, nb::kw_only(), "heat"_a = 1.0, "tune"_a = false,
          "Makes moves, and as many of tails, at `heat` times the temperature; with `tune` their sizes follow how often they "
          "are accepted.")
      .def(
          "set_radius", [](fiber::MonteCarlo& self, double radius) { self.chain().set_radius(radius); }, "radius"_a,
          "Gives the sphere about the origin another radius; what is outside only comes nearer.")
      .def(
          "outside", [](fiber::MonteCarlo& self) { return self.chain().furthest_outside(); },
          "Returns how far the chain reaches out of the sphere.")
      .def(
          "set_focus", [](fiber::MonteCarlo& self, const Indices& nodes) { self.set_focus(indices_of(nodes)); },
          "nodes"_a, "Limits moves to short stretches about these nodes (m); with none, to nothing.")
      .def(
          "set_hardness", [](fiber::MonteCarlo& self, double hardness) { self.set_hardness(hardness); }, "hardness"_a,
          "Lets spheres overlap at a cost of so many kT for a pair whose centres meet, and leaves charges out; infinite: "
          "what does not overlap never comes to.")
      .def(
          "overlap", [](fiber::MonteCarlo& self) { return self.chain().overlap(); },
          "Returns how much all nodes overlap: the sum of 1 - r²/d² over pairs of spheres r apart and d thick.")
      .def("frames", &frames_of, "Returns the frames of all nodes (n,4,3).")
      .def("beads", &beads_of, "Returns the places of all beads of tails (k,3), by nodes, tails and beads.")
      .def("step_energies", &step_energies_of,
           "Returns the energy of each step (n - 1,4) by shifts, stretching, bending and twisting.")
      .def(
          "screened_energy", [](fiber::MonteCarlo& self) { return self.chain().screened_energy(); },
          "Returns the energy of all charges.")
      .def(
          "accepted",
          [](const fiber::MonteCarlo& self) {
            std::vector<double> values;
            for (const auto& counted : self.counted())
              values.insert(values.end(),
                            {static_cast<double>(counted.tried), static_cast<double>(counted.accepted), counted.size});
            return array_of(std::move(values), {fiber::MonteCarlo::kinds, 3});
          },
          "Returns how often moves of a bead, of a core, pivots, crankshafts, regrowths of tails and shifts of their beads "
          "were tried and accepted, and the size of each in radians (6,3).");
}
