#include "tessera/md/pme/pme.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/fft/transform.h"
#include "tessera/md/pme/kernel.h"

namespace tessera::md::pme {

namespace {

/// Rows of the integer mesh start on a cache line, with room for a vector past the last spline.
constexpr std::int64_t row_multiple = 16;

IndexBox grown(const IndexBox& box, std::int64_t by) {
  IndexBox result = box;
  for (int d = 0; d < 3; ++d) result.lower[d] -= by, result.upper[d] += by;
  return result;
}

Index3 extents(const IndexBox& box) { return {box.extent(0), box.extent(1), box.extent(2)}; }

/// Returns the number of values from one row of the integer mesh to the next, on a brick grown by `margin`.
std::int64_t row_of(const IndexBox& brick, std::int64_t margin) {
  return (brick.extent(2) + 2 * margin + row_multiple - 1) / row_multiple * row_multiple;
}

/// Returns the bytes of the array that is the integer mesh first and the spectrum later.
template <class Real>
std::size_t bytes_of_integers_or_spectrum(const IndexBox& brick, std::int64_t margin, const IndexBox& spectrum) {
  const std::int64_t planes = (brick.extent(0) + 2 * margin) * (brick.extent(1) + 2 * margin);
  const auto n_fixed = brick.is_empty() ? 0 : at(planes * row_of(brick, margin) + mesh_slack);
  return std::max(n_fixed * sizeof(FixedCharge<Real>), at(spectrum.size()) * sizeof(std::complex<Real>));
}

/// Returns the number of values of the array that is the charge first and the potential later.
std::size_t size_of_charge_or_potential(const IndexBox& brick, const IndexBox& padded) {
  return at(std::max(brick.size(), padded.size() + mesh_slack));
}

}  // namespace

template <class Real>
std::int64_t planned_bytes(const PmePlan& plan, int rank, const std::function<bool(int)>& reads_from,
                           const fft::TransformOptions& options) {
  const auto& brick = plan.bricks[at(rank)];
  const auto& spectrum = plan.transform.spectrum()[at(rank)];
  const auto own = bytes_of_integers_or_spectrum<Real>(brick, plan.settings.order - 1, spectrum) +
                   size_of_charge_or_potential(brick, plan.padded[at(rank)]) * sizeof(Real) +
                   at(spectrum.size()) * sizeof(Real);  // the influence function
  return static_cast<std::int64_t>(own) + fft::planned_bytes<Real>(plan.transform, rank, reads_from, options);
}

template <class Real>
struct Pme<Real>::Implementation {
  Implementation(const PmePlan& plan, double constant, const comm::Communicator& comm, ThreadPool& pool,
                 const fft::TransformOptions& options, Potential potential)
      : settings(plan.settings),
        brick(plan.bricks[static_cast<std::size_t>(comm.rank())]),
        padded(plan.padded[static_cast<std::size_t>(comm.rank())]),
        margin(settings.order - 1),
        row(row_of(brick, margin)),
        spread_window(settings.grid, grown(brick, margin).lower, extents(grown(brick, margin)), row, settings.order),
        gather_window(settings.grid, padded.lower, extents(padded), padded.extent(2), settings.order),
        threads(pool),
        transform(plan.transform, comm, pool, options),
        influence(plan.settings, transform.spectrum_box(), constant, pool, potential) {
    integers_or_spectrum.resize(bytes_of_integers_or_spectrum<Real>(brick, margin, transform.spectrum_box()));
    charge_or_potential.resize(size_of_charge_or_potential(brick, padded));
  }

  /// Returns the integer mesh, which is the brick grown by `margin`.
  FixedCharge<Real>* fixed() { return reinterpret_cast<FixedCharge<Real>*>(integers_or_spectrum.data()); }
  std::span<std::complex<Real>> spectrum() {
    return {reinterpret_cast<std::complex<Real>*>(integers_or_spectrum.data()),
            static_cast<std::size_t>(transform.spectrum_box().size())};
  }
  std::span<Real> charge() { return std::span(charge_or_potential).first(static_cast<std::size_t>(brick.size())); }
  std::span<Real> potential() { return std::span(charge_or_potential).first(static_cast<std::size_t>(padded.size())); }

  PmeSettings settings;
  IndexBox brick, padded;
  std::int64_t margin, row;
  MeshWindow spread_window, gather_window;
  ThreadPool& threads;
  fft::Transform<Real> transform;
  Influence<Real> influence;
  std::array<Vec3, 3> gradient_to_force{};  // −K_d a*_d
  // Each array serves two purposes at different times, because a mesh is a large part of a rank's memory.
  std::vector<std::byte> integers_or_spectrum;
  std::vector<Real> charge_or_potential;
};

template <class Real>
Pme<Real>::Pme(const PmePlan& plan, const Box& box, double constant, const comm::Communicator& comm,
               ThreadPool& threads, const fft::TransformOptions& options, Potential potential) {
  TESSERA_CHECK(plan.transform.ranks() == comm.size());
  implementation_ = std::make_unique<Implementation>(plan, constant, comm, threads, options, potential);
  set_box(box);
}
template <class Real>
Pme<Real>::~Pme() = default;
template <class Real>
Pme<Real>::Pme(Pme&&) noexcept = default;

template <class Real>
void Pme<Real>::set_box(const Box& box) {
  auto& p = *implementation_;
  p.influence.set_box(box);
  const auto reciprocal = reciprocal_vectors(box);
  for (std::size_t d = 0; d < 3; ++d) p.gradient_to_force[d] = -static_cast<double>(p.settings.grid[d]) * reciprocal[d];
}

template <class Real>
void Pme<Real>::spread(std::span<const Fraction> position, std::span<const Real> charge) {
  auto& p = *implementation_;
  TESSERA_CHECK(position.size() == charge.size());
  if (p.brick.is_empty()) return;
  const auto& window = p.spread_window;
  const std::int64_t n_x = p.brick.extent(0), n_y = p.brick.extent(1), n_z = p.brick.extent(2);
  FixedCharge<Real>* const fixed = p.fixed();
  Real* const points = p.charge().data();
  std::atomic<std::int64_t> greatest{0};
  // Each thread adds only to its own slab of planes, so no point is shared.
  p.threads.run([&](int thread) {
    const std::int64_t begin = p.margin + n_x * thread / p.threads.size();
    const std::int64_t end = p.margin + n_x * (thread + 1) / p.threads.size();
    if (begin == end) return;
    std::fill(fixed + begin * window.stride_x, fixed + end * window.stride_x, FixedCharge<Real>(0));
    // A block of atoms is small enough to be still in cache when it is spread.
    constexpr std::size_t block = 4096;
    std::vector<std::int32_t> atoms;
    for (std::size_t first = 0; first < position.size(); first += block) {
      const std::size_t n = std::min(block, position.size() - first);
      select_atoms<Real>(window, p.settings.order, begin, end, position.subspan(first, n), charge.subspan(first, n),
                         atoms);
      pme::spread(SpreadTarget<Real>{window, fixed, begin, end}, p.settings.order, atoms, position.data() + first,
                  charge.data() + first);
    }
    std::int64_t mine = 0;
    for (std::int64_t x = begin; x < end; ++x)
      for (std::int64_t y = 0; y < n_y; ++y)
        mine = std::max(mine, convert(fixed + x * window.stride_x + (y + p.margin) * window.stride_y + p.margin,
                                      points + ((x - p.margin) * n_y + y) * n_z, n_z));
    std::int64_t seen = greatest.load();
    while (seen < mine && !greatest.compare_exchange_weak(seen, mine)) {
    }
  });
  // The limit is half the range, because a sum that has just wrapped around is near the ends of the range.
  if (greatest.load() > std::numeric_limits<FixedCharge<Real>>::max() / 2) throw RunError(too_much_charge);
}

template <class Real>
void Pme<Real>::forward() {
  auto& p = *implementation_;
  p.transform.forward(p.charge(), p.spectrum());
}

template <class Real>
void Pme<Real>::solve(EnergyVirial* energies) {
  auto& p = *implementation_;
  p.influence.apply(p.spectrum(), energies);
}

template <class Real>
void Pme<Real>::backward() {
  auto& p = *implementation_;
  p.transform.backward(p.spectrum(), p.potential());
}

template <class Real>
void Pme<Real>::add_forces(std::span<const Fraction> position, std::span<const Real> charge, std::int64_t n_owned,
                           std::span<Accumulator> by_thread) {
  auto& p = *implementation_;
  TESSERA_CHECK(position.size() == charge.size() && n_owned <= static_cast<std::int64_t>(position.size()));
  TESSERA_CHECK(static_cast<int>(by_thread.size()) == p.threads.size());
  std::atomic<bool> all_fit{true};
  p.threads.run([&](int thread) {
    constexpr std::int64_t block = 256;
    std::array<Real, 3 * block> gradient;
    std::int64_t* const total = by_thread[static_cast<std::size_t>(thread)].total.data();
    const std::int64_t end = n_owned * (thread + 1) / p.threads.size();
    for (std::int64_t first = n_owned * thread / p.threads.size(); first < end; first += block) {
      const std::int64_t n = std::min(block, end - first);
      if (!gather(p.gather_window, p.charge_or_potential.data(), p.settings.order, n, position.data() + first,
                  charge.data() + first, gradient.data()))
        all_fit = false;
      tessera::md::pme::add_forces(n, charge.data() + first, gradient.data(), p.gradient_to_force.data(),
                                   total + 3 * first);
    }
  });
  if (!all_fit)
    throw RunError(
        "an atom has moved further than its cell allows since the last search: the simulation is unstable, or "
        "parallel.buffer is too small");
}

template <class Real>
std::span<const Real> Pme<Real>::influence() const {
  return implementation_->influence.table();
}
template <class Real>
const std::array<Vec3, 3>& Pme<Real>::gradient_to_force() const {
  return implementation_->gradient_to_force;
}

template <class Real>
void Pme<Real>::add_energies(std::span<const Real> spectrum, EnergyVirial& energies) {
  auto& p = *implementation_;
  const auto waves = p.spectrum();
  TESSERA_CHECK(spectrum.size() == 2 * waves.size());
  p.threads.parallel_for(std::ssize(waves), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = at(begin); i < at(end); ++i) waves[i] = {spectrum[i], spectrum[waves.size() + i]};
  });
  p.influence.add_energies(waves, energies);
}

template <class Real>
std::size_t Pme<Real>::bytes() const {
  const auto& p = *implementation_;
  return p.integers_or_spectrum.capacity() + p.charge_or_potential.capacity() * sizeof(Real) + p.influence.bytes() +
         p.transform.bytes();
}

template std::int64_t planned_bytes<float>(const PmePlan&, int, const std::function<bool(int)>&,
                                           const fft::TransformOptions&);
template std::int64_t planned_bytes<double>(const PmePlan&, int, const std::function<bool(int)>&,
                                            const fft::TransformOptions&);
template class Pme<float>;
template class Pme<double>;

}  // namespace tessera::md::pme
