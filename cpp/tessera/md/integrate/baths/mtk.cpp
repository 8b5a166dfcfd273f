// Constant pressure and temperature by the equations of Martyna, Tobias and Klein, with a Nosé–Hoover chain on the
// atoms and another one on the box. Positions and velocities of constraint groups follow the box as a whole
// (Motion::set_box): with R the place of a group's first atom, V the velocity of its centre of mass, M its mass and F
// the force on it, and v_d the rate of ln L_d,
//
//   dx/dt = v + v_d R        dv/dt = f/m − (v_d + κ Σ_e v_e) V − η₁ v        κ = 1/3N_g
//   W dv_d/dt = Σ_groups (M V_d² + R_d F_d) + κ Σ_groups M V² − P_d V_box    W = (N_f + 3) kT τ²/3 for each edge
//
// where N_g is the number of groups and N_f = 3N_g. Without constraints these are the published equations. As a group
// moves without a change of its shape, constraint forces do no work in it, so no iteration between bath and constraints
// is needed (Yu et al. 2010). Where the motion of the centre of mass is removed, N_g − 1 groups have kinetic energy,
// and κ = (2/3)/(N_g − 1) keeps the volume's distribution exact.
//
// The bath acts every n steps (BathSettings::every), as the outermost level of r-RESPA with h = n·dt:
//
//   K(h/2) C(h/2) S(h/2) D(h/2) [n steps] D(h/2) S(h/2) C(h/2) K(h/2)
//
// K: the rates of the edges by the virial; C: both chains; S: velocities by the rates; D: box and positions by the
// rates, before the drift of the first step and after that of the last one, so that forces are always those of the
// present positions. The last K and the next first one are done together at the beginning of the next step, when the
// virial is known.
//
// Sources: G. J. Martyna, D. J. Tobias, M. L. Klein, J. Chem. Phys. 101, 4177 (1994), doi:10.1063/1.467468;
// G. J. Martyna, M. E. Tuckerman, D. J. Tobias, M. L. Klein, Mol. Phys. 87, 1117 (1996),
// doi:10.1080/00268979600100761; T.-Q. Yu et al., Chem. Phys. 370, 294 (2010), doi:10.1016/j.chemphys.2010.02.014.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/base/math/elementary.h"
#include "tessera/base/units.h"
#include "tessera/md/integrate/baths/bath.h"
#include "tessera/md/integrate/baths/chain.h"
#include "tessera/md/integrate/baths/edges.h"
#include "tessera/md/integrate/failures.h"

namespace tessera::md::integrate {

namespace {

class Mtk final : public Bath {
 public:
  explicit Mtk(const BathSettings& settings) : settings_(settings), sets_(settings.edges) {}

  StepSums needed_sums(std::int64_t step) const override {
    return step % settings_.every == 0 ? StepSums::virial : StepSums::none;
  }

  /// Applies K C S D.
  void before_step(Motion& motion) override {
    const auto last = motion.step() - 1;
    if (last % settings_.every != 0) return;
    const bool is_first = !motion.state().coupling.contains(name);
    auto& bath = motion.coupling(name, n_variables);
    const double half = half_time(motion), time = motion.time_of(last), kt_before = bath[last_kt];
    if (is_first) learn(motion, bath);
    const auto before = bath;
    bath[last_time] = time;
    bath[last_kt] = units::boltzmann * settings_.temperature.at(time);
    bath[last_pressure] = settings_.pressure.at(time);
    if (!is_first) {
      const double change = bath[last_pressure] - before[last_pressure];
      bath[account] -= change * motion.state().box.volume() / units::bar;
      if (kt_before != bath[last_kt]) bath[account] += own_energy(before) - own_energy(bath);
    }
    const auto push = forces(motion.scaling_virial(), motion.state().box, bath, time);
    for (int set = 0; set < sets_.n_sets(); ++set)
      bath[rate + at(set)] += (is_first ? 1 : 2) * half * push[at(set)] / mass(set, bath);
    propagate_box_chain(bath, half);
    double factor = atoms_chain(bath).propagate(bath[kinetic], half);
    motion.share(bath);
    motion.share(factor);
    auto of_groups = velocity_scales(bath, half);
    motion.share(of_groups);
    motion.scale_group_velocities(factor, of_groups);
    change_box(motion, half);
  }

  /// Applies D.
  void after_drift(Motion& motion) override {
    if (motion.step() % settings_.every == 0) change_box(motion, half_time(motion));
  }

  /// Applies S C.
  void after_step(Motion& motion) override {
    if (motion.step() % settings_.every != 0) return;
    auto& bath = motion.coupling(name, n_variables);
    const double half = half_time(motion);
    learn(motion, bath);
    auto of_groups = velocity_scales(bath, half);
    for (std::size_t d = 0; d < 3; ++d) {
      const double square = of_groups[d] * of_groups[d];
      bath[kinetic] += 0.5 * (square - 1) * bath[momenta + d];
      bath[momenta + d] *= square;
    }
    double factor = atoms_chain(bath).propagate(bath[kinetic], half);
    bath[kinetic] *= factor * factor;
    for (std::size_t d = 0; d < 3; ++d) bath[momenta + d] *= factor * factor;
    propagate_box_chain(bath, half);
    motion.share(bath);
    motion.share(factor);
    motion.share(of_groups);
    motion.scale_group_velocities(factor, of_groups);
  }

  /// Returns the bath's energy, as if the K that is still due had been applied.
  double energy(const Energies& energies, const GlobalState& state) const override {
    const auto found = state.coupling.find(name);
    if (found == state.coupling.end()) return energy_of_bath_pressure(settings_, state.box, settings_.pressure.at(0));
    auto bath = found->second;
    bath.resize(n_variables);
    if (state.step % settings_.every == 0) {
      const double half = 0.5 * bath[interval];
      const auto push = forces(energies.group_scaling_virial, state.box, bath, bath[last_time] + bath[interval]);
      for (int set = 0; set < sets_.n_sets(); ++set) bath[rate + at(set)] += half * push[at(set)] / mass(set, bath);
    }
    return own_energy(bath) + bath[account] + energy_of_bath_pressure(settings_, state.box, bath[last_pressure]);
  }

 private:
  static constexpr const char* name = "mtk";
  /// Of the logarithm of an edge at once, which is twice a step where the bath acts in every step: 1 % a step, as for
  /// the other baths.
  static constexpr double most_change = 0.005;
  /// Variables: both chains; the rates of the sets of edges, 1/ps; Σ M V_d² over groups, kcal/mol; the kinetic energy,
  /// kcal/mol; numbers of groups, of those with kinetic energy and of degrees of freedom; kT (kcal/mol) and pressure
  /// (bar) of the last action; what their changes have taken from the energy of the bath, kcal/mol; the time between
  /// two actions and that of the last one, ps.
  enum : std::size_t {
    of_atoms,
    of_box = Chain::n_variables,
    rate = 2 * Chain::n_variables,
    momenta = rate + 3,
    kinetic = momenta + 3,
    n_groups,
    n_moving_groups,
    n_atoms,
    last_kt,
    last_pressure,
    account,
    interval,
    last_time,
    n_variables
  };

  double half_time(const Motion& motion) const {
    return 0.5 * static_cast<double>(settings_.every) * motion.timestep();
  }

  /// Measures the kinetic sums and counts by which momenta contribute to the pressure.
  void learn(Motion& motion, std::vector<double>& bath) const {
    const auto sums = motion.group_kinetic_sums();
    for (std::size_t d = 0; d < 3; ++d) bath[momenta + d] = sums.of_groups[d];
    bath[kinetic] = sums.kinetic;
    bath[n_groups] = static_cast<double>(motion.n_groups());
    bath[n_moving_groups] = static_cast<double>(motion.n_moving_groups());
    bath[n_atoms] = static_cast<double>(motion.degrees_of_freedom());
    bath[interval] = 2 * half_time(motion);
  }

  double kappa(const std::vector<double>& bath) const {
    return (1 + bath[n_groups] - bath[n_moving_groups]) / (3 * bath[n_moving_groups]);
  }
  /// Returns the mass of the rate of a set of edges, kcal/mol ps².
  double mass(int set, const std::vector<double>& bath) const {
    return sets_.size(set) * (bath[n_groups] + 1) * bath[last_kt] * settings_.tau_p * settings_.tau_p;
  }
  std::size_t length() const { return static_cast<std::size_t>(settings_.chain); }
  Chain atoms_chain(std::vector<double>& bath) const {
    return {bath.data() + of_atoms, bath[n_atoms], bath[last_kt], settings_.heat_baths.front().tau_t, length()};
  }
  Chain box_chain(std::vector<double>& bath) const {
    return {bath.data() + of_box, static_cast<double>(sets_.n_sets()), bath[last_kt], settings_.tau_p, length()};
  }
  double kinetic_of_box(const std::vector<double>& bath) const {
    double sum = 0;
    for (int set = 0; set < sets_.n_sets(); ++set)
      sum += 0.5 * mass(set, bath) * bath[rate + at(set)] * bath[rate + at(set)];
    return sum;
  }
  double own_energy(std::vector<double> bath) const {
    return atoms_chain(bath).energy() + box_chain(bath).energy() + kinetic_of_box(bath);
  }
  void propagate_box_chain(std::vector<double>& bath, double time) const {
    const double factor = box_chain(bath).propagate(kinetic_of_box(bath), time);
    for (int set = 0; set < sets_.n_sets(); ++set) bath[rate + at(set)] *= factor;
  }
  double rate_of(const std::vector<double>& bath, std::size_t d) const {
    return sets_[d] < 0 ? 0 : bath[rate + at(sets_[d])];
  }

  /// Returns what accelerates the rate of each set of edges, kcal/mol.
  std::array<double, 3> forces(const std::array<double, 6>& virial, const Box& box, const std::vector<double>& bath,
                               double time) const {
    const double all = bath[momenta] + bath[momenta + 1] + bath[momenta + 2];
    std::array<double, 3> force{};
    for (std::size_t d = 0; d < 3; ++d)
      if (sets_[d] >= 0)
        force[at(sets_[d])] +=
            bath[momenta + d] + kappa(bath) * all + virial[d] - wanted_pressure(settings_, d, box, time) * box.volume();
    return force;
  }

  /// Returns the factors by which the velocities of groups change along each edge in a time.
  std::array<double, 3> velocity_scales(const std::vector<double>& bath, double time) const {
    const double all = rate_of(bath, 0) + rate_of(bath, 1) + rate_of(bath, 2);
    std::array<double, 3> scale{};
    for (std::size_t d = 0; d < 3; ++d) scale[d] = math::exp(-time * (rate_of(bath, d) + kappa(bath) * all));
    return scale;
  }

  void change_box(Motion& motion, double time) {
    auto& bath = motion.coupling(name, n_variables);
    std::array<double, 3> scale{};
    for (std::size_t d = 0; d < 3; ++d) {
      const double change = time * rate_of(bath, d);
      if (!(std::abs(change) < most_change))
        throw BoxFailure(fmt::format(
            "step {}: barostat \"mtk\" would change an edge of the box by {:.1f} % at once: the system is far from "
            "equilibrium; equilibrate with barostat = \"c-rescale\", or use a longer dynamics.tau_p",
            motion.step(), 100 * change));
      scale[d] = math::exp(change);
    }
    motion.share(scale);
    motion.set_box(stretched(motion.state().box, scale));
  }

  BathSettings settings_;
  EdgeSets sets_;
};

}  // namespace

extern constinit const BathEntry mtk = {.name = "mtk",
                                        .description = "Martyna, Tobias and Klein, with thermostat = \"nose-hoover\"",
                                        .thermostat = "nose-hoover",
                                        .make = make_bath<Mtk>};

}  // namespace tessera::md::integrate
