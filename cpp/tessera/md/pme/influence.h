// Computes the influence function of smooth particle-mesh Ewald on this rank's lines of the spectrum, and the parts of
// the electrostatic energy that need no mesh.
//
//   E = ½ Σ_m G(m) |F(m)|²,  G(m) = C/(πV) · exp(−π²m²/α²)/m² · |b₁(m₁) b₂(m₂) b₃(m₃)|²,  G(0) = 0
//   W = ½ Σ_m G |F|² (1 − 2 (1 + π²m²/α²)/m² m⊗m)
//
// F is the transform of the charge mesh, b the Euler spline of the order. The trace of the virial W = Σ r⊗F equals the
// energy, as for any energy homogeneous of degree −1, only together with the real-space part.
//
// Source: U. Essmann et al., J. Chem. Phys. 103, 8577 (1995), eqs. 2.7, 4.4, 4.7, doi:10.1063/1.470117.
// Units: Å, e, kcal/mol. Cost: 3 operations per spectrum point, 20 with energies.
#pragma once

#include <array>
#include <complex>
#include <span>
#include <vector>

#include "tessera/base/box.h"
#include "tessera/base/index_box.h"
#include "tessera/base/threads.h"
#include "tessera/md/accumulator.h"
#include "tessera/md/pme/plan.h"

namespace tessera::md::pme {

/// Returns a*, b*, c* with a*·a = 1, 1/Å.
std::array<Vec3, 3> reciprocal_vectors(const Box& box);

/// Returns |b(m)|² for m in [0, n): 1/|Σ_k M_p(k+1) exp(2πi mk/n)|².
std::vector<double> spline_moduli(int order, std::int64_t n);

template <class Real>
class Influence {
 public:
  /// Takes in `box` this rank's points of the spectrum, complete along z.
  Influence(const PmeSettings& settings, const IndexBox& box, double coulomb_constant, ThreadPool& threads);

  /// Must be called before apply() and whenever the box changes.
  void set_box(const Box& box);

  /// Multiplies F(m) by G(m), and adds this rank's share of energy and virial if `energies` is not null.
  void apply(std::span<std::complex<Real>> spectrum, EnergyVirial* energies);

  std::size_t bytes() const { return table_.capacity() * sizeof(Real); }

 private:
  void add_line_energy(const std::complex<Real>* values, const Real* influence, const Index3& first,
                       EnergyVirial& energies) const;

  PmeSettings settings_;
  IndexBox box_;
  double coulomb_constant_;
  ThreadPool& threads_;
  std::array<std::vector<double>, 3> moduli_;
  std::array<Vec3, 3> reciprocal_{};
  std::vector<Real> table_;  // G by spectrum point
};

/// Returns −C α/√π Σ q², the energy of every charge with its own screening charge, kcal/mol. Its virial is zero.
double self_energy(double coulomb_constant, double alpha, double sum_of_squared_charges);

/// Returns −C π Q²/(2 V α²), the energy of the uniform background that neutralises the net charge Q, kcal/mol. As E ∝
/// 1/V, its virial is E in each of xx, yy, zz.
double background_energy(double coulomb_constant, double alpha, double net_charge, double volume);

}  // namespace tessera::md::pme
