#include "core.h"

#include <nanobind/stl/array.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "arrays.h"
#include "tessera/base/box.h"
#include "tessera/base/error.h"
#include "tessera/fft/schemes.h"
#include "tessera/md/plan.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tessera;

/// Plans as md::Engine does for a system whose hydrogen groups reach `group_radius` from their key atoms, for ranks of
/// one host.
md::Plan plan_md(const std::array<double, 3>& edges, const Index3& mesh, int ranks, double cutoff, double buffer,
                 double group_radius, int order, double tolerance) {
  md::EngineSettings settings;
  settings.pair.cutoff = cutoff;
  settings.pair.electrostatics = md::pair::Electrostatics::pme;
  settings.pair.alpha = md::pme::alpha_from_tolerance(cutoff, tolerance);
  settings.pme_order = order;
  settings.pme_grid = mesh;
  settings.buffer = buffer;
  const Box box = orthorhombic(edges[0], edges[1], edges[2]);
  return md::make_plan({.group_radius = group_radius}, settings, box, comm::RankLine::as_numbered(ranks),
                       fft::plan_pencil);
}

Rows halo(const md::Plan& plan, int first, int last) {
  if (first < 0 || last > plan.bricks.ranks() || first > last) throw InputError("a plan has no such ranks");
  std::vector<std::array<std::int64_t, 3>> rows;
  for (int rank = first; rank < last; ++rank)
    for (const auto& peer : md::domain::plan_halo(plan.bricks, rank).peers)
      rows.push_back({peer.rank, rank, static_cast<std::int64_t>(peer.receive.size())});
  return matrix(std::move(rows));
}

}  // namespace

void register_md_plans(nb::module_& module) {
  nb::class_<md::Plan>(module, "MdPlan")
      .def(
          "__init__",
          [](md::Plan* self, const std::array<double, 3>& edges, const Index3& mesh, int ranks, double cutoff,
             double buffer, double group_radius, int order, double tolerance) {
            new (self) md::Plan(plan_md(edges, mesh, ranks, cutoff, buffer, group_radius, order, tolerance));
          },
          "edges"_a, "mesh"_a, nb::kw_only(), "ranks"_a, "cutoff"_a, "buffer"_a, "group_radius"_a, "order"_a = 4,
          "tolerance"_a = 1e-5, "Lengths in Å; the box is orthorhombic.")
      .def_prop_ro("cells", [](const md::Plan& plan) { return plan.bricks.grid().n; })
      .def_prop_ro(
          "cell_bricks", [](const md::Plan& plan) { return array_of(plan.bricks.bricks()); }, nb::rv_policy::automatic,
          "(ranks, 2, 3) cells")
      .def_prop_ro(
          "bricks", [](const md::Plan& plan) { return array_of(plan.mesh->bricks); }, nb::rv_policy::automatic,
          "(ranks, 2, 3) mesh points whose charge a rank sums")
      .def_prop_ro(
          "padded", [](const md::Plan& plan) { return array_of(plan.mesh->padded); }, nb::rv_policy::automatic,
          "(ranks, 2, 3) mesh points whose potential a rank's atoms need")
      .def("halo", &halo, "first"_a, "last"_a,
           "(n, 3): sender, receiver and cells that ranks [first, last) have in their halo.");
}
