// Defines the settings of smooth particle-mesh Ewald and which rank holds which part of the mesh. A plan is pure and is
// tested without MPI.
//
// The mesh coordinate of a fraction f along a box vector with K points is u = (f + 2³¹)·K/2³², so mesh point 0 is at
// fraction −½ and cells and mesh share their origin. A rank that owns cells [lo, hi) of n owns the mesh points
// [⌈lo·K/n⌉, ⌈hi·K/n⌉); these do not depend on the number of ranks. An atom at u reaches the points ⌊u⌋ − p/2 + 1 … ⌊u⌋
// + p/2 (p is the spline's order). A rank can therefore fill its brick from its own atoms and one layer of halo cells
// without moving any charge mesh between ranks, if a cell is at least p/2 points wide plus the distance by which atoms
// may be outside their cell.
//
// Sources: U. Essmann et al., J. Chem. Phys. 103, 8577 (1995), doi:10.1063/1.470117; bricks and no charge-mesh
//   exchange: J. Jung et al., J. Comput. Chem. 40, 1919 (2019), doi:10.1002/jcc.25840. Units: Å, 1/Å. Cost: O(ranks).
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/fft/plan.h"
#include "tessera/machine/wires.h"

namespace tessera::md::pme {

struct PmeSettings {
  int order = 4;     // of the spline: 4, 6 or 8
  double alpha = 0;  // Ewald splitting, 1/Å
  Index3 grid{};     // mesh points along each box vector
};

/// Returns α with erfc(α·cutoff) = tolerance, 1/Å.
double alpha_from_tolerance(double cutoff, double tolerance);

/// Returns α for dispersion with e^(−x²)(1 + x² + x⁴/2) = tolerance at x = α·cutoff, 1/Å.
double lj_alpha_from_tolerance(double cutoff, double tolerance);

/// Returns for each edge (Å) the least even 2^a·3^b·5^c·7^d for which points are at most `spacing` (Å) apart. Edges and
/// not heights decide how well the mesh resolves waves: the shortest wave with m periods along an edge is edge/m long.
Index3 grid_from_spacing(const std::array<double, 3>& edges, double spacing);

/// Returns the greatest of these lengths of the box (Å) divided by its mesh points: the distance of neighbouring points
/// along the edges or, by heights of the box, of neighbouring planes.
double widest_spacing(const std::array<double, 3>& lengths, const Index3& grid);

/// Returns how far from an atom the planes lie that its charge is spread to, Å, in a box of these heights (Å).
double spline_reach(const std::array<double, 3>& heights, const Index3& grid, int order);

/// Returns the mesh points of each rank's cells, by rank; they are disjoint and cover the mesh.
std::vector<IndexBox> plan_bricks(const Index3& grid, const Index3& cells, const std::vector<IndexBox>& cell_bricks);

struct PmePlan {
  PmeSettings settings;
  std::vector<IndexBox> bricks;       // by rank: mesh points whose charge the rank sums
  std::vector<IndexBox> padded;       // by rank: mesh points whose potential its atoms need, periodic images included
  Index3 margin{};                    // mesh points by which atoms may be outside their cell, included in padded bricks
  fft::TransformPlan transform;       // from bricks to padded bricks
  std::string exchange = "pairwise";  // of the transforms, an entry of fft/exchange.h
  std::shared_ptr<const machine::Wires> wires;  // on rank 0, where the exchange needs the map

  std::string summary() const;
};

/// Takes the `heights` of the box and the `margin` by which an atom may be outside its cell, in Å; `plan_transform`
/// plans the transform. Throws InputError if the settings can't be used or cells are too narrow for the spline.
PmePlan plan_pme(const PmeSettings& settings, const std::array<double, 3>& heights, const Index3& cells,
                 const std::vector<IndexBox>& cell_bricks, double margin,
                 const std::function<fft::TransformPlan(const fft::TransformProblem&)>& plan_transform);

/// Tells whether the plan is also valid for a box of other heights (Å) with another margin (Å).
bool holds(const PmePlan& plan, const std::array<double, 3>& heights, double margin);

}  // namespace tessera::md::pme
