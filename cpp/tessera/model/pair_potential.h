// Pair potentials of ionic systems and materials, by pair of types; they replace Lennard-Jones for the pair.
//
//   buckingham          A e^(−r/ρ) − C/r⁶                                        A, ρ, C
//   born-huggins-mayer  A e^(B(σ−r)) − C/r⁶ − D/r⁸                               A, B, σ, C, D
//   morse               E₀[(1 − e^(−k(r−r₀)))² − 1]                              E₀, r₀, k
//   morse-12            the same + c/r¹²                                         E₀, r₀, k, c
//   n-m                 E₀/(n−m)·[m(r₀/r)ⁿ − n(r₀/r)ᵐ]                           E₀, n, m, r₀
//   12-6-4              A/r¹² − B/r⁶ − C/r⁴     (Li and Merz 2014)   A, B, C
//   12-10               A/r¹² − B/r¹⁰                                            A, B
//   wca                 4ε[(σ/(r−Δ))¹² − (σ/(r−Δ))⁶] + ε up to 2^(1/6)σ + Δ, 0 beyond      ε, σ, Δ
//   buffered-14-7       ε[1.07/(r/r₀ + 0.07)]⁷[1.12/((r/r₀)⁷ + 0.12) − 2]        ε, r₀
//   rydberg             (a + b r) e^(−r/ρ)                                       a, b, ρ
//   zbl                 C Z₁Z₂/r·φ(r/a), the universal φ of Ziegler et al. (1985)   C Z₁Z₂, a
//   table               energy and force at equal distances                      row of the tables, spacing
//
// To add one: its name here, its check and its formula in pair_potential.cpp, and its columns in
// python/tessera/system/model.py (CONTRIBUTING.md, "Adding one more").
//
// Units: Å, kcal/mol.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::model {

enum class PairPotentialKind {
  buckingham,
  born_huggins_mayer,
  morse,
  morse_12,
  n_m,
  lj_12_6_4,
  hydrogen_bond_12_10,
  wca,
  buffered_14_7,
  rydberg,
  zbl,
  table,
};

/// The names of the kinds in system files, in their order.
inline constexpr std::array<std::string_view, 12> pair_potential_names = {
    "buckingham", "born-huggins-mayer", "morse",   "morse-12", "n-m",  "12-6-4", "12-10",
    "wca",        "buffered-14-7",      "rydberg", "zbl",      "table"};
constexpr const auto& names_of(PairPotentialKind) { return pair_potential_names; }

/// Tabulated values at the distances spacing, 2·spacing, 3·spacing, …
struct TabulatedPotential {
  struct Point {
    double energy, force;  // kcal/mol; −dU/dr, kcal/mol/Å
  };
  std::vector<Point> points;
};

struct PairPotential {
  static constexpr std::size_t most_parameters = 5;

  int type_a = 0, type_b = 0;
  PairPotentialKind kind = PairPotentialKind::buckingham;
  std::array<double, most_parameters> parameter{};

  std::string_view name() const { return pair_potential_names[static_cast<std::size_t>(kind)]; }
};

/// U and −dU/dr.
struct PotentialAndForce {
  double energy = 0, force = 0;
};

/// Evaluates one pair potential.
///
/// Some formulas, Buckingham's above all, attract without limit at distances that no atoms reach. Where a potential
/// does, the formula ends at the core, the distance of the greatest repulsion, and the force continues from there as
/// r⁻¹³.
class PairPotentialFunction {
 public:
  /// Keeps a reference to the table of kind `table`. Throws InputError if parameters have no meaning.
  PairPotentialFunction(const PairPotential& potential, const std::vector<TabulatedPotential>& tables);

  PotentialAndForce operator()(double r) const;
  /// Returns the distance of the greatest repulsion, Å, within which the force grows as r⁻¹³; 0 where the formula holds
  /// at all distances.
  double core() const { return core_; }
  /// Returns the distance where a table ends, Å; infinite for formulas.
  double end() const;
  /// Tells whether r³U and r³(−r dU/dr) have an integral to infinity.
  bool has_tail() const;

 private:
  PotentialAndForce formula(double r) const;
  PotentialAndForce interpolated(double r) const;
  void find_core();

  PairPotential potential_;
  const TabulatedPotential* table_ = nullptr;
  double core_ = 0;
  PotentialAndForce at_core_;
};

}  // namespace tessera::model
