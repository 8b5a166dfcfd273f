// What all bonded loops share: adding balanced forces in fixed point, the virial of a term, the dihedral angle.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "tessera/base/lattice.h"
#include "tessera/base/vec3.h"
#include "tessera/md/accumulator.h"

namespace tessera::md::bonded {

inline std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

/// Adds the forces on all atoms of a term but one, and to that one the negative of their rounded sum: a term never
/// pushes the system as a whole, to the last bit.
template <int N>
inline void add_balanced(Accumulator& accumulator, const std::array<std::int32_t, N>& slots,
                         const std::array<Vec3, N>& forces, std::int32_t balance_slot) {
  std::uint64_t sum_x = 0, sum_y = 0, sum_z = 0;
  for (std::size_t a = 0; a < N; ++a) {
    const std::int64_t x = to_fixed(forces[a].x, force_unit);
    const std::int64_t y = to_fixed(forces[a].y, force_unit);
    const std::int64_t z = to_fixed(forces[a].z, force_unit);
    std::int64_t* const force = &accumulator.force[3 * at(slots[a])];
    add_fixed(force[0], x);
    add_fixed(force[1], y);
    add_fixed(force[2], z);
    sum_x -= static_cast<std::uint64_t>(x);
    sum_y -= static_cast<std::uint64_t>(y);
    sum_z -= static_cast<std::uint64_t>(z);
  }
  std::int64_t* const force = &accumulator.force[3 * at(balance_slot)];
  add_fixed(force[0], static_cast<std::int64_t>(sum_x));
  add_fixed(force[1], static_cast<std::int64_t>(sum_y));
  add_fixed(force[2], static_cast<std::int64_t>(sum_z));
}

/// Σ r⊗F of one term in floating point; rounded to fixed point once a term.
struct TermVirial {
  std::array<double, 6> w{};  // kcal/mol: xx yy zz xy xz yz

  void add(const Vec3& r, const Vec3& f) {
    w[0] += r.x * f.x;
    w[1] += r.y * f.y;
    w[2] += r.z * f.z;
    w[3] += r.x * f.y;
    w[4] += r.x * f.z;
    w[5] += r.y * f.z;
  }
  void add_to(EnergyVirial& energies) const {
    for (std::size_t i = 0; i < 6; ++i) add_fixed(energies.virial[i], to_fixed(w[i], energy_unit));
  }
};

/// Calls loop(std::true_type) where energies are wanted and loop(std::false_type) where only forces are.
template <class Loop>
inline void with_or_without_energies(const Accumulator& accumulator, Loop&& loop) {
  if (accumulator.energies != nullptr) {
    loop(std::true_type{});
  } else {
    loop(std::false_type{});
  }
}

/// The dihedral of atoms i, j, k, l: cosine and sine of φ (IUPAC: trans is 180°, clockwise positive) and what its
/// gradient needs, without calling a trigonometric function.
///
/// Formula: F = rᵢ − rⱼ, G = rⱼ − r_k, H = r_l − r_k, A = F×G, B = H×G;
///   cos φ = A·B/|A||B|, sin φ = (B×A)·G/|A||B||G| = −|G|(F·B)/|A||B|; ∂φ/∂rᵢ = −|G|A/A², ∂φ/∂r_l = |G|B/B²
/// Source: Blondel, Karplus, J. Comput. Chem. 17, 1132 (1996),
///   10.1002/(SICI)1096-987X(19960715)17:9<1132::AID-JCC5>3.0.CO;2-T
/// Units: Å
struct Dihedral {
  Vec3 f, g, h, a, b;
  double cosine = 1, sine = 0;
  double scale_a = 0, scale_b = 0;  // |G|/A², |G|/B², Å⁻¹; 0 where three atoms are in line and φ means nothing
  double along_f = 0, along_h = 0;  // F·G/G², H·G/G²

  Dihedral(const Lattice& lattice, std::span<const Fraction> position, const std::array<std::int32_t, 4>& s)
      : Dihedral(lattice.displacement(position[at(s[1])], position[at(s[0])]),
                 lattice.displacement(position[at(s[2])], position[at(s[1])]),
                 lattice.displacement(position[at(s[2])], position[at(s[3])])) {}

  Dihedral(const Vec3& f_, const Vec3& g_, const Vec3& h_) : f(f_), g(g_), h(h_), a(cross(f_, g_)), b(cross(h_, g_)) {
    constexpr double in_line = 1e-16;  // Å⁴: three atoms within 1e-8 Å of a line, below what positions resolve
    const double a2 = norm2(a), b2 = norm2(b), g2 = norm2(g);
    if (!(a2 > in_line && b2 > in_line)) return;  // also g2 > 0 from here on
    const double length_g = std::sqrt(g2), inverse_g = 1 / length_g;
    const double x = dot(a, b), y = -length_g * dot(f, b);  // (B×A)·G = −G²(F·B)
    const double inverse = 1 / std::sqrt(x * x + y * y);    // keeps cos² + sin² = 1 near 0 and 180° too
    cosine = x * inverse;
    sine = y * inverse;
    scale_a = length_g / a2;
    scale_b = length_g / b2;
    along_f = dot(f, g) * inverse_g * inverse_g;
    along_h = dot(h, g) * inverse_g * inverse_g;
  }

  double angle() const { return std::atan2(sine, cosine); }

  /// Adds the forces of a term with dU/dφ = `slope` (kcal/mol/rad), and its virial.
  template <bool WithEnergy>
  void add(Accumulator& accumulator, const std::array<std::int32_t, 4>& s, double slope, TermVirial& virial) const {
    const Vec3 on_i = (slope * scale_a) * a, on_l = (-slope * scale_b) * b;
    const Vec3 shift = along_f * on_i + along_h * on_l;
    const Vec3 on_k = shift - on_l;
    add_balanced<3>(accumulator, {s[0], s[2], s[3]}, {on_i, on_k, on_l}, s[1]);
    if constexpr (WithEnergy) {
      // from atom j: r_i − r_j = F, r_k − r_j = −G, r_l − r_j = H − G
      virial.add(f, on_i);
      virial.add(-g, on_k);
      virial.add(h - g, on_l);
    }
  }
};

}  // namespace tessera::md::bonded
