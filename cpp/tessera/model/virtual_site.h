// A virtual site: a place without mass that follows from the positions of other atoms of its molecule, its parents.
//
//   r = O + p₁X + p₂Y + p₃Z,  O = Σ oᵢrᵢ, X = Σ xᵢrᵢ, Y = Σ yᵢrᵢ over the parents; Σ oᵢ = 1, Σ xᵢ = Σ yᵢ = 0
//
//   SiteFrame::none          r = O alone: an average
//   SiteFrame::plain         X and Y as they are, Z = X × Y
//   SiteFrame::orthonormal   X, the part of Y across it, and Z = X × Y, each divided by its length
//
// Every kind of site of the usual programs is one of these (docs/design/prepare.md#virtual-sites). Unit: Å.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera::model {

enum class SiteFrame : std::int32_t { none, plain, orthonormal };

struct SiteParent {
  std::int32_t atom;    // template index
  double origin, x, y;  // its weights oᵢ, xᵢ, yᵢ
};

struct VirtualSite {
  std::int32_t atom = -1;  // template index
  SiteFrame frame = SiteFrame::none;
  std::array<double, 3> position{};  // p in the frame: Å where it is orthonormal; plain: 1, 1, Å⁻¹
  std::vector<SiteParent> parents;

  /// Returns whether the direction of Y is needed beside that of X.
  bool has_plane() const { return position[1] != 0 || position[2] != 0; }
};

}  // namespace tessera::model
