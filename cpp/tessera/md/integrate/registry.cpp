// The integrators, thermostats and barostats that there are: a line each, in the order in which the reference names them.
// An entry stands at the end of the file of its class.
#include <array>

#include "tessera/base/error.h"
#include "tessera/md/integrate/baths/bath.h"
#include "tessera/md/integrate/integrator.h"

#define TESSERA_INTEGRATORS(ENTRY) \
  ENTRY(velocity_verlet)           \
  ENTRY(leapfrog)                  \
  ENTRY(langevin)                  \
  ENTRY(respa)

#define TESSERA_THERMOSTATS(ENTRY) \
  ENTRY(bussi)                     \
  ENTRY(nose_hoover)               \
  ENTRY(langevin_thermostat)       \
  ENTRY(berendsen_thermostat)

#define TESSERA_BAROSTATS(ENTRY) \
  ENTRY(c_rescale)               \
  ENTRY(mtk)                     \
  ENTRY(monte_carlo)             \
  ENTRY(berendsen_barostat)

namespace tessera::md::integrate {

// Each list twice: as declarations, and as the elements of an array.
#define DECLARE_INTEGRATOR(entry) extern const IntegratorEntry entry;
#define DECLARE_BATH(entry) extern const BathEntry entry;
#define ELEMENT(entry) entry,

TESSERA_INTEGRATORS(DECLARE_INTEGRATOR)
TESSERA_THERMOSTATS(DECLARE_BATH)
TESSERA_BAROSTATS(DECLARE_BATH)

std::span<const IntegratorEntry> integrators() {
  static const std::array entries = {TESSERA_INTEGRATORS(ELEMENT)};
  return entries;
}

std::span<const BathEntry> thermostats() {
  static const std::array entries = {TESSERA_THERMOSTATS(ELEMENT)};
  return entries;
}

std::span<const BathEntry> barostats() {
  static const std::array entries = {TESSERA_BAROSTATS(ELEMENT)};
  return entries;
}

const IntegratorEntry& integrator(const std::string& name) { return find_named(integrators(), name, "integrator"); }
const BathEntry& thermostat(const std::string& name) { return find_named(thermostats(), name, "thermostat"); }
const BathEntry& barostat(const std::string& name) { return find_named(barostats(), name, "barostat"); }

std::unique_ptr<Integrator> make_integrator(const EngineSettings& settings) {
  return integrator(settings.integrator).make(settings);
}

}  // namespace tessera::md::integrate
