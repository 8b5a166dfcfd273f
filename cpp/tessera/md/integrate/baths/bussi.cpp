// Stochastic velocity rescaling: the kinetic energy follows the Langevin equation of a system with as many degrees of
// freedom, and all velocities are scaled to it.
//
//   α² = c + (1−c)·(K̄/(N K))·(R₁² + Σ_{i=2..N} R_i²) + 2·R₁·√(c(1−c)·K̄/(N K)),  c = exp(−Δt/τ),  K̄ = N·kT/2
//
// Source: G. Bussi, D. Donadio, M. Parrinello, J. Chem. Phys. 126, 014101 (2007), doi:10.1063/1.2408420, eq. A7.
#include <algorithm>
#include <cmath>

#include "tessera/base/math/elementary.h"
#include "tessera/base/random.h"
#include "tessera/base/units.h"
#include "tessera/md/integrate/baths/bath.h"

namespace tessera::md::integrate {

namespace {

/// Returns a deviate of the gamma distribution of this shape and scale 1, a function of seed, id and step.
/// Source: G. Marsaglia, W. W. Tsang, ACM Trans. Math. Softw. 26, 363 (2000), doi:10.1145/358407.358414.
double gamma_deviate(double shape, std::uint64_t seed, std::uint64_t first_id, std::uint64_t step) {
  const auto uniform = [](std::uint32_t word) { return (word + 0.5) / 4294967296.0; };
  const std::uint64_t first_try = first_id + 1;  // the first id is the first normal of the step
  if (shape < 1) {
    const auto words = random_words(seed, RandomStream::thermostat, first_try, step);
    return gamma_deviate(shape + 1, seed, first_id, step) * math::pow(uniform(words[3]), 1 / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (std::uint64_t attempt = first_try;; ++attempt) {
    const double x = random_normals(seed, RandomStream::thermostat, attempt, step)[0];
    const double v = math::pow(1 + c * x, 3);
    const double u = uniform(random_words(seed, RandomStream::thermostat, attempt, step)[2]);
    if (v > 0 && math::log(u) < 0.5 * x * x + d - d * v + d * math::log(v)) return d * v;
  }
}

class Bussi final : public Bath {
 public:
  explicit Bussi(const BathSettings& settings) : settings_(settings) {}

  void after_step(Motion& motion) override {
    if (motion.step() % settings_.every != 0) return;
    const auto kinetic = motion.kinetic_energies();
    std::vector<double> factor(kinetic.size(), 1);
    for (std::size_t bath = 0; bath < kinetic.size(); ++bath)
      if (kinetic[bath] > 0) factor[bath] = factor_of(motion, bath, kinetic[bath]);
    motion.share(factor);
    motion.scale_velocities(factor);
    motion.coupling("bussi", 1)[0] += motion.change_of_kinetic_energy(kinetic);
  }

  double energy(const Energies& /*energies*/, const GlobalState& state) const override {
    return -coupling_of(state, "bussi", 0);
  }

 private:
  double factor_of(const Motion& motion, std::size_t bath, double kinetic) const {
    const auto& [atoms, temperature, tau] = settings_.heat_baths[bath];
    const auto step = static_cast<std::uint64_t>(motion.step()), id = static_cast<std::uint64_t>(bath) << 32U;
    const double n = motion.degrees_of_freedom_of(bath);
    const double c = math::exp(-static_cast<double>(settings_.every) * motion.timestep() / tau);
    // K̄/(N K): the mean kinetic energy of a degree of freedom over what the system has.
    const double ratio = 0.5 * units::boltzmann * temperature.at(motion.time()) / kinetic;
    const double r = random_normals(settings_.seed, RandomStream::thermostat, id, step)[0];
    const double others = n > 1 ? 2 * gamma_deviate(0.5 * (n - 1), settings_.seed, id, step) : 0;
    const double square = c + (1 - c) * ratio * (r * r + others) + 2 * r * std::sqrt(c * (1 - c) * ratio);
    const double sign = r + std::sqrt(c / ((1 - c) * ratio)) < 0 ? -1 : 1;
    return sign * std::sqrt(std::max(0.0, square));
  }

  BathSettings settings_;
};

}  // namespace

extern constinit const BathEntry bussi = {
    .name = "bussi", .description = "stochastic velocity rescaling", .draws_noise = true, .make = make_bath<Bussi>};

}  // namespace tessera::md::integrate
