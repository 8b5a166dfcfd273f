// Declares the published pair schemes, which go from cell to cell: lists of neighbours per atom and cell, or flags
// (cell_kernel.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "tessera/md/accumulator.h"
#include "tessera/md/pair/pair_data.h"

namespace tessera::pair_schemes {

/// Tells how fast kernels evaluate the functions of distance: by formula, or from a table (pair_table.h).
struct Function {
  bool by_table = false;
  double density = 100;  // points of r_c²/r²
};

/// Sums the pairs of one rank by a scheme. It is constructed once; its data must outlive it.
class PairSum {
 public:
  virtual ~PairSum() = default;
  /// Follows atoms that have been sorted into cells again; an update(true) comes next.
  virtual void rebuild() = 0;
  /// Follows atoms that have moved. Makes a new list if requested, of the pairs that may come within the cut-off as
  /// long as no atom moves further than its reach.
  virtual void update(bool make_list) = 0;
  /// Adds the forces of all pairs within the cut-off; energies are not summed.
  virtual void add_forces(std::span<md::Accumulator> by_thread) = 0;
  /// Returns the number of pairs of atoms that add_forces() evaluates, including those beyond the cut-off.
  virtual std::int64_t n_evaluated() const = 0;
  /// Returns the bytes of the list of near pairs.
  virtual std::size_t list_bytes() const = 0;
};

/// Describes a scheme in the registry.
struct PairScheme {
  std::string_view name;
  std::string_view description;
  std::unique_ptr<PairSum> (*make)(const md::pair::PairData& data, const Function& function);
};

/// Returns all schemes. They know neither md::pair::LjModifier::pme nor pair potentials in place of Lennard-Jones.
std::span<const PairScheme> pair_schemes();

}  // namespace tessera::pair_schemes
