#include "tessera/md/minimize/minimize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/md/minimize/constraints.h"
#include "tessera/md/minimize/lbfgs.h"
#include "tessera/md/minimize/product_sum.h"
#include "tessera/md/minimize/stiffness.h"
#include "tessera/md/vacuum/frame.h"

namespace tessera::md::minimize {

namespace {

using constraint::ConstraintGroup;
using Slots = std::span<const std::int32_t>;

// Steepest descent. A force of strong_force moves an atom by the whole step, and a smaller one by its share.
constexpr double first_step = 0.05, most_step = 0.2, least_step = 1e-6;  // Å
constexpr double step_after_lbfgs = 0.01;                                // Å
constexpr double growth = 1.2, shrinkage = 0.5;
constexpr double strong_force = 100;  // kcal/mol/Å
/// L-BFGS takes over below this force, once a move leaves more than this share of it, or after so many successful moves.
/// It lowers the energy of all atoms faster, but not the strongest forces, which may even rise.
constexpr double calm_force = 1000;  // kcal/mol/Å
constexpr double much_less = 0.9;
constexpr std::int64_t enough_moves = 200;

// Line search of L-BFGS.
constexpr double most_move = 0.2;  // Å, of any atom
constexpr double sufficient_decrease = 1e-4;
constexpr int most_trials = 8;

/// What the minimisation keeps of each atom, as doubles side by side; positions are whole numbers. The pairs of L-BFGS
/// are by component, all x first, so that a processor multiplies several at once.
///
/// L-BFGS sees displacements divided by the ease of their group, and gradients times it: 1/√k, with k the curvature of
/// the energy there. So its space is about as curved in all directions, stiff bonds and soft contacts alike.
namespace kept {
constexpr std::size_t position = 0, force = 3, direction = 6, pairs = 9;  // of the lowest energy so far
constexpr std::size_t n_pairs = 2 * Lbfgs::memory;
constexpr std::size_t ease = pairs + 3 * n_pairs;
constexpr std::size_t width = ease + 1;
}  // namespace kept

/// Returns a kept position in the present box, of which the first box is `scale` times as large: kept ones are fractions
/// of the first box, as a vacuum's frame may double.
Fraction place_of(const double* values, const std::array<double, 3>& scale) {
  const auto component = [&](std::size_t d) { return static_cast<std::int32_t>(std::llrint(scale[d] * values[d])); };
  return {component(0), component(1), component(2)};
}

/// Asks for what is kept of an atom. Atoms of a kind of group don't follow each other, so that no processor foresees it.
void fetch(const double* values) {
  constexpr std::size_t line = 8;  // doubles of a cache line
  for (std::size_t i = 0; i < kept::width; i += line) __builtin_prefetch(values + i);
}
constexpr std::int64_t ahead = 6;  // groups

Vec3 get(const double* values) { return {values[0], values[1], values[2]}; }
void put(double* values, const Vec3& v) { values[0] = v.x, values[1] = v.y, values[2] = v.z; }

/// Returns vector i of an atom's basis in L-BFGS's space, in which that of g is −force.
Vec3 get_basis(const double* values, std::size_t i) {
  if (i == Lbfgs::g) return values[kept::ease] * get(values + kept::force);
  const double* x = values + kept::pairs + i;
  return {x[0], x[kept::n_pairs], x[2 * kept::n_pairs]};
}

void put_basis(double* values, std::size_t i, const Vec3& v) {
  double* x = values + kept::pairs + i;
  x[0] = v.x, x[kept::n_pairs] = v.y, x[2 * kept::n_pairs] = v.z;
}

/// Returns the sum of coefficients times the pairs of an atom.
Vec3 combine(const double* values, const Lbfgs::Row& coefficients) {
  constexpr std::size_t at_once = 4;  // partial sums, which a processor adds to at once
  std::array<std::array<double, at_once>, 3> sums{};
  for (std::size_t d = 0; d < 3; ++d) {
    const double* pairs = values + kept::pairs + d * kept::n_pairs;
    for (std::size_t i = 0; i < kept::n_pairs; i += at_once)
      for (std::size_t k = 0; k < at_once; ++k) sums[d][k] += coefficients[i + k] * pairs[i + k];
  }
  const auto whole = [](const auto& parts) { return (parts[0] + parts[1]) + (parts[2] + parts[3]); };
  return {whole(sums[0]), whole(sums[1]), whole(sums[2])};
}

/// The strongest force, of equal ones that on the atom with the lowest id.
struct Strongest {
  double force2 = -1;
  std::int64_t atom = std::numeric_limits<std::int64_t>::max();

  void offer(const Strongest& other) {
    if (other.force2 > force2 || (other.force2 == force2 && other.atom < atom)) *this = other;
  }
};

class Minimizer {
 public:
  Minimizer(Engine& engine, const Settings& settings, const comm::Communicator& comm, ThreadPool& threads,
            const Watch& watch)
      : engine_(engine),
        settings_(settings),
        comm_(comm),
        threads_(threads),
        watch_(watch),
        first_box_(engine.state().box) {
    for (const auto& list : engine.topology().groups()) groups_.push_back(with_equal_masses(list.kind.group));
    field_ = engine.fields().size();
    engine.fields().push_back(
        {"minimisation", kept::width, std::vector<double>(kept::width * at(engine.domain().n_owned_slots()), 0)});
  }
  Minimizer(const Minimizer&) = delete;
  ~Minimizer() { engine_.fields().erase(engine_.fields().begin() + static_cast<std::ptrdiff_t>(field_)); }

  Result run();

 private:
  void keep_place(double* values, const Fraction& place) const;
  double* kept_of(std::int32_t slot) { return &engine_.fields()[field_].values[kept::width * at(slot)]; }
  template <class Work>
  void for_groups(Work&& work);
  template <class Displacement>
  double move(Displacement&& displacement);
  void keep_ease();
  void start();
  void accept(double energy, bool with_pair);
  Strongest project_forces(bool with_pair);
  void add_pair();
  Lbfgs::Row share(Lbfgs::Row row) const;
  double find_direction();
  bool search_line();
  bool descend();
  bool is_stopped() { return watch_ && watch_(result_); }
  bool is_calm() const {
    return (result_.max_force < calm_force && !has_become_much_less_) || result_.accepted >= enough_moves;
  }
  bool has_ended();
  void go_back();

  Engine& engine_;
  const Settings& settings_;
  const comm::Communicator& comm_;
  ThreadPool& threads_;
  const Watch& watch_;
  std::vector<ConstraintGroup> groups_;  // by kind of group, as the topology lists them
  std::size_t field_ = 0;
  const Box first_box_;
  Lbfgs lbfgs_;
  double step_ = first_step;           // Å
  bool has_become_much_less_ = false;  // the strongest force, by the last move of steepest descent
  bool is_at_lowest_ = true;           // atoms stand where the energy was the lowest
  Result result_;
};

void Minimizer::keep_place(double* values, const Fraction& place) const {
  const auto scale = vacuum::scale_between(engine_.state().box, first_box_);
  put(values, {scale[0] * place.x, scale[1] * place.y, scale[2] * place.z});
}

/// Calls work(thread, group, slots) for every group of atoms, on all threads.
template <class Work>
void Minimizer::for_groups(Work&& work) {
  const auto lists = engine_.topology().groups();
  threads_.run([&](int thread) {
    for (std::size_t l = 0; l < lists.size(); ++l) {
      const auto n_atoms = at(groups_[l].n_atoms);
      const auto n = static_cast<std::int64_t>(lists[l].size());
      const auto slots_of = [&](std::int64_t g) { return Slots(lists[l].slots).subspan(at(g) * n_atoms, n_atoms); };
      for (auto g = n * thread / threads_.size(); g < n * (thread + 1) / threads_.size(); ++g) {
        if (g + ahead < n)
          for (const auto slot : slots_of(g + ahead)) fetch(kept_of(slot));
        work(thread, groups_[l], slots_of(g));
      }
    }
  });
}

/// Moves every group by displacement(slots, vectors) from where the energy was the lowest, along its constraints.
/// Returns the potential energy there.
template <class Displacement>
double Minimizer::move(Displacement&& displacement) {
  const double tolerance = engine_.settings().constraint_tolerance;
  engine_.displace([&](State& state) {
    const auto scale = vacuum::scale_between(first_box_, state.box);
    for_groups([&](int, const ConstraintGroup& group, Slots slots) {
      GroupVectors moved{}, before{}, after{};
      std::array<Fraction, std::tuple_size_v<GroupVectors>> place;
      const auto n = slots.size();
      displacement(slots, std::span(moved).first(n));
      for (std::size_t k = 0; k < n; ++k) {
        place[k] = place_of(kept_of(slots[k]), scale);
        before[k] = after[k] = state.box.displacement(place[0], place[k]);
      }
      move_along(group, std::span(after).first(n), std::span(moved).first(n), tolerance);
      for (std::size_t k = 0; k < n; ++k)
        state.position[at(slots[k])] = place[k] + state.box.fraction(after[k] - before[k]);
    });
  });
  is_at_lowest_ = false;
  ++result_.steps;
  double energy = engine_.energies().potential();
  comm_.broadcast(std::as_writable_bytes(std::span(&energy, 1)), 0);
  return energy;
}

/// Finds how far each group goes, by its stiffest atom: one factor keeps directions along the constraints.
void Minimizer::keep_ease() {
  const auto& system = engine_.system();
  std::vector<std::vector<double>> stiffness;
  for (const auto& kind : system.templates)
    stiffness.push_back(stiffness_of(system.force_field, kind, engine_.topology().n_constraints() > 0));
  for_groups([&](int, const ConstraintGroup&, Slots slots) {
    double most = 0;
    for (const auto slot : slots) {
      const auto atom = system.find(engine_.state().id[at(slot)]);
      most = std::max(most, stiffness[at(atom.molecule)][at(atom.local)]);
    }
    for (const auto slot : slots) kept_of(slot)[kept::ease] = 1 / std::sqrt(most);
  });
}

/// Corrects constrained distances, and computes forces and energy there.
void Minimizer::start() {
  const double tolerance = engine_.settings().constraint_tolerance;
  std::vector<std::string> problems(at(threads_.size()));
  engine_.displace([&](State& state) {
    for_groups([&](int thread, const ConstraintGroup& group, Slots slots) {
      if (group.n_constraints == 0) return;
      GroupVectors before{}, after{};
      const auto first = state.position[at(slots[0])];
      for (std::size_t k = 0; k < slots.size(); ++k)
        before[k] = after[k] = state.box.displacement(first, state.position[at(slots[k])]);
      const auto id = state.id[at(slots[0])];
      if (!restore_distances(group, std::span(after).first(slots.size()), id, tolerance))
        problems[at(thread)] = fmt::format(
            "no positions near those of {} have its constrained distances; set dynamics.constraints to "
            "\"none\", or mend the structure",
            engine_.system().describe(id));
      for (std::size_t k = 0; k < slots.size(); ++k) {
        auto& position = state.position[at(slots[k])];
        position = position + state.box.fraction(after[k] - before[k]);
      }
    });
  });
  std::string problem;
  for (const auto& text : problems)
    if (problem.empty()) problem = text;
  comm::agree_on_input(comm_, problem);
  double energy = engine_.energies().potential();
  comm_.broadcast(std::as_writable_bytes(std::span(&energy, 1)), 0);
  accept(energy, false);
  result_.start_energies = engine_.energies();
  result_.start_max_force = result_.max_force;
}

/// Takes the present positions as those of the lowest energy.
void Minimizer::accept(double energy, bool with_pair) {
  is_at_lowest_ = true;
  result_.energy = energy;
  const auto strongest = project_forces(with_pair);
  // Squares are not negative, and such doubles compare like the integers of their bits.
  const auto bits = comm::all_reduce_max(comm_, std::bit_cast<std::int64_t>(std::max(0.0, strongest.force2)));
  const double force2 = std::bit_cast<double>(bits);
  constexpr auto none = std::numeric_limits<std::int64_t>::max();
  const auto atom = -comm::all_reduce_max(comm_, strongest.force2 == force2 ? -strongest.atom : -none);
  result_.atom = atom == none ? 0 : atom;  // where no atom may move
  result_.max_force = std::sqrt(force2);
  if (with_pair) add_pair();
}

/// Stores positions and projected forces, and of a pair what has changed. Returns the strongest force of this rank.
Strongest Minimizer::project_forces(bool with_pair) {
  const auto& state = engine_.state();
  const auto scale = vacuum::scale_between(first_box_, state.box);
  const auto s = lbfgs_.next_place(), y = Lbfgs::y_of(s);
  std::vector<Strongest> strongest(at(threads_.size()));
  for_groups([&](int thread, const ConstraintGroup& group, Slots slots) {
    GroupVectors place{}, force{};
    for (std::size_t k = 0; k < slots.size(); ++k) {
      place[k] = state.box.displacement(state.position[at(slots[0])], state.position[at(slots[k])]);
      force[k] = engine_.force(slots[k]);
    }
    project(group, std::span(place).first(slots.size()), std::span(force).first(slots.size()));
    for (std::size_t k = 0; k < slots.size(); ++k) {
      const auto& now = state.position[at(slots[k])];
      double* values = kept_of(slots[k]);
      if (with_pair) {
        const double ease = values[kept::ease];
        put_basis(values, s, 1 / ease * state.box.displacement(place_of(values + kept::position, scale), now));
        put_basis(values, y, ease * (get(values + kept::force) - force[k]));  // the gradient is −force
      }
      keep_place(values + kept::position, now);
      put(values + kept::force, force[k]);
      strongest[at(thread)].offer({norm2(force[k]), state.id[at(slots[k])]});
    }
  });
  Strongest all;
  for (const auto& of_thread : strongest) all.offer(of_thread);
  return all;
}

/// Returns the root's values: ranks compute the same, but processors of different kinds may round differently.
Lbfgs::Row Minimizer::share(Lbfgs::Row row) const {
  comm_.broadcast(std::as_writable_bytes(std::span(row)), 0);
  return row;
}

/// Adds the pair that project_forces() has stored to L-BFGS, by its scalar products.
void Minimizer::add_pair() {
  constexpr auto n = Lbfgs::n_basis;
  const auto place = lbfgs_.next_place();
  const std::array<std::size_t, 3> rows = {place, Lbfgs::y_of(place), Lbfgs::g};
  std::vector<ProductSums<3 * n>> of_thread(at(threads_.size()));
  for_groups([&](int thread, const ConstraintGroup&, Slots slots) {
    // Atoms of a group are the same on any ranks, so that their products are summed as they are.
    std::array<double, 3 * n> of_group{};
    for (const auto slot : slots) {
      const double* values = kept_of(slot);
      const double *x = values + kept::pairs, *y = x + kept::n_pairs, *z = y + kept::n_pairs;
      const Vec3 force = get_basis(values, Lbfgs::g);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const Vec3 left = get_basis(values, rows[r]);
        for (std::size_t i = 0; i < kept::n_pairs; ++i)
          of_group[r * n + i] += left.x * x[i] + left.y * y[i] + left.z * z[i];
        of_group[r * n + Lbfgs::g] += dot(left, force);
      }
    }
    of_thread[at(thread)].add(of_group);
  });
  auto& sums = of_thread[0];
  for (std::size_t t = 1; t < of_thread.size(); ++t) sums.merge(of_thread[t]);
  comm_.all_reduce_sum(sums.digits());
  std::array<Lbfgs::Row, 3> products{};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < n; ++i) {
      const bool is_negative = (rows[r] == Lbfgs::g) != (i == Lbfgs::g);  // g is −force
      products[r][i] = (is_negative ? -1 : 1) * sums.value(r * n + i);
    }
    products[r] = share(products[r]);
  }
  lbfgs_.add(products[0], products[1], products[2]);
}

/// Stores the direction of L-BFGS along the constraints, in which no group goes further than most_move: a few that clash
/// do not hold back all others. Returns its slope, kcal/mol: the product with the gradient.
double Minimizer::find_direction() {
  const auto coefficients = share(lbfgs_.direction());
  const auto& state = engine_.state();
  std::vector<ProductSums<1>> slopes(at(threads_.size()));
  for_groups([&](int thread, const ConstraintGroup& group, Slots slots) {
    GroupVectors place{}, direction{};
    for (std::size_t k = 0; k < slots.size(); ++k) {
      place[k] = state.box.displacement(state.position[at(slots[0])], state.position[at(slots[k])]);
      const double* values = kept_of(slots[k]);
      direction[k] =
          values[kept::ease] * (combine(values, coefficients) - coefficients[Lbfgs::g] * get_basis(values, Lbfgs::g));
    }
    project(group, std::span(place).first(slots.size()), std::span(direction).first(slots.size()));
    double furthest2 = 0;
    for (std::size_t k = 0; k < slots.size(); ++k) furthest2 = std::max(furthest2, norm2(direction[k]));
    // One factor for the group keeps its direction along the constraints.
    const double scale = furthest2 > most_move * most_move ? most_move / std::sqrt(furthest2) : 1;
    for (std::size_t k = 0; k < slots.size(); ++k) {
      double* values = kept_of(slots[k]);
      put(values + kept::direction, scale * direction[k]);
      slopes[at(thread)].add({-scale * dot(direction[k], get(values + kept::force))});
    }
  });
  for (std::size_t t = 1; t < slopes.size(); ++t) slopes[0].merge(slopes[t]);
  comm_.all_reduce_sum(slopes[0].digits());
  return slopes[0].value(0);
}

/// Moves along the direction of L-BFGS as far as lowers the energy enough. Returns false where nothing does.
bool Minimizer::search_line() {
  result_.method = Method::lbfgs;
  const double slope = find_direction();
  if (!(slope < 0)) return false;
  double length = 1;
  for (int trial = 0; trial < most_trials; ++trial) {
    const double energy = move([&](Slots slots, std::span<Vec3> moved) {
      for (std::size_t k = 0; k < slots.size(); ++k) moved[k] = length * get(kept_of(slots[k]) + kept::direction);
    });
    const double change = energy - result_.energy;
    if (change < 0 && change <= sufficient_decrease * length * slope) {
      ++result_.accepted;
      accept(energy, true);
      return true;
    }
    if (has_ended()) return true;
    // The minimum of the parabola through both energies with this slope at the start.
    const double parabola = -0.5 * slope * length * length / (change - slope * length);
    length = std::clamp(parabola, 0.1 * length, 0.5 * length);
  }
  return false;
}

/// Moves along the forces, each group by at most the step. Returns false where even the least step lowers nothing.
bool Minimizer::descend() {
  result_.method = Method::steepest_descent;
  const double step = step_, reference = std::min(result_.max_force, strong_force);
  const double energy = move([&](Slots slots, std::span<Vec3> moved) {
    double strongest2 = 0;
    for (std::size_t k = 0; k < slots.size(); ++k) {
      moved[k] = get(kept_of(slots[k]) + kept::force);
      strongest2 = std::max(strongest2, norm2(moved[k]));
    }
    // One factor for the group keeps its displacement along the constraints.
    const double scale = step / std::max(reference, std::sqrt(strongest2));
    for (auto& vector : moved) vector = scale * vector;
  });
  // The energy of atoms that coincide is limited, so it may not change at first.
  if (energy < result_.energy || (energy == result_.energy && energy >= 0.5 * energy_limit)) {
    ++result_.accepted;
    step_ = std::min(most_step, growth * step_);
    const double before = result_.max_force;
    accept(energy, is_calm());
    has_become_much_less_ = result_.max_force < much_less * before;
    return true;
  }
  step_ *= shrinkage;
  return step_ >= least_step;
}

/// Returns whether the search has ended before it converged, and keeps why.
bool Minimizer::has_ended() {
  if (result_.ending != Ending::converged) return true;
  if (is_stopped())
    result_.ending = Ending::stopped;
  else if (result_.steps >= settings_.max_steps)
    result_.ending = Ending::out_of_steps;
  return result_.ending != Ending::converged;
}

/// Moves the atoms back to where the energy was the lowest.
void Minimizer::go_back() {
  engine_.displace([&](State& state) {
    const auto scale = vacuum::scale_between(first_box_, state.box);
    for_groups([&](int, const ConstraintGroup&, Slots slots) {
      for (const auto slot : slots) state.position[at(slot)] = place_of(kept_of(slot) + kept::position, scale);
    });
  });
}

Result Minimizer::run() {
  keep_ease();
  start();
  while (result_.max_force > settings_.max_force && !has_ended()) {
    if (lbfgs_.size() > 0) {
      if (search_line()) continue;
      lbfgs_.clear();
      step_ = step_after_lbfgs;
      has_become_much_less_ = false;
    } else if (!descend()) {
      result_.ending = Ending::no_lower_energy;
    }
  }
  if (result_.max_force <= settings_.max_force) result_.ending = Ending::converged;
  if (!is_at_lowest_) go_back();
  engine_.project_velocities();
  return result_;
}

}  // namespace

Result minimize(Engine& engine, const Settings& settings, const comm::Communicator& comm, ThreadPool& threads,
                const Watch& watch) {
  return Minimizer(engine, settings, comm, threads, watch).run();
}

}  // namespace tessera::md::minimize
