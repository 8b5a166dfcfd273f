// What pressure baths share: which edges of the box change together, and the pressure along each.
#pragma once

#include <algorithm>
#include <array>

#include "tessera/base/box.h"
#include "tessera/base/units.h"
#include "tessera/md/integrate/baths/settings.h"

namespace tessera::md::integrate {

/// Sets of edges that change together: for each edge the number of its set, or −1 if the edge stays.
class EdgeSets {
 public:
  explicit EdgeSets(Edges edges) : set_(sets_of(edges)) {}

  int operator[](std::size_t edge) const { return set_[edge]; }
  /// Counts the edges of a set; 0: there is no such set.
  int size(int set) const { return static_cast<int>(std::count(set_.begin(), set_.end(), set)); }
  int n_sets() const { return 1 + *std::max_element(set_.begin(), set_.end()); }

 private:
  static std::array<int, 3> sets_of(Edges edges) {
    switch (edges) {
      case Edges::isotropic:
        return {0, 0, 0};
      case Edges::semi_isotropic:
        return {0, 0, 1};
      case Edges::anisotropic:
        return {0, 1, 2};
      case Edges::constant_area:
        return {-1, -1, 0};
    }
    return {0, 0, 0};
  }

  std::array<int, 3> set_;
};

/// Returns the pressure that the bath has along an edge, kcal/mol/Å³: a surface tension lowers it along the surface.
inline double wanted_pressure(const BathSettings& settings, std::size_t d, const Box& box, double time) {
  double pressure = settings.pressure.at(time);
  if (settings.edges == Edges::semi_isotropic && d < 2) pressure -= settings.surface_tension / box.c().z;
  return pressure / units::bar;
}

/// Returns the energy of which these pressures are the derivatives, P₀V − γA, kcal/mol.
inline double energy_of_bath_pressure(const BathSettings& settings, const Box& box, double pressure) {
  const double area = box.volume() / box.c().z;
  return (pressure * box.volume() - settings.surface_tension * area) / units::bar;
}

}  // namespace tessera::md::integrate
