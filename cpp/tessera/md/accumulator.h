// What force routines add to: forces of local atoms, energies by term, the virial; all in fixed point, one accumulator
// a thread, so that the sum does not depend on threads, ranks or order.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/base/fixed_point.h"
#include "tessera/md/uninitialised_vector.h"

namespace tessera::md {

/// Energy terms by the names that people see, in the order of reports.
enum class Term : int {
  bond,
  angle,
  urey_bradley,
  dihedral,
  improper,
  cmap,
  lj,
  lj_14,
  lj_tail,
  lj_mesh,
  coulomb_real,
  coulomb_14,
  coulomb_reciprocal,
  coulomb_exclusion,
  coulomb_self,
  coulomb_background,
  external,
  restraint
};
inline constexpr int n_terms = 18;
inline constexpr std::array<std::string_view, n_terms> term_names = {"bond",
                                                                     "angle",
                                                                     "urey_bradley",
                                                                     "dihedral",
                                                                     "improper",
                                                                     "cmap",
                                                                     "lj",
                                                                     "lj_14",
                                                                     "lj_tail",
                                                                     "lj_mesh",
                                                                     "coulomb_real",
                                                                     "coulomb_14",
                                                                     "coulomb_reciprocal",
                                                                     "coulomb_exclusion",
                                                                     "coulomb_self",
                                                                     "coulomb_background",
                                                                     "external",
                                                                     "restraint"};

/// Two atoms so close that the force between them was limited.
struct ClashingAtoms {
  double distance;         // Å
  std::int64_t id, other;  // of the atoms

  auto operator<=>(const ClashingAtoms&) const = default;
};

/// The nearest of the pairs that clash, and how many there are.
struct Clashes {
  static constexpr std::size_t most_named = 5;
  std::vector<ClashingAtoms> nearest;  // in rising order
  std::int64_t count = 0;
  bool is_energy_limited = false;

  void add(const ClashingAtoms& clash) {
    ++count;
    nearest.insert(std::upper_bound(nearest.begin(), nearest.end(), clash), clash);
    if (nearest.size() > most_named) nearest.pop_back();
  }
  void merge(const Clashes& other) {
    const auto sum = count + other.count;
    for (const auto& clash : other.nearest) add(clash);
    count = sum;
    is_energy_limited |= other.is_energy_limited;
  }
};

/// What energies of atoms that clash are split at, kcal/mol: whole multiples are summed apart.
inline constexpr double large_energy = 1048576;
/// No contribution counts as more, kcal/mol: the pair of atoms is 0.1 Å apart or less.
inline constexpr double energy_limit = 1152921504606846976;
/// A virial that is summed from integer places and forces is exact in this unit, kcal/mol, finer than energy_unit by so
/// many bits.
inline constexpr int exact_virial_bits = 10;
inline constexpr double exact_virial_unit = energy_unit / (1 << exact_virial_bits);

__extension__ using WideInteger = __int128;

/// Fixed-point energies and virial: W = Σ r⊗F over interactions, components xx yy zz xy xz yz (xy: r_x F_y); for a
/// pair, r = r_i − r_j and F the force on i. Pressure = (2K + tr W)/3V.
struct EnergyVirial {
  std::array<std::int64_t, n_terms> energy{};  // units of energy_unit; and in units of large_energy:
  std::array<std::int64_t, n_terms> energy_of_clashes{};
  std::array<std::int64_t, 6> virial{};
  std::array<std::int64_t, 6> virial_of_clashes{};
  std::array<std::int64_t, 6> virial_remainder{};  // in units of exact_virial_unit
  Clashes clashes;

  void add(Term term, double value) {
    const auto t = static_cast<std::size_t>(term);
    if (!add_split(energy[t], energy_of_clashes[t], value)) clashes.is_energy_limited = true;
  }
  void add_virial(std::size_t component, double value) {
    add_split(virial[component], virial_of_clashes[component], value);
  }
  void add_virial(const Vec3& r, const Vec3& f) {
    add_virial(0, r.x * f.x);
    add_virial(1, r.y * f.y);
    add_virial(2, r.z * f.z);
    add_virial(3, r.x * f.y);
    add_virial(4, r.x * f.z);
    add_virial(5, r.y * f.z);
  }
  /// Adds a value in units of exact_virial_unit without rounding it.
  void add_exact_virial(std::size_t component, std::int64_t value) {
    add_fixed(virial[component], value >> exact_virial_bits);
    add_fixed(virial_remainder[component], value & ((std::int64_t{1} << exact_virial_bits) - 1));
  }
  /// Returns the energy of a term, kcal/mol. It is rounded once, however contributions were split: a device splits sums
  /// of other entries than a processor.
  double operator[](Term term) const {
    const auto t = static_cast<std::size_t>(term);
    constexpr std::int64_t large = std::int64_t{1} << 48;  // energy_unit
    static_assert(large_energy == energy_unit * large);
    return static_cast<double>(WideInteger{energy_of_clashes[t]} * large + energy[t]) * energy_unit;
  }
  void merge(const EnergyVirial& other) {
    for (std::size_t i = 0; i < energy.size(); ++i) {
      add_fixed(energy[i], other.energy[i]);
      add_fixed(energy_of_clashes[i], other.energy_of_clashes[i]);
    }
    for (std::size_t i = 0; i < virial.size(); ++i) {
      add_fixed(virial[i], other.virial[i]);
      add_fixed(virial_of_clashes[i], other.virial_of_clashes[i]);
      add_fixed(virial_remainder[i], other.virial_remainder[i]);
    }
    clashes.merge(other.clashes);
  }

 private:
  /// Adds a value, and returns false where it (or NaN) had to be limited.
  static bool add_split(std::int64_t& sum, std::int64_t& of_clashes, double value) {
    if (std::abs(value) < large_energy) {
      add_fixed(sum, to_fixed(value, energy_unit));
      return true;
    }
    const bool fits = std::abs(value) <= energy_limit;
    if (!fits) value = value < 0 ? -energy_limit : energy_limit;
    const double whole = std::trunc(value / large_energy);
    add_fixed(of_clashes, static_cast<std::int64_t>(whole));
    add_fixed(sum, to_fixed(value - whole * large_energy, energy_unit));
    return fits;
  }
};

/// Forces on a few of many slots: a block of slots is cleared, and takes memory, when first added to.
class SparseForces {
 public:
  static constexpr std::size_t block_slots = 64, block_values = 3 * block_slots;

  void resize(std::size_t slots) {
    is_touched_.assign((slots + block_slots - 1) / block_slots, 0);
    force_.clear();  // nothing to be moved into more room
    force_.resize(is_touched_.size() * block_values);
  }
  void clear() { std::fill(is_touched_.begin(), is_touched_.end(), std::uint8_t{0}); }
  std::size_t n_blocks() const { return is_touched_.size(); }

  /// Returns x y z of a slot, units of force_unit.
  std::int64_t* of(std::int32_t slot) {
    const auto at = static_cast<std::size_t>(slot);
    if (!is_touched_[at / block_slots]) touch(at / block_slots);
    return force_.data() + 3 * at;
  }
  /// Adds one block to the forces of all slots, of it the values [begin, end).
  void add_block_to(std::span<std::int64_t> total, std::size_t block, std::size_t begin, std::size_t end) const {
    if (!is_touched_[block]) return;
    const std::size_t last = std::min(end, (block + 1) * block_values);
    for (std::size_t i = std::max(begin, block * block_values); i < last; ++i) add_fixed(total[i], force_[i]);
  }
  /// Returns the bytes of the blocks in use now.
  std::size_t bytes() const {
    const auto n = static_cast<std::size_t>(std::count(is_touched_.begin(), is_touched_.end(), std::uint8_t{1}));
    return n * block_values * sizeof(std::int64_t) + is_touched_.capacity();
  }

 private:
  void touch(std::size_t block) {
    std::fill_n(force_.data() + block * block_values, block_values, 0);
    is_touched_[block] = 1;
  }

  UninitialisedVector<std::int64_t> force_;
  std::vector<std::uint8_t> is_touched_;  // by block
};

/// What one thread adds to: forces of every local slot (owned and halo), and energies where asked for.
struct Accumulator {
  Accumulator() = default;
  /// Adds to `total` alone where `own` is null: no other thread adds to it meanwhile.
  Accumulator(std::span<std::int64_t> all_threads, EnergyVirial* sums, SparseForces* of_thread = nullptr)
      : total(all_threads), own(of_thread), energies(sums) {}

  bool sums_pair_energies() const { return energies != nullptr && needs_pair_energies; }

  std::span<std::int64_t> total;     // (3·slots) x y z, units of force_unit; of all threads: each adds to other slots
  SparseForces* own = nullptr;       // of this thread, for slots that others add to as well
  EnergyVirial* energies = nullptr;  // null: forces only
  bool needs_pair_energies = true;   // false: of the pairs, only the virial is needed beside forces

  std::int64_t* force_of(std::int32_t slot) {
    return own != nullptr ? own->of(slot) : &total[3 * static_cast<std::size_t>(slot)];
  }
  void add_force(std::int32_t slot, const Vec3& f) { add_fixed_force(force_of(slot), f); }
  /// Adds a force where no other thread adds to this slot meanwhile.
  void add_force_alone(std::int32_t slot, const Vec3& f) {
    add_fixed_force(&total[3 * static_cast<std::size_t>(slot)], f);
  }
};

}  // namespace tessera::md
