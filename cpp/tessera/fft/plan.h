// How a three-dimensional Fourier transform of a periodic mesh is laid out over ranks: a plan, pure and the same on
// every rank, tested without MPI.
//
// A transform is three sweeps of lines, along x, y and z, with a redistribution before each: every rank holds whole
// lines of the direction that is swept. A scheme (an entry of `schemes()`) only chooses the boxes; all else follows
// from them. Real points run over [0,nx)×[0,ny)×[0,nz); spectrum points over [0,nx/2]×[0,ny)×[0,nz), as the spectrum of
// a real mesh is Hermitian. Every box is stored with z fastest.
//
// Source: pencils as in J. Jung, C. Kobayashi, T. Imamura, Y. Sugita, Comput. Phys. Commun. 200, 57 (2016),
// doi:10.1016/j.cpc.2015.10.024, whose volumetric schemes are choices of boxes too.
// Cost: planning is O(ranks); a rank's message count is at most ranks, on a pencil layout about 2·√ranks a sweep.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/index_box.h"

namespace tessera::fft {

struct Plan {
  std::string scheme;
  Index3 grid{};
  Index3 processes{};             // ranks along the three directions of the layout, for people to read
  std::vector<IndexBox> input;    // by rank: real points, disjoint, cover the mesh
  std::vector<IndexBox> x_lines;  // by rank: real points, whole along x, disjoint, cover the mesh
  std::vector<IndexBox> y_lines;  // by rank: spectrum points, whole along y
  std::vector<IndexBox> z_lines;  // by rank: spectrum points, whole along z: where spectra stand
  std::vector<IndexBox> output;   // by rank: real points, may overlap and stick out of the mesh (periodic images)

  int ranks() const { return static_cast<int>(input.size()); }
  Index3 spectrum_grid() const { return {grid[0] / 2 + 1, grid[1], grid[2]}; }
  /// The spectrum points that a rank has after the sweep along x.
  IndexBox x_spectrum(int rank) const;
  /// A few lines for people: layout, largest boxes, number of partners.
  std::string summary() const;
};

/// A box that goes from one rank to another. `box` is where the sender has it; the receiver has it at box + shift
/// (shift is not zero only where the receiver's box sticks out of the mesh).
struct Piece {
  int peer = 0;
  IndexBox box;
  Index3 shift{};
};

/// One rank's part in a redistribution, by peer. Two ranks list the pieces between them in the same order; what a rank
/// keeps stands in both lists.
struct Exchange {
  std::vector<Piece> send, receive;
};

/// From disjoint boxes inside the mesh to any boxes. O(ranks).
Exchange plan_exchange(const Index3& grid, const std::vector<IndexBox>& from, const std::vector<IndexBox>& to,
                       int rank);

/// A way to lay a transform out over ranks.
struct Scheme {
  std::string_view name;
  std::string_view restrictions;
  Plan (*plan)(const Index3& grid, std::vector<IndexBox> input, std::vector<IndexBox> output);
};

const std::vector<Scheme>& schemes();

/// The plan of the scheme of that name; throws InputError where there is none or a mesh that can't be transformed.
Plan plan_transform(std::string_view scheme, const Index3& grid, std::vector<IndexBox> input,
                    std::vector<IndexBox> output);

/// Lines along x split over p×q ranks in (y, z), lines along y in (kx, z), lines along z in (kx, ky); p and q near each
/// other, for any number of ranks (some may stay idle where that evens the load).
Plan plan_pencil(const Index3& grid, std::vector<IndexBox> input, std::vector<IndexBox> output);

}  // namespace tessera::fft
