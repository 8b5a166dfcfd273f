// Pressure baths that scale the box at the beginning of a step by the virial of the last one.
//
// Constraint groups (a heavy atom and its hydrogens, a rigid water) are moved as a whole by Motion::set_box: the
// fractions of their first atoms stay, their velocities too. The box grows along the Cartesian axes: every component d
// of its vectors by the same factor, which keeps the shape of a triclinic box where all axes grow alike, and its
// reduced form always. The work that the system does when the box grows along an axis d by dε = d ln L_d is then that
// of
//
//   P_d V = N_g kT + Σ_groups R_d F_d
//
// with N_g the number of groups, R the place of a group's first atom and F the force on the group: the first term is
// the mean of what momenta contribute, which the scaling leaves alone. For a box whose edges change one by one, the
// density exp(−(U + P₀V)/kT) V^{N_g} of the isothermal-isobaric ensemble is kept by
//
//   dε_d = (β/3τ)(P_d − P₀) dt + √(2kTβ/(3Vτ)) dW_d
//
// where β is the compressibility; edges that change together share the mean of P_d and one noise.
//
// Source: M. Bernetti, G. Bussi, J. Chem. Phys. 153, 114107 (2020), doi:10.1063/5.0020514 (for one edge length, with
// velocities scaled along); H. J. C. Berendsen et al., J. Chem. Phys. 81, 3684 (1984), doi:10.1063/1.448118 (without
// noise: a mean pressure, no ensemble).
#include <algorithm>
#include <array>
#include <cmath>

#include "tessera/base/math/elementary.h"
#include "tessera/base/random.h"
#include "tessera/base/units.h"
#include "tessera/md/integrate/baths/bath.h"
#include "tessera/md/integrate/baths/edges.h"

namespace tessera::md::integrate {

namespace {

class CellScaling final : public Bath {
 public:
  explicit CellScaling(const BathSettings& settings)
      : settings_(settings), sets_(settings.edges), has_noise_(barostat(settings.barostat).draws_noise) {}

  StepSums needed_sums(std::int64_t step) const override {
    const bool is_due = step % settings_.every == 0 || (step - 1) % settings_.every == 0;
    return is_due ? StepSums::virial : StepSums::none;
  }

  void before_step(Motion& motion) override {
    const auto last = motion.step() - 1;
    auto& bath = motion.coupling(name, n_variables);
    bath[work] += rest_of_work(motion.scaling_virial(), motion.state(), last);
    if (last % settings_.every != 0) return;
    const auto& box = motion.state().box;
    const auto& virial = motion.scaling_virial();
    const double volume = box.volume(), time = motion.time_of(last),
                 kt = units::boltzmann * settings_.temperature.at(time);
    const double rate = settings_.compressibility * units::bar * static_cast<double>(settings_.every) *
                        motion.timestep() / (3 * settings_.tau_p);  // β Δt/3τ, Å³ mol/kcal
    const auto noise =
        random_normals(settings_.seed, RandomStream::barostat, 0, static_cast<std::uint64_t>(motion.step()));
    std::array<double, 3> scale{1, 1, 1};
    for (int set = 0; set < 3; ++set) {
      const auto n = static_cast<double>(sets_.size(set));
      if (n == 0) continue;
      double excess = 0;  // of the set's pressure over the bath's, kcal/mol/Å³
      for (std::size_t d = 0; d < 3; ++d)
        if (sets_[d] == set)
          excess += ((static_cast<double>(motion.n_groups()) * kt + virial[d]) / volume -
                     wanted_pressure(settings_, d, box, time)) /
                    n;
      double change = rate * excess;
      if (has_noise_) change += std::sqrt(2 * kt * rate / (n * volume)) * noise[static_cast<std::size_t>(set)];
      change = std::clamp(change, -most_change, most_change);
      for (std::size_t d = 0; d < 3; ++d) {
        if (sets_[d] != set) continue;
        scale[d] = math::exp(change);
      }
    }
    motion.share(scale);
    for (std::size_t d = 0; d < 3; ++d) {
      const double change = math::log(scale[d]);
      bath[work] += virial[d] * change;
      bath[last_change + d] = change;
      bath[last_virial + d] = virial[d];
    }
    motion.share(bath);
    motion.set_box(stretched(box, scale));
  }

  double energy(const Energies& energies, const GlobalState& state) const override {
    return coupling_of(state, name, work) + rest_of_work(energies.group_scaling_virial, state, state.step);
  }

 private:
  static constexpr const char* name = "barostat";
  /// Variables: the work that the bath has received, kcal/mol; the last changes of ln L; the virial they started from.
  enum : std::size_t { work, last_change, last_virial = last_change + 3, n_variables = last_virial + 3 };

  /// Returns what the step after an action adds to its work: that is the mean of the virials before and after the
  /// change, as the second order of a random change is as large as the first order of a steady one.
  double rest_of_work(const std::array<double, 6>& virial, const GlobalState& state, std::int64_t step) const {
    if ((step - 1) % settings_.every != 0) return 0;
    double sum = 0;
    for (std::size_t d = 0; d < 3; ++d)
      sum += 0.5 * (virial[d] - coupling_of(state, name, last_virial + d)) * coupling_of(state, name, last_change + d);
    return sum;
  }

  static constexpr double most_change = 0.01;  // of the logarithm of an edge in one action

  BathSettings settings_;
  EdgeSets sets_;
  bool has_noise_;
};

}  // namespace

extern constinit const BathEntry c_rescale = {.name = "c-rescale",
                                              .description = "stochastic cell rescaling",
                                              .draws_noise = true,
                                              .make = make_bath<CellScaling>};
extern constinit const BathEntry berendsen_barostat = {.name = "berendsen",
                                                       .description = "weak coupling, samples no ensemble",
                                                       .samples_ensemble = false,
                                                       .make = make_bath<CellScaling>};

}  // namespace tessera::md::integrate
