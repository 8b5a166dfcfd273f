// Computes the long-range part of Coulomb's energy of a periodic box by smooth particle-mesh Ewald; that of dispersion,
// −C cᵢcⱼ/r⁶, in the same way with another influence function (influence.h).
//
//   E = C/(2πV) Σ_{m≠0} exp(−π²m²/α²)/m² |S(m)|²,  S(m) ≈ b₁b₂b₃ F(m),  F the transform of the spread charges
//   f_i = −q_i ∇_i Σ_k φ(k) M_p(u_i − k),  φ the back transform of G·F (influence.h)
//
// A step calls spread, forward, solve, backward and add_forces in this order; the caller times them. Each rank spreads
// all its local atoms on its own brick and receives the potential on its padded brick, so charges never move between
// ranks. Results are the same bits on any ranks and threads. Energies are this rank's share and must be summed over
// ranks. The net force is not zero (Essmann, section 5); it is not removed here.
//
// Source: U. Essmann et al., J. Chem. Phys. 103, 8577 (1995), doi:10.1063/1.470117.
// Units: Å, e, kcal/mol. Error: (spacing)^p in forces. Cost: p³ per atom twice, and two transforms.
#pragma once

#include <array>
#include <complex>
#include <functional>
#include <memory>
#include <span>

#include "tessera/base/box.h"
#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/fft/transform.h"
#include "tessera/md/accumulator.h"
#include "tessera/md/pme/influence.h"
#include "tessera/md/pme/plan.h"

namespace tessera::md::pme {

/// Says what happened where a point of the mesh holds too much charge.
inline constexpr const char* too_much_charge =
    "a mesh point holds more than 64 e of charge: atoms have collapsed onto each other";

template <class Real>
class Pme {
 public:
  /// Keeps references to `comm` and `threads`, which must outlive this; `constant` is that of the potential, kcal Å/mol
  /// or kcal Å⁶/mol per square of what `charge` is below; `options` are those of the transform.
  Pme(const PmePlan& plan, const Box& box, double constant, const comm::Communicator& comm, ThreadPool& threads,
      const fft::TransformOptions& options = {}, Potential potential = Potential::coulomb);
  ~Pme();
  Pme(Pme&&) noexcept;

  /// Adapts to a box that changed shape; mesh and splitting stay the same.
  void set_box(const Box& box);

  /// Spreads the charges (e) of all local atoms, owned and halo, each given once; slots without charge (padding) are
  /// skipped.
  void spread(std::span<const Fraction> position, std::span<const Real> charge);
  /// Transforms the charge mesh to the spectrum. Collective.
  void forward();
  /// Multiplies by the influence function, and adds energy and virial if `energies` is not null.
  void solve(EnergyVirial* energies);
  /// Transforms the spectrum to the potential. Collective.
  void backward();
  /// Adds forces on the first `n_owned` slots, with one accumulator per thread. Throws RunError if an atom has left the
  /// region where its rank has the potential.
  void add_forces(std::span<const Fraction> position, std::span<const Real> charge, std::int64_t n_owned,
                  std::span<Accumulator> by_thread);

  // What else can do a step needs of this (device/device_mesh.h).

  /// Returns the influence function by spectrum point.
  std::span<const Real> influence() const;
  /// Returns −K_d a*_d of each direction d, 1/Å.
  const std::array<Vec3, 3>& gradient_to_force() const;
  /// Adds energy and virial of a spectrum: all real parts, then all imaginary ones.
  void add_energies(std::span<const Real> spectrum, EnergyVirial& energies);

  std::size_t bytes() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Predicts Pme::bytes() on a rank; the other arguments are those of fft::planned_bytes. Cost: O(ranks).
template <class Real>
std::int64_t planned_bytes(const PmePlan& plan, int rank, const std::function<bool(int)>& reads_from,
                           const fft::TransformOptions& options = {});

}  // namespace tessera::md::pme
