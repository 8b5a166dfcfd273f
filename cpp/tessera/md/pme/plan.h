// Settings of the smooth particle mesh and which rank holds which part of the mesh: a plan, pure, tested without MPI.
//
// Mesh coordinate of a fraction f along a box vector with K points: u = (f + 2³¹)·K/2³², so mesh point 0 is at fraction
// −½ and cells and mesh share their origin. A rank that owns cells [lo, hi) of n owns the mesh points
// [⌈lo·K/n⌉, ⌈hi·K/n⌉): the same points whatever the number of ranks. An atom at u reaches the points
// ⌊u⌋ − p/2 + 1 … ⌊u⌋ + p/2 (p the spline's order), so a rank can fill its brick from its own atoms and one layer of
// halo cells without moving any charge mesh between ranks, if cells are p/2 points wide and as much more as atoms may
// be outside their cell.
//
// Sources: U. Essmann et al., J. Chem. Phys. 103, 8577 (1995), doi:10.1063/1.470117; bricks and no charge-mesh
// exchange: J. Jung et al., J. Comput. Chem. 40, 1919 (2019), doi:10.1002/jcc.25840. Units: Å, 1/Å. Cost: O(ranks).
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "tessera/fft/plan.h"

namespace tessera::md::pme {

struct PmeSettings {
  int order = 4;     // of the spline: 4, 6 or 8
  double alpha = 0;  // Ewald splitting, 1/Å
  Index3 grid{};     // mesh points along each box vector
};

/// α with erfc(α·cutoff) = tolerance, 1/Å.
double alpha_from_tolerance(double cutoff, double tolerance);

/// Along each edge (Å) the least even 2^a·3^b·5^c·7^d whose points are at most `spacing` (Å) apart.
Index3 grid_from_spacing(const std::array<double, 3>& edges, double spacing);

/// The greatest distance of neighbouring mesh points along an edge, Å.
double widest_spacing(const std::array<double, 3>& edges, const Index3& grid);

/// How far from an atom the mesh points lie that its charge goes to, Å, in a box of such edges (Å).
double spline_reach(const std::array<double, 3>& edges, const Index3& grid, int order);

/// Mesh points of each rank's cells, by rank: disjoint, cover the mesh.
std::vector<IndexBox> plan_bricks(const Index3& grid, const Index3& cells, const std::vector<IndexBox>& cell_bricks);

struct PmePlan {
  PmeSettings settings;
  std::vector<IndexBox> bricks;  // by rank: mesh points whose charge the rank sums
  std::vector<IndexBox> padded;  // by rank: mesh points whose potential the rank's atoms need; sticks out periodically
  Index3 margin{};               // of padded bricks beyond the spline: mesh points that atoms may be outside their cell
  fft::Plan transform;           // from bricks to padded bricks

  std::string summary() const;
};

/// `edges` of the box and `margin`, how far outside its cell an atom may be, in Å. `plan_transform` lays the transform
/// out. Throws InputError where the settings can't be used or cells are too narrow for the spline.
PmePlan plan_pme(const PmeSettings& settings, const std::array<double, 3>& edges, const Index3& cells,
                 const std::vector<IndexBox>& cell_bricks, double margin,
                 const std::function<fft::Plan(const fft::Problem&)>& plan_transform);

/// Whether the plan also serves a box of other edges (Å) with another margin (Å).
bool holds(const PmePlan& plan, const std::array<double, 3>& edges, double margin);

}  // namespace tessera::md::pme
