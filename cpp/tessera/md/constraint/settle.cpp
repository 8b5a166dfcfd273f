// Implements rigid water in closed form; formula and sources are in settle.h.
#include "tessera/md/constraint/settle.h"

#include <cmath>
#include <string>

#include "tessera/base/error.h"

namespace tessera::md::constraint {

SettleParameters make_settle(double mass_o, double mass_h, double oh, double hh) {
  if (!(mass_o > 0 && mass_h > 0 && std::isfinite(mass_o) && std::isfinite(mass_h))) {
    throw InputError("rigid water: masses " + std::to_string(mass_o) + " and " + std::to_string(mass_h) +
                     " amu, expected two positive numbers");
  }
  if (!(oh > 0 && hh > 0 && hh < 2 * oh && std::isfinite(oh))) {
    throw InputError("rigid water: distances O-H " + std::to_string(oh) + " and H-H " + std::to_string(hh) +
                     " A, expected positive numbers that form a triangle (H-H below twice O-H)");
  }
  SettleParameters p;
  p.oh = oh;
  p.hh = hh;
  const double mass = mass_o + 2 * mass_h;
  p.weight_o = mass_o / mass;
  p.weight_h = mass_h / mass;
  p.half_hh = hh / 2;
  const double height = std::sqrt((oh - p.half_hh) * (oh + p.half_hh));
  p.centre_to_o = 2 * p.weight_h * height;
  p.centre_to_hh = p.weight_o * height;
  return p;
}

}  // namespace tessera::md::constraint
