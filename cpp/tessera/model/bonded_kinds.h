// The kinds of bonded terms: for each its name in files, how many atoms it joins and what a row of its table of
// parameters holds. Everything that treats all kinds alike follows from the list below: reading, checksums, topology,
// tables and forces.
//
// To add a kind: a struct here, its name in `BondedKinds`, its kernel in md/bonded/ with a line in tables.h there, and
// its columns in python/tessera/system/model.py (CONTRIBUTING.md, "Adding one more"). A bond or an angle also counts in
// md/constraint/fastest_vibration.cpp and in md/virtual_site/site_list.cpp, which measure groups and time steps by them.
//
// Units: Å, kcal/mol, elementary charge, radian.
#pragma once

#include <array>
#include <string_view>
#include <tuple>
#include <vector>

namespace tessera::model {

struct BondParameter {  // k(r − r₀)², or as the kind says
  double k, r0;
};
struct AngleParameter {  // k(θ − θ₀)², or as the kind says
  double k, theta0;
};
struct DihedralParameter {  // k[1 + cos(nφ − δ)]
  double k, n, delta;
};
struct RyckaertBellemansParameter {  // Σ cₙ cosⁿ(φ − 180°)
  std::array<double, 6> c;
};
struct ImproperParameter {  // k(φ − φ₀)²
  double k, phi0;
};
struct Pair14Parameter {  // 4ε[(σ/r)¹² − (σ/r)⁶] + f·C·qᵢqⱼ/r
  double sigma, epsilon, charge_factor;
};
/// Energies on an n × n grid over φ, ψ = −180° + 360°·i/n, [i_φ·n + i_ψ].
struct CmapParameter {
  int n = 0;
  std::vector<double> energy;
};

template <int atoms, class ParameterRow>
struct BondedKind {
  static constexpr int arity = atoms;
  using Parameter = ParameterRow;
};

inline constexpr struct Bond : BondedKind<2, BondParameter> { static constexpr std::string_view name = "bond"; } bond;
inline constexpr struct Angle : BondedKind<3, AngleParameter> {
  static constexpr std::string_view name = "angle";
} angle;
/// k(r² − r₀²)²: GROMOS' bonds.
inline constexpr struct BondQuartic : BondedKind<2, BondParameter> {
  static constexpr std::string_view name = "bond_quartic";
} bond_quartic;
/// k(cos θ − cos θ₀)²: GROMOS' angles.
inline constexpr struct AngleCosine : BondedKind<3, AngleParameter> {
  static constexpr std::string_view name = "angle_cosine";
} angle_cosine;
inline constexpr struct UreyBradley : BondedKind<2, BondParameter> {
  static constexpr std::string_view name = "urey_bradley";
} urey_bradley;
inline constexpr struct Dihedral : BondedKind<4, DihedralParameter> {
  static constexpr std::string_view name = "dihedral";
} dihedral;
inline constexpr struct DihedralRb : BondedKind<4, RyckaertBellemansParameter> {
  static constexpr std::string_view name = "dihedral_rb";
} dihedral_rb;
inline constexpr struct ImproperHarmonic : BondedKind<4, ImproperParameter> {
  static constexpr std::string_view name = "improper_harmonic";
} improper_harmonic;
inline constexpr struct ImproperPeriodic : BondedKind<4, DihedralParameter> {
  static constexpr std::string_view name = "improper_periodic";
} improper_periodic;
inline constexpr struct Cmap : BondedKind<8, CmapParameter> { static constexpr std::string_view name = "cmap"; } cmap;
inline constexpr struct Pair14 : BondedKind<2, Pair14Parameter> {
  static constexpr std::string_view name = "pair_14";
} pair_14;

using BondedKinds = std::tuple<Bond, Angle, UreyBradley, Dihedral, DihedralRb, ImproperHarmonic, ImproperPeriodic, Cmap,
                               Pair14, BondQuartic, AngleCosine>;

/// Calls visit(kind) for each kind, in the order of the list.
template <class Visit>
constexpr void for_each_kind(Visit&& visit) {
  std::apply([&](auto... kind) { (visit(kind), ...); }, BondedKinds());
}

/// Calls visit(kind) for the kinds that join two atoms chemically.
template <class Visit>
constexpr void for_each_kind_of_bond(Visit&& visit) {
  visit(bond);
  visit(bond_quartic);
}

/// One `Held<Kind>` for each kind: `by_kind[bond]`.
template <template <class Kind> class Held>
class ByKind {
 public:
  template <class Kind>
  auto& operator[](Kind) {
    return std::get<Slot<Kind>>(slots_).held;
  }
  template <class Kind>
  const auto& operator[](Kind) const {
    return std::get<Slot<Kind>>(slots_).held;
  }

 private:
  template <class Kind>
  struct Slot {
    Held<Kind> held;
  };
  template <class List>
  struct SlotsOf;
  template <class... Kinds>
  struct SlotsOf<std::tuple<Kinds...>> {
    using Type = std::tuple<Slot<Kinds>...>;
  };

  typename SlotsOf<BondedKinds>::Type slots_;
};

}  // namespace tessera::model
