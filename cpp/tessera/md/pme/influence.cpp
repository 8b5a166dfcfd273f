#include "tessera/md/pme/influence.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/math/elementary.h"
#include "tessera/base/math/exponentials.h"
#include "tessera/base/units.h"
#include "tessera/md/pme/spline.h"

namespace tessera::md::pme {

using units::pi;

namespace {

/// Returns the wave number of index m of n: m or m − n, whichever is closer to zero.
double wave_number(std::int64_t m, std::int64_t n) { return static_cast<double>(2 * m <= n ? m : m - n); }

}  // namespace

std::array<Vec3, 3> reciprocal_vectors(const Box& box) {
  const double scale = 1 / box.volume();
  return {scale * cross(box.b(), box.c()), scale * cross(box.c(), box.a()), scale * cross(box.a(), box.b())};
}

std::vector<double> spline_moduli(int order, std::int64_t n) {
  // M_p(1) … M_p(p−1) are the weights of an atom on a mesh point.
  std::array<double, max_order> weights{}, slopes{};
  switch (order) {
    case 4:
      fill_spline<4>(0.0, weights.data(), slopes.data());
      break;
    case 6:
      fill_spline<6>(0.0, weights.data(), slopes.data());
      break;
    case 8:
      fill_spline<8>(0.0, weights.data(), slopes.data());
      break;
    default:
      TESSERA_CHECK(false);
  }
  std::vector<double> moduli;
  for (std::int64_t m = 0; m < n; ++m) {
    double re = 0, im = 0;
    for (int k = 0; k + 1 < order; ++k) {
      const auto turn = math::sincos_of_turn(m * k, n);
      re += weights[static_cast<std::size_t>(k)] * turn.cos;
      im += weights[static_cast<std::size_t>(k)] * turn.sin;
    }
    moduli.push_back(1 / (re * re + im * im));
  }
  return moduli;
}

namespace {

constexpr double points_per_b = 256, greatest_b = 20;

DispersionTable::Values dispersion_at(double b) {
  const double b2 = b * b, gauss = math::exp(-b2), root_pi = std::sqrt(pi);
  const double scaled = b < 25 ? math::erfc(b) / gauss : 0;  // e^(b²) erfc(b), so that their ratio has no zeros
  const double f = (1 - 2 * b2) + 2 * root_pi * b2 * b * scaled;
  return {gauss * f, (3 - 3 * root_pi * b * scaled) / f};
}

}  // namespace

DispersionTable::DispersionTable() {
  for (int i = 0; i <= static_cast<int>(points_per_b * greatest_b) + 3; ++i)
    values_.push_back(dispersion_at(std::max(0, i - 1) / points_per_b));
  // Both are even in b up to its third power, so the point before 0 is that after it.
  values_.front() = dispersion_at(1 / points_per_b);
}

DispersionTable::Values DispersionTable::at(double b2) const {
  const double x = std::sqrt(b2) * points_per_b;
  if (!(x < greatest_b * points_per_b)) return {0, 0};
  const auto i = static_cast<std::size_t>(x);
  const double t = x - static_cast<double>(i);
  // Lagrange's cubic through the points −1, 0, 1 and 2.
  const double w0 = -t * (t - 1) * (t - 2) / 6, w1 = (t + 1) * (t - 1) * (t - 2) / 2, w2 = -(t + 1) * t * (t - 2) / 2,
               w3 = (t + 1) * t * (t - 1) / 6;
  const auto* v = &values_[i];
  return {w0 * v[0].influence + w1 * v[1].influence + w2 * v[2].influence + w3 * v[3].influence,
          w0 * v[0].shear + w1 * v[1].shear + w2 * v[2].shear + w3 * v[3].shear};
}

template <class Real>
Influence<Real>::Influence(const PmeSettings& settings, const IndexBox& box, double constant, ThreadPool& threads,
                           Potential potential)
    : settings_(settings), box_(box), constant_(constant), threads_(threads) {
  if (potential == Potential::dispersion) dispersion_.emplace();
  for (std::size_t d = 0; d < 3; ++d) moduli_[d] = spline_moduli(settings.order, settings.grid[d]);
  table_.resize(static_cast<std::size_t>(box.size()));
}

template <class Real>
void Influence<Real>::set_box(const Box& box) {
  reciprocal_ = reciprocal_vectors(box);
  volume_ = box.volume();
  // For orthogonal box vectors exp(−π²m²/α²) is a product over directions, which saves an exponential per point.
  dispersion_ ? set_dispersion(*dispersion_) : set_coulomb(box.is_orthorhombic());
}

template <class Real>
void Influence<Real>::set_coulomb(bool is_separable) {
  const double scale = constant_ / (pi * volume_);
  const double decay = -pi * pi / (settings_.alpha * settings_.alpha);
  const auto& n = settings_.grid;
  std::array<std::vector<double>, 3> screen;
  for (std::size_t d = 0; d < 3; ++d)
    for (std::int64_t m = 0; m < n[d]; ++m) {
      const double k = wave_number(m, n[d]);
      screen[d].push_back(is_separable ? math::exp(decay * k * k * norm2(reciprocal_[d])) : 1.0);
    }
  const std::int64_t n_y = box_.extent(1), n_z = box_.extent(2);
  const Vec3& step = reciprocal_[2];
  const double step2 = norm2(step);
  std::vector<double> wave, of_z = moduli_[2];
  for (std::int64_t z = 0; z < n_z; ++z) {
    wave.push_back(wave_number(z, n_z));
    of_z[static_cast<std::size_t>(z)] *= screen[2][static_cast<std::size_t>(z)];
  }
  threads_.parallel_for(box_.extent(0) * n_y, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> of_line(is_separable ? 0 : wave.size());
    for (std::int64_t line = begin; line < end; ++line) {
      const std::int64_t x = box_.lower[0] + line / n_y, y = box_.lower[1] + line % n_y;
      const auto i = static_cast<std::size_t>(x), j = static_cast<std::size_t>(y);
      const Vec3 base = wave_number(x, n[0]) * reciprocal_[0] + wave_number(y, n[1]) * reciprocal_[1];
      const double factor = scale * moduli_[0][i] * moduli_[1][j] * screen[0][i] * screen[1][j];
      // m = base + k·step
      const double base2 = norm2(base), cross = 2 * dot(base, step);
      const auto square = [&](double k) { return base2 + k * (cross + k * step2); };
      Real* const values = table_.data() + line * n_z;
      if (is_separable) {
        for (std::size_t z = 0; z < wave.size(); ++z) values[z] = static_cast<Real>(factor * of_z[z] / square(wave[z]));
      } else {
        std::transform(wave.begin(), wave.end(), of_line.begin(), [&](double k) { return decay * square(k); });
        math::exponentiate(of_line);
        for (std::size_t z = 0; z < wave.size(); ++z)
          values[z] = static_cast<Real>(factor * of_z[z] * of_line[z] / square(wave[z]));
      }
      if (x == 0 && y == 0) values[0] = 0;
    }
  });
}

template <class Real>
void Influence<Real>::set_dispersion(const DispersionTable& dispersion) {
  const double alpha = settings_.alpha, scale = -constant_ * pi * std::sqrt(pi) * alpha * alpha * alpha / (3 * volume_);
  const double to_b2 = pi * pi / (alpha * alpha);
  const auto& n = settings_.grid;
  const std::int64_t n_y = box_.extent(1), n_z = box_.extent(2);
  threads_.parallel_for(box_.extent(0) * n_y, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      const std::int64_t x = box_.lower[0] + line / n_y, y = box_.lower[1] + line % n_y;
      const Vec3 base = wave_number(x, n[0]) * reciprocal_[0] + wave_number(y, n[1]) * reciprocal_[1];
      const double factor = scale * moduli_[0][static_cast<std::size_t>(x)] * moduli_[1][static_cast<std::size_t>(y)];
      for (std::int64_t z = 0; z < n_z; ++z) {
        const double m2 = norm2(base + wave_number(z, n[2]) * reciprocal_[2]);
        table_[static_cast<std::size_t>(line * n_z + z)] =
            static_cast<Real>(factor * moduli_[2][static_cast<std::size_t>(z)] * dispersion.at(to_b2 * m2).influence);
      }
    }
  });
}

namespace {

/// Calls function(line, energies of its thread) for all lines, and adds what they sum.
template <class Function>
void for_lines(ThreadPool& threads, std::int64_t lines, EnergyVirial* energies, const Function& function) {
  std::vector<EnergyVirial> by_thread(static_cast<std::size_t>(threads.size()));
  threads.run([&](int thread) {
    const std::int64_t end = lines * (thread + 1) / threads.size();
    for (std::int64_t line = lines * thread / threads.size(); line < end; ++line)
      function(line, by_thread[static_cast<std::size_t>(thread)]);
  });
  if (energies != nullptr)
    for (const auto& share : by_thread) energies->merge(share);
}

}  // namespace

template <class Real>
void Influence<Real>::apply(std::span<std::complex<Real>> spectrum, EnergyVirial* energies) {
  TESSERA_CHECK(static_cast<std::int64_t>(spectrum.size()) == box_.size());
  const std::int64_t n_z = box_.extent(2), lines = box_.extent(0) * box_.extent(1);
  for_lines(threads_, lines, energies, [&](std::int64_t line, EnergyVirial& sums) {
    std::complex<Real>* values = spectrum.data() + line * n_z;
    const Real* influence = table_.data() + line * n_z;
    if (energies != nullptr) add_line_energy(values, influence, first_of_line(line), sums);
    for (std::int64_t z = 0; z < n_z; ++z)
      values[z] = {values[z].real() * influence[z], values[z].imag() * influence[z]};
  });
}

template <class Real>
void Influence<Real>::add_energies(std::span<const std::complex<Real>> spectrum, EnergyVirial& energies) const {
  TESSERA_CHECK(static_cast<std::int64_t>(spectrum.size()) == box_.size());
  const std::int64_t n_z = box_.extent(2), lines = box_.extent(0) * box_.extent(1);
  for_lines(threads_, lines, &energies, [&](std::int64_t line, EnergyVirial& sums) {
    add_line_energy(spectrum.data() + line * n_z, table_.data() + line * n_z, first_of_line(line), sums);
  });
}

/// Returns the first point of a line along z.
template <class Real>
Index3 Influence<Real>::first_of_line(std::int64_t line) const {
  const std::int64_t n_y = box_.extent(1);
  return {box_.lower[0] + line / n_y, box_.lower[1] + line % n_y, 0};
}

template <class Real>
void Influence<Real>::add_line_energy(const std::complex<Real>* values, const Real* influence, const Index3& first,
                                      EnergyVirial& energies) const {
  // Points with 0 < kx < nx/2 represent themselves and their mirror image −m.
  const double weight = first[0] == 0 || 2 * first[0] == settings_.grid[0] ? 0.5 : 1.0;
  const Vec3 base = wave_number(first[0], settings_.grid[0]) * reciprocal_[0] +
                    wave_number(first[1], settings_.grid[1]) * reciprocal_[1];
  const double decay = pi * pi / (settings_.alpha * settings_.alpha);
  const Vec3& step = reciprocal_[2];
  const double base2 = norm2(base), cross = 2 * dot(base, step), step2 = norm2(step);
  // Along the line m = base + k·step, so Σ c m⊗m follows from Σ c, Σ c k and Σ c k².
  double energy = 0, sum = 0, sum_k = 0, sum_kk = 0;
  const std::int64_t n = box_.extent(2);
  for (std::int64_t z = 0; z < n; ++z) {
    const double k = wave_number(z, n);
    const double m2 = base2 + k * (cross + k * step2);
    const double re = static_cast<double>(values[z].real()), im = static_cast<double>(values[z].imag());
    const double e = static_cast<double>(influence[z]) * (re * re + im * im);
    const double c = e * (dispersion_ ? decay * dispersion_->at(decay * m2).shear : 1 / (m2 > 0 ? m2 : 1.0) + decay);
    energy += e;
    sum += c;
    sum_k += c * k;
    sum_kk += c * k * k;
  }
  energy *= weight;
  energies.add(dispersion_ ? Term::lj_mesh : Term::coulomb_reciprocal, energy);
  const auto add = [&](std::size_t component, double isotropic, double base_p, double base_q, double step_p,
                       double step_q) {
    const double shear = sum * base_p * base_q + sum_k * (base_p * step_q + step_p * base_q) + sum_kk * step_p * step_q;
    energies.add_virial(component, isotropic - 2 * weight * shear);
  };
  add(0, energy, base.x, base.x, step.x, step.x);
  add(1, energy, base.y, base.y, step.y, step.y);
  add(2, energy, base.z, base.z, step.z, step.z);
  add(3, 0, base.x, base.y, step.x, step.y);
  add(4, 0, base.x, base.z, step.x, step.z);
  add(5, 0, base.y, base.z, step.y, step.z);
}

std::vector<double> dispersion_coefficients(const model::ForceField& force_field) {
  std::vector<double> coefficients;
  for (const auto& [sigma, epsilon] : force_field.type_lj)
    coefficients.push_back(2 * std::sqrt(epsilon) * sigma * sigma * sigma);
  return coefficients;
}

double dispersion_self_energy(double alpha, double sum_of_squares) { return math::pow(alpha, 6) / 12 * sum_of_squares; }

double self_energy(double coulomb_constant, double alpha, double sum_of_squared_charges) {
  return -coulomb_constant * alpha / std::sqrt(pi) * sum_of_squared_charges;
}

double background_energy(double coulomb_constant, double alpha, double net_charge, double volume) {
  return -coulomb_constant * pi * net_charge * net_charge / (2 * volume * alpha * alpha);
}

template class Influence<float>;
template class Influence<double>;

}  // namespace tessera::md::pme
