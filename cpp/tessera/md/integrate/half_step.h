// Declares the halves of a step with constraints, each in one pass over a rank's groups of atoms:
//
//   kick_and_drift     v(t+½) = v(t) + ½dt·F(t)/m, corrected so that the drift keeps the constraints (SETTLE, SHAKE);
//                      x(t+1) = x(t) + dt·v(t+½)
//   kick_and_project   v(t+1) = v(t+½) + ½dt·F(t+1)/m, minus its part along constrained distances (RATTLE)
//   kick_and_drift_with_noise
//                      a first half with friction and noise in the middle of its drift (BAOAB without its last letter),
//                      on velocities that keep the constraints there
//
// Sources: W. C. Swope et al., J. Chem. Phys. 76, 637 (1982), doi:10.1063/1.442716; H. C. Andersen, J. Comput. Phys.
//   52, 24 (1983), doi:10.1016/0021-9991(83)90014-1; B. Leimkuhler, C. Matthews, Proc. R. Soc. A 472, 20160138 (2016),
//   doi:10.1098/rspa.2016.0138 (constraints in BAOAB). Units: Å, ps, amu, kcal/mol.
// A group is computed in doubles, one group per lane, and stored as integers. Its result depends on nothing but the
// group, so the bits are the same in any batch, on any rank and thread.
#pragma once

#include <cstdint>
#include <span>

#include "tessera/base/box.h"
#include "tessera/md/accumulator.h"
#include "tessera/md/constraint/group_list.h"
#include "tessera/md/domain/domain.h"
#include "tessera/md/integrate/noise.h"

namespace tessera::md::integrate {

/// A run counts as blown up beyond this speed, Å/ps: 2 Å in a 2 fs step, thirty times a hydrogen's thermal speed.
inline constexpr double speed_limit = 1000;

struct HalfStep {
  Triangular to_length{};               // Å per unit of Fraction
  Triangular to_fraction{};             // its inverse
  double kick = 0;                      // ps, the time for which the forces act
  double timestep = 0;                  // ps
  double tolerance = 1e-10;             // of constrained distances, relative
  const std::int64_t* force = nullptr;  // (3·slots) units of force_unit
  Velocity* velocity = nullptr;
  Fraction* position = nullptr;
};

/// Names an atom that shows that the run has blown up: it is too fast after the kick, or its group's constraints can't
/// be satisfied. The group stays where it is, without velocity.
struct Failure {
  std::int32_t slot = -1;
  double speed = 0;  // Å/ps; 0: its constraints failed

  /// Keeps the failure with the lower slot, so that the report does not depend on threads.
  void offer(const Failure& other) {
    if (other.slot >= 0 && (slot < 0 || other.slot < slot)) *this = other;
  }
};

/// Advances share `share` of `n_shares` of each list.
void kick_and_drift(std::span<const constraint::GroupList> lists, int share, int n_shares, const HalfStep& step,
                    Failure& failure);

/// Advances like kick_and_drift. The impulse is half a step of the constraint force; its virial is added if `energies`
/// is not null.
void kick_and_project(std::span<const constraint::GroupList> lists, int share, int n_shares, const HalfStep& step,
                      Failure& failure, EnergyVirial* energies);

/// Advances like kick_and_drift, with friction and noise in the middle of the drift. Returns the heat that the groups
/// have got from them, in energy units.
std::int64_t kick_and_drift_with_noise(std::span<const constraint::GroupList> lists, int share, int n_shares,
                                       const HalfStep& step, const FrictionAndNoise& noise, Failure& failure);

/// Adds Σ (r − R)⊗F over the atoms of groups, R the place of a group's first atom.
void add_virial_within(std::span<const constraint::GroupList> lists, int share, int n_shares, const HalfStep& step,
                       EnergyVirial& energies);

}  // namespace tessera::md::integrate
