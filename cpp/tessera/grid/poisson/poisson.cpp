#include "tessera/grid/poisson/poisson.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/grid/poisson/levels.h"
#include "tessera/grid/poisson/multigrid.h"
#include "tessera/grid/poisson/passes.h"
#include "tessera/grid/poisson/spectral.h"

namespace tessera::grid {

namespace {

constexpr double four_pi = 4 * std::numbers::pi;

/// In double precision, where transforms are exact.
class DirectCorrection : public Correction {
 public:
  DirectCorrection(const PoissonGrid& grid, int order)
      : threads_(grid.threads), solver_(grid.layout, plain_laplacian(order, grid.steps), grid.comm, grid.threads) {}

  void correct(std::span<const double> residual, double /*shift: it has no wave*/, double /*largest*/,
               std::span<double> potential, bool replaces) override {
    if (replaces) return solver_.solve(residual.data(), potential.data());
    found_.resize(residual.size());
    solver_.solve(residual.data(), found_.data());
    add_scaled(found_, 1, potential, threads_);
  }
  bool keeps_mean() const override { return true; }

 private:
  ThreadPool& threads_;
  SpectralSolver<double> solver_;
  std::vector<double> found_;
};

/// In single precision, as more corrections follow anyway.
class CycleCorrection : public Correction {
 public:
  CycleCorrection(const PoissonGrid& grid, std::vector<Level> levels, double damping)
      : threads_(grid.threads), damping_(damping), cycle_(std::move(levels), grid.comm, grid.threads) {}

  void correct(std::span<const double> residual, double shift, double largest, std::span<double> potential,
               bool replaces) override {
    // Residuals of any size fit into single precision as numbers up to 1; powers of two round nothing.
    int exponent = 0;
    std::frexp(largest, &exponent);
    exponent = std::max(exponent, -1000);
    shift_and_scale(residual, shift, std::ldexp(1.0, -exponent), cycle_.right(), threads_);
    const auto found = cycle_.run();
    const double factor = std::ldexp(damping_, exponent);
    if (replaces)
      scale(found, factor, potential, threads_);
    else
      add_scaled(found, factor, potential, threads_);
  }
  bool keeps_mean() const override { return false; }

 private:
  ThreadPool& threads_;
  double damping_;
  MultigridCycle<float> cycle_;
};

bool is_periodic(const GridLayout& layout) { return std::ranges::all_of(layout.is_periodic, std::identity()); }

/// Returns the damping of a correction by transforms that see odd mirror images beyond isolated edges, where the
/// stencil sees zeros: the eigenvalues of the latter are from 1 to `greatest` times those of the former, by half the
/// order, on edges of two points or more (computed from the matrices of both; they no longer change from 20 points on).
double damping_of(int order) {
  constexpr std::array greatest{1.0, 1.0774, 1.1156, 1.1388, 1.1544, 1.1657};
  static_assert(greatest.size() == most_order / 2);
  return 2 / (1 + greatest[static_cast<std::size_t>(order) / 2 - 1]);
}

std::unique_ptr<Correction> by_transforms(const PoissonGrid& grid, const PoissonOptions& options) {
  const int order = options.order;
  if (order == 2 || options.has_images || is_periodic(grid.layout))
    return std::make_unique<DirectCorrection>(grid, order);
  return std::make_unique<CycleCorrection>(grid, std::vector{finest_level(grid.layout, grid.steps, order)},
                                           damping_of(order));
}

std::unique_ptr<Correction> by_multigrid(const PoissonGrid& grid, const PoissonOptions& options) {
  if (options.has_images) throw InputError("mirror images go with the method fft; expected that or no images");
  auto levels = plan_levels(grid.layout, grid.steps, options.order);
  const bool is_direct = levels.size() == 1 && !is_periodic(grid.layout);
  return std::make_unique<CycleCorrection>(grid, std::move(levels), is_direct ? damping_of(options.order) : 1);
}

Stencil negated_laplacian(const PoissonGrid& grid, int order) {
  const auto& [x, y, z] = grid.steps;
  auto stencil = laplacian(order, {Vec3{x, 0, 0}, Vec3{0, y, 0}, Vec3{0, 0, z}});
  for (auto& coefficient : stencil.coefficients) coefficient = -coefficient;
  return stencil;
}

PoissonOptions checked(const PoissonOptions& options) {
  (void)find_named(poisson_methods(), options.method, "method");
  if (!(options.tolerance > 0 && options.tolerance < 1))
    throw InputError(fmt::format("tolerance is {}; expected a number between 0 and 1", options.tolerance));
  if (options.max_iterations < 1)
    throw InputError(fmt::format("max_iterations is {}; expected at least 1", options.max_iterations));
  return options;
}

}  // namespace

const std::vector<PoissonMethod>& poisson_methods() {
  static const std::vector<PoissonMethod> entries = {{"fft", &by_transforms}, {"multigrid", &by_multigrid}};
  return entries;
}

PoissonSolver::PoissonSolver(const PoissonGrid& grid, const PoissonOptions& options)
    : grid_(grid),
      options_(checked(options)),
      is_periodic_(is_periodic(grid.layout)),
      points_(grid.layout.shape[0] * grid.layout.shape[1] * grid.layout.shape[2]),
      minus_laplacian_(negated_laplacian(grid, options.order), grid.layout, OperatorOptions{.batch = 1}, grid.comm,
                       grid.threads),
      correction_(find_named(poisson_methods(), options.method, "method").make(grid, options)),
      residual_(static_cast<std::size_t>(minus_laplacian_.values_of_field())) {}

void PoissonSolver::set_tolerance(double tolerance) {
  auto changed = options_;
  changed.tolerance = tolerance;
  options_ = checked(changed);
}

/// Sets residual_ to −4πρ − ∇²φ, and returns the greatest magnitude of residual_ + shift.
double PoissonSolver::residual(std::span<const double> density, double shift, std::span<const double> potential) {
  minus_laplacian_.apply(potential, residual_, 1, {density.data(), -four_pi});
  return largest_of(residual_, shift, grid_.comm, grid_.threads);
}

PoissonResult PoissonSolver::solve(std::span<const double> density, std::span<double> potential, bool has_guess) {
  TESSERA_CHECK(density.size() == residual_.size() && potential.size() == residual_.size());
  auto& [layout, steps, comm, threads] = grid_;
  scale(density, -four_pi, residual_, threads);
  double largest = largest_of(residual_, 0, comm, threads);
  if (!std::isfinite(largest)) throw InputError("the density has values that are not finite; expected numbers");
  // What is left of a constant density is rounding.
  const double rounding = is_periodic_ ? 8 * std::numeric_limits<double>::epsilon() * largest : 0;
  double shift = 0;  // what a neutralising background adds to the residual
  if (is_periodic_) {
    shift = -mean_of(residual_, largest, points_, comm, threads);
    largest = largest_of(residual_, shift, comm, threads);
  }
  const double size = largest;
  if (size <= rounding) {
    std::fill(potential.begin(), potential.end(), 0.0);
    return {};
  }
  if (has_guess) {
    largest = residual(density, shift, potential);
    if (!std::isfinite(largest)) throw InputError("the guess has values that are not finite; expected numbers");
  }
  if (options_.has_images && !is_periodic_) {
    correction_->correct(residual_, shift, largest, potential, true);
    return {1, std::numeric_limits<double>::quiet_NaN()};
  }
  std::vector<double> history = {largest};
  int iterations = 0;
  const auto is_solved = [&] { return largest <= options_.tolerance * size; };
  while (!is_solved()) {
    // Where four corrections together don't halve the residual, rounding or the method allows no better.
    constexpr int few = 4;
    const bool is_stuck = iterations > few && !(largest < 0.5 * history[static_cast<std::size_t>(iterations - few)]);
    if (is_stuck || iterations == options_.max_iterations)
      throw RunError(fmt::format(
          "the residual of Poisson's equation is {:.2g} of the charge after {} iterations of {}{}; expected "
          "at most the tolerance of {:.2g}; set a larger tolerance{}",
          largest / size, iterations, options_.method, is_stuck ? " and falls no more" : "", options_.tolerance,
          is_stuck ? " or another method" : " or more max_iterations"));
    correction_->correct(residual_, shift, largest, potential, iterations == 0 && !has_guess);
    ++iterations;
    largest = residual(density, shift, potential);
    history.push_back(largest);
  }
  if (is_periodic_ && (has_guess || !correction_->keeps_mean())) {
    const double mean = mean_of(potential, largest_of(potential, 0, comm, threads), points_, comm, threads);
    add_constant(-mean, potential, threads);
  }
  return {iterations, largest / size};
}

}  // namespace tessera::grid
