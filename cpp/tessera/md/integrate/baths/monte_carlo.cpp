// The Monte Carlo barostat: every so many steps another box is tried, with constraint groups moved as a whole
// (Motion::set_box), and taken with the probability
//
//   min(1, exp(−(ΔU + P₀ΔV − γΔA − N_g kT ln(V'/V))/kT))
//
// where N_g is the number of groups. The change of the volume is uniform in ±δ, along one set of edges that is drawn
// each time. δ of a set grows by a tenth where more than three of four of its trials were taken, and shrinks so where
// less than one of four was. Random numbers are functions of the seed and the step.
//
// Sources: J. Åqvist, P. Wennerström, M. Nervall, S. Bjelic, B. O. Brandsdal, Chem. Phys. Lett. 384, 288 (2004),
// doi:10.1016/j.cplett.2003.12.039; K.-H. Chow, D. M. Ferguson, Comput. Phys. Commun. 91, 283 (1995),
// doi:10.1016/0010-4655(95)00059-O.
#include <algorithm>
#include <array>
#include <cmath>

#include "tessera/base/index.h"
#include "tessera/base/math/elementary.h"
#include "tessera/base/random.h"
#include "tessera/base/units.h"
#include "tessera/md/integrate/baths/bath.h"
#include "tessera/md/integrate/baths/edges.h"

namespace tessera::md::integrate {

namespace {

class MonteCarlo final : public Bath {
 public:
  explicit MonteCarlo(const BathSettings& settings) : settings_(settings), sets_(settings.edges) {}

  StepSums needed_sums(std::int64_t step) const override {
    return step % settings_.trials_every == 0 ? StepSums::energies : StepSums::none;
  }

  std::optional<Box> trial_box(Motion& motion) override {
    if (motion.step() == 0 || motion.step() % settings_.trials_every != 0) return {};
    const auto& box = motion.state().box;
    const double volume = box.volume();
    auto& bath = motion.coupling(name, n_variables);
    for (int set = 0; set < sets_.n_sets(); ++set)
      if (bath[step_size + at(set)] == 0)
        bath[step_size + at(set)] = std::min(0.01 * volume, largest_change(motion, set, volume));
    const auto [set, share, ignored] = draw(motion);
    const double factor = 1 + share * bath[step_size + at(set)] / volume;
    std::array<double, 3> scale{1, 1, 1};
    for (std::size_t d = 0; d < 3; ++d)
      if (sets_[d] == set) scale[d] = math::pow(factor, 1.0 / sets_.size(set));
    motion.share(bath);
    motion.share(scale);
    return stretched(box, scale);
  }

  bool accepts(Motion& motion, const Box& box, double potential) override {
    const auto& trial = motion.state().box;
    const double time = motion.time(), pressure = settings_.pressure.at(time);
    const double kt = units::boltzmann * settings_.temperature.at(time);
    const double change = potential - motion.energies().potential();
    const double work = change + energy_of_bath_pressure(settings_, trial, pressure) -
                        energy_of_bath_pressure(settings_, box, pressure) -
                        static_cast<double>(motion.n_groups()) * kt * math::log(trial.volume() / box.volume());
    const auto [set, ignored, uniform] = draw(motion);
    auto& bath = motion.coupling(name, n_variables);
    const bool is_accepted = uniform < math::exp(-work / kt);  // false for NaN
    if (is_accepted) bath[gained] += change;
    adapt(bath, at(set), is_accepted, largest_change(motion, set, box.volume()));
    double decision = is_accepted ? 1 : 0;
    motion.share(bath);
    motion.share(decision);
    return decision != 0;
  }

  double energy(const Energies& /*energies*/, const GlobalState& state) const override {
    return -coupling_of(state, name, gained);
  }

 private:
  static constexpr const char* name = "monte-carlo";
  /// Variables: the energy that accepted trials have given, kcal/mol; by set of edges the largest change δ of the
  /// volume, Å³, and the trials and those accepted since δ last changed; all trials, and all accepted ones.
  enum : std::size_t {
    gained,
    step_size,
    tried = step_size + 3,
    accepted = tried + 3,
    all_tried = accepted + 3,
    all_accepted,
    n_variables
  };

  /// Returns the largest change of the volume that a trial may make, Å³.
  double largest_change(const Motion& motion, int set, double volume) const {
    return (1 - math::pow(1 - motion.largest_change_of_edges(), sets_.size(set))) * volume;
  }

  struct Draw {
    int set;
    double share;    // of δ, from −1 to 1
    double uniform;  // decides on the trial, from 0 to 1
  };
  Draw draw(const Motion& motion) const {
    const auto words =
        random_words(settings_.seed, RandomStream::barostat, 0, static_cast<std::uint64_t>(motion.step()));
    const auto uniform = [](std::uint32_t word) { return (word + 0.5) / 4294967296.0; };
    return {static_cast<int>(uniform(words[0]) * sets_.n_sets()), 2 * uniform(words[1]) - 1, uniform(words[2])};
  }

  void adapt(std::vector<double>& bath, std::size_t set, bool is_accepted, double largest) const {
    constexpr double fewest = 10;  // trials
    for (const auto i : {tried + set, std::size_t{all_tried}}) bath[i] += 1;
    if (is_accepted)
      for (const auto i : {accepted + set, std::size_t{all_accepted}}) bath[i] += 1;
    if (bath[tried + set] < fewest) return;
    const double ratio = bath[accepted + set] / bath[tried + set];
    if (ratio >= 0.25 && ratio <= 0.75) return;
    double& size = bath[step_size + set];
    size = ratio < 0.25 ? size / 1.1 : std::min(1.1 * size, largest);
    bath[tried + set] = bath[accepted + set] = 0;
  }

  BathSettings settings_;
  EdgeSets sets_;
};

}  // namespace

extern constinit const BathEntry monte_carlo = {.name = "monte-carlo",
                                                .description = "trials of other boxes",
                                                .reads = "monte_carlo_every",
                                                .draws_noise = true,
                                                .tries_boxes = true,
                                                .make = make_bath<MonteCarlo>};

}  // namespace tessera::md::integrate
