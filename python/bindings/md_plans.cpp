#include "md_plans.h"

#include <nanobind/stl/array.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "arrays.h"
#include "tessera/base/error.h"
#include "tessera/base/lattice.h"
#include "tessera/fft/schemes.h"
#include "tessera/md/domain/decomposition.h"
#include "tessera/md/pme/plan.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tessera;

struct MdPlan {
  md::domain::Decomposition decomposition;
  md::pme::PmePlan mesh;
};

/// As md::Engine plans a system whose hydrogen groups reach `group_radius` from their key atoms, at cut-offs of 9 Å and
/// more (at shorter ones bonded terms may ask for wider cells).
MdPlan plan_md(const std::array<double, 3>& edges, const Index3& mesh, int ranks, double cutoff, double buffer,
               double group_radius, int order, double tolerance) {
  const auto cells = md::domain::plan_cell_grid(Lattice({edges[0], 0, 0}, {0, edges[1], 0}, {0, 0, edges[2]}),
                                                {.list_range = cutoff + buffer,
                                                 .group_radius = group_radius,
                                                 .mesh_reach = md::pme::spline_reach(edges, mesh, order),
                                                 .buffer = buffer});
  auto decomposition = md::domain::plan_decomposition(cells, ranks);
  auto pme = md::pme::plan_pme({order, md::pme::alpha_from_tolerance(cutoff, tolerance), mesh}, edges, cells.n,
                               decomposition.bricks(), group_radius + 0.5 * buffer, fft::plan_pencil);
  return {std::move(decomposition), std::move(pme)};
}

Rows halo(const MdPlan& plan, int first, int last) {
  if (first < 0 || last > plan.decomposition.ranks() || first > last) throw InputError("a plan has no such ranks");
  std::vector<std::array<std::int64_t, 3>> rows;
  for (int rank = first; rank < last; ++rank)
    for (const auto& peer : md::domain::plan_halo(plan.decomposition, rank).peers)
      rows.push_back({peer.rank, rank, static_cast<std::int64_t>(peer.receive.size())});
  return matrix(std::move(rows));
}

}  // namespace

void register_md_plans(nb::module_& module) {
  nb::class_<MdPlan>(module, "MdPlan")
      .def(
          "__init__",
          [](MdPlan* self, const std::array<double, 3>& edges, const Index3& mesh, int ranks, double cutoff,
             double buffer, double group_radius, int order, double tolerance) {
            new (self) MdPlan(plan_md(edges, mesh, ranks, cutoff, buffer, group_radius, order, tolerance));
          },
          "edges"_a, "mesh"_a, nb::kw_only(), "ranks"_a, "cutoff"_a, "buffer"_a, "group_radius"_a, "order"_a = 4,
          "tolerance"_a = 1e-5, "Lengths in Å; the box is orthorhombic.")
      .def_prop_ro("cells", [](const MdPlan& plan) { return plan.decomposition.grid().n; })
      .def_prop_ro(
          "cell_bricks", [](const MdPlan& plan) { return array_of(plan.decomposition.bricks()); },
          nb::rv_policy::automatic, "(ranks, 2, 3) cells")
      .def_prop_ro(
          "bricks", [](const MdPlan& plan) { return array_of(plan.mesh.bricks); }, nb::rv_policy::automatic,
          "(ranks, 2, 3) mesh points whose charge a rank sums")
      .def_prop_ro(
          "padded", [](const MdPlan& plan) { return array_of(plan.mesh.padded); }, nb::rv_policy::automatic,
          "(ranks, 2, 3) mesh points whose potential a rank's atoms need")
      .def("halo", &halo, "first"_a, "last"_a,
           "(n, 3): sender, receiver and cells that ranks [first, last) have in their halo.");
}
