// Applies stencils to the rows of a rank's box of a field, without a padded copy: each row is read where it lies, in
// the field or in what other ranks sent.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <vector>

#include "tessera/base/index_box.h"
#include "tessera/grid/phases.h"
#include "tessera/grid/stencil.h"

namespace tessera::grid {

/// A stencil for numbers of one kind, its terms sorted out by the rows that they read.
template <class Real>
struct RowStencil {
  struct Neighbour {
    std::int64_t x = 0, y = 0;  // of the row that is read, from the row that is computed
    bool leaves_ends = false;   // reads along z, too
  };
  std::vector<Neighbour> neighbours;
  std::vector<std::int32_t> neighbour_of_term;
  std::vector<std::int64_t> steps;  // of each term along z, in numbers
  std::vector<Real> coefficients;   // of each term
  std::array<Index3, 2> reach{};    // points
  /// For a star: how far its points lie along each axis, as many on both sides and with equal coefficients; else 0. Its
  /// terms are in order: the centre, then along x, y and z from the nearest ones outwards, first the one above.
  int star_radius = 0;

  explicit RowStencil(Stencil stencil, std::int64_t components);
};

/// What lies before the first and after the last number of a row.
template <class Real>
struct RowEnds {
  enum class Kind {
    zeros,  // the edge is not periodic
    wrap,   // the row itself, as this rank has all points along z
    given   // what other ranks sent
  };
  Kind kind = Kind::zeros;
  /// given: for each row (padded planes × padded rows), `below` numbers and then `above` numbers.
  const Real* values = nullptr;
  /// wrap: complex values before the row are multiplied by the first, after it by the second, once for each turn.
  std::array<std::complex<Real>, 2> phases{1, 1};
  bool is_turned = false;  // the phases are not 1
};

/// Where the rows in and around a box lie for one field.
template <class Real>
struct FieldRows {
  Index3 extents{};               // of the box: planes, rows, points of a row
  std::int64_t components = 1;    // numbers of a point
  std::array<Index3, 2> reach{};  // of the halo, points
  /// For each padded plane: the first row of those inside the box's edge along y, which follow each other, then each
  /// row below the edge, then each above. Rows that the stencil does not read may be nullptr.
  std::vector<const Real*> rows;
  RowEnds<Real> ends;

  std::int64_t rows_of_plane() const { return 1 + reach[0][1] + reach[1][1]; }
  std::int64_t padded_rows() const { return extents[1] + reach[0][1] + reach[1][1]; }
  std::int64_t padded_planes() const { return extents[0] + reach[0][0] + reach[1][0]; }
  const Real* row(std::int64_t x, std::int64_t y) const {
    const Real* const* plane = rows.data() + (x + reach[0][0]) * rows_of_plane();
    if (y < 0) return plane[1 + y + reach[0][1]];
    if (y >= extents[1]) return plane[1 + reach[0][1] + y - extents[1]];
    return plane[0] + y * extents[2] * components;
  }
};

/// Something that is added to a stencil's sums: factor · values.
template <class Real>
struct Addend {
  const Real* values = nullptr;  // nullptr: nothing
  Real factor = 1;
};

/// Applies a stencil to the planes [first, last) of a box: to[i] = factor · addend[i] + Σ coefficients[k] · in[i +
/// steps k], the first product rounded and each further one added by fused multiply-add, so the bits are the same on
/// every instruction set. `to` and the addend's values have the box's planes, rows and points without gaps. `streams`:
/// the result is written past the caches. Bound: memory, as each number is read once and written once while the planes
/// of a strip of rows stay in the second-level cache.
template <class Real>
void apply_stencil(const RowStencil<Real>& stencil, const FieldRows<Real>& from, Real* to, std::int64_t first,
                   std::int64_t last, const Addend<Real>& addend, bool streams);

}  // namespace tessera::grid
