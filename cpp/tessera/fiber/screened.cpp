#include "tessera/fiber/screened.h"

#include <fmt/format.h>

#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/math/elementary.h"

namespace tessera::fiber {

Screened::Screened(double bjerrum, double kappa, double cutoff) : cutoff_(cutoff) {
  constexpr double longest = 1000;  // Å, which 10⁶ values reach
  if (!(bjerrum >= 0) || !(kappa >= 0) || !std::isfinite(bjerrum) || !std::isfinite(kappa))
    throw InputError(fmt::format("the Bjerrum length is {} Å and κ {} per Å, expected numbers from 0", bjerrum, kappa));
  if (!(cutoff > nearest) || !(cutoff <= longest))
    throw InputError(fmt::format("the cutoff is {} Å, expected {} to {}", cutoff, nearest, longest));
  const auto energy = [&](double r) { return bjerrum * math::exp(-kappa * r) / r; };
  const auto rows = static_cast<std::size_t>(cutoff * cutoff - nearest * nearest) + 3;
  const double last = energy(cutoff);
  for (std::size_t row = 0; row < rows; ++row)
    value_.push_back(energy(std::sqrt(nearest * nearest + static_cast<double>(row))) - last);
}

}  // namespace tessera::fiber
