#include "tessera/md/integrate/integrator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/md/integrate/langevin.h"
#include "tessera/md/integrate/leapfrog.h"
#include "tessera/md/integrate/respa.h"
#include "tessera/md/integrate/velocity_verlet.h"

namespace tessera::md::integrate {

std::span<const IntegratorEntry> integrators() {
  static const std::array entries = {velocity_verlet, leapfrog, langevin, respa};
  return entries;
}

std::unique_ptr<Integrator> make_integrator(const EngineSettings& settings) {
  std::vector<std::string_view> names;
  for (const auto& entry : integrators()) {
    if (entry.name == settings.integrator) return entry.make(settings);
    names.push_back(entry.name);
  }
  throw InputError(
      fmt::format("there is no integrator \"{}\", expected one of {}", settings.integrator, fmt::join(names, ", ")));
}

}  // namespace tessera::md::integrate
