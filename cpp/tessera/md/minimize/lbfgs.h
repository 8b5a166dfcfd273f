// Finds the direction of L-BFGS from scalar products alone, so that an iteration needs one sum over all ranks.
//
// The direction is −H·g, with H the inverse Hessian that the last m displacements s and changes of the gradient y
// describe. It is a linear combination of the s, the y and g, and the two-loop recursion is carried out on its
// coefficients.
// Sources: J. Nocedal, Math. Comp. 35, 773 (1980), doi:10.1090/S0025-5718-1980-0572855-7 (two loops); D. C. Liu,
//   J. Nocedal, Math. Program. 45, 503 (1989), doi:10.1007/BF01589116 (the scale of the first H); W. Chen, Z. Wang,
//   J. Zhou, Adv. Neural Inf. Process. Syst. 27, 1332 (2014) (coefficients).
// Units: s Å, y and g kcal/mol/Å.
#pragma once

#include <array>
#include <cstddef>

namespace tessera::md::minimize {

class Lbfgs {
 public:
  static constexpr std::size_t memory = 8;                // pairs of s and y
  static constexpr std::size_t n_basis = 2 * memory + 1;  // s and y by place, then g
  static constexpr std::size_t y_of(std::size_t place) { return memory + place; }
  static constexpr std::size_t g = 2 * memory;
  using Row = std::array<double, n_basis>;

  std::size_t size() const { return size_; }
  void clear() { size_ = 0; }
  /// Returns where the next pair is to be stored, in place of the oldest if there is no room.
  std::size_t next_place() const { return next_; }

  /// Takes the scalar products of s, y and g with every vector, s and y being those of a new pair in next_place();
  /// products with places that hold no pair count for nothing. Keeps the pair unless its curvature s·y is too small.
  void add(const Row& with_s, const Row& with_y, const Row& with_g);
  /// Returns the coefficients of the direction. There must be at least one pair.
  Row direction() const;

 private:
  void set(std::size_t i, const Row& row);
  /// Returns the place of a pair, of which 0 is the newest.
  std::size_t place(std::size_t age) const { return (next_ + 2 * memory - 1 - age) % memory; }

  std::size_t size_ = 0, next_ = 0;
  std::array<Row, n_basis> product_{};
};

}  // namespace tessera::md::minimize
