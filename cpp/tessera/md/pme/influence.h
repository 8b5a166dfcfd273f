// Computes the influence function of smooth particle-mesh Ewald on this rank's lines of the spectrum, and the parts of
// the electrostatic energy that need no mesh.
//
//   E = ½ Σ_m G(m) |F(m)|²,  G(m) = C/(πV) · exp(−π²m²/α²)/m² · |b₁(m₁) b₂(m₂) b₃(m₃)|²,  G(0) = 0
//   W = ½ Σ_m G |F|² (1 − 2 (1 + π²m²/α²)/m² m⊗m)
//
// and of the dispersion −cᵢcⱼ/r⁶, whose mesh holds c in place of charges,
//
//   G(m) = −π^(3/2) α³/(3V) · f(b) · |b₁ b₂ b₃|²,  f(b) = (1 − 2b²) e^(−b²) + 2√π b³ erfc(b),  b = π|m|/α
//   W = ½ Σ_m G |F|² (1 + 2π²/α² f'(b²)/f m⊗m)
//
// F is the transform of the charge mesh, b the Euler spline of the order. The trace of the virial W = Σ r⊗F equals the
// energy, as for any energy homogeneous of degree −1, only together with the real-space part; that of the dispersion is
// six times the energy.
//
// Source: U. Essmann et al., J. Chem. Phys. 103, 8577 (1995), eqs. 2.7, 4.4, 4.7 and section 5, doi:10.1063/1.470117.
// Units: Å, e, kcal/mol. Cost: 3 operations per spectrum point, 20 with energies.
#pragma once

#include <array>
#include <complex>
#include <optional>
#include <span>
#include <vector>

#include "tessera/base/box.h"
#include "tessera/base/index_box.h"
#include "tessera/base/threads.h"
#include "tessera/md/accumulator.h"
#include "tessera/md/pme/plan.h"
#include "tessera/model/system.h"

namespace tessera::md::pme {

/// Returns a*, b*, c* with a*·a = 1, 1/Å.
std::array<Vec3, 3> reciprocal_vectors(const Box& box);

/// Returns |b(m)|² for m in [0, n): 1/|Σ_k M_p(k+1) exp(2πi mk/n)|².
std::vector<double> spline_moduli(int order, std::int64_t n);

/// Tells which energy of pairs the mesh computes: C qᵢqⱼ/r or −C cᵢcⱼ/r⁶.
enum class Potential { coulomb, dispersion };

/// Tabulates the two functions of b that dispersion needs; computing them takes as long as 20 exp().
class DispersionTable {
 public:
  DispersionTable();
  struct Values {
    double influence;  // f
    double shear;      // −f'(b²)/f
  };
  /// Takes b². Beyond the table, at b = 20, both are 0.
  Values at(double b2) const;

 private:
  std::vector<Values> values_;
};

template <class Real>
class Influence {
 public:
  /// Takes in `box` this rank's points of the spectrum, complete along z, and the constant C of the potential.
  Influence(const PmeSettings& settings, const IndexBox& box, double constant, ThreadPool& threads,
            Potential potential = Potential::coulomb);

  /// Computes G(m) of a box. Must be called before apply() and whenever the box changes.
  void set_box(const Box& box);

  /// Multiplies F(m) by G(m), and adds this rank's share of energy and virial if `energies` is not null.
  void apply(std::span<std::complex<Real>> spectrum, EnergyVirial* energies);
  /// Adds energy and virial alone.
  void add_energies(std::span<const std::complex<Real>> spectrum, EnergyVirial& energies) const;

  /// Returns G by spectrum point.
  std::span<const Real> table() const { return table_; }
  std::size_t bytes() const { return table_.capacity() * sizeof(Real); }

 private:
  void set_coulomb(bool is_separable);
  void set_dispersion(const DispersionTable& dispersion);
  Index3 first_of_line(std::int64_t line) const;
  void add_line_energy(const std::complex<Real>* values, const Real* influence, const Index3& first,
                       EnergyVirial& energies) const;

  PmeSettings settings_;
  IndexBox box_;
  double constant_;
  ThreadPool& threads_;
  std::optional<DispersionTable> dispersion_;
  std::array<std::vector<double>, 3> moduli_;
  std::array<Vec3, 3> reciprocal_{};
  double volume_ = 0;        // Å³
  std::vector<Real> table_;  // G by spectrum point
};

/// Returns cᵢ by Lennard-Jones type, the square root of 4εσ⁶, (kcal/mol·Å⁶)^½.
std::vector<double> dispersion_coefficients(const model::ForceField& force_field);

/// Returns α⁶/12 Σ c², by which the mesh's energy of every atom with itself is removed, kcal/mol. Its virial is zero.
double dispersion_self_energy(double alpha, double sum_of_squares);

/// Returns −C α/√π Σ q², the energy of every charge with its own screening charge, kcal/mol. Its virial is zero.
double self_energy(double coulomb_constant, double alpha, double sum_of_squared_charges);

/// Returns −C π Q²/(2 V α²), the energy of the uniform background that neutralises the net charge Q, kcal/mol. As E ∝
/// 1/V, its virial is E in each of xx, yy, zz.
double background_energy(double coulomb_constant, double alpha, double net_charge, double volume);

}  // namespace tessera::md::pme
