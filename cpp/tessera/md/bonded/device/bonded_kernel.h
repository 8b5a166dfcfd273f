// Declares what the kernel of bonded terms reads and writes. All pointers are to the device's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "tessera/md/bonded/cmap/cmap_surface.h"
#include "tessera/md/bonded/tables.h"
#include "tessera/model/bonded_kinds.h"

namespace tessera::md::bonded {

/// Energies and virial as EnergyVirial sums them.
struct BondedSums {
  std::int64_t energy[n_terms], energy_of_clashes[n_terms];
  std::int64_t virial[6], virial_of_clashes[6];
  std::int32_t n_limited;  // energies
};

/// Returns a row of a kind's table as kernels read it: that of processors, but where this has memory of its own.
template <class Kind>
using RowOnDevice = std::conditional_t<std::is_same_v<Kind, model::Cmap>, CmapSurface, typename Kernel<Kind>::Row>;

/// Tells whether a kind has a kernel of its own: CMAP corrections need more registers than all others.
template <class Kind>
inline constexpr bool has_own_kernel = std::is_same_v<Kind, model::Cmap>;

inline constexpr std::size_t n_kinds = std::tuple_size_v<model::BondedKinds>;

/// The terms of one kind.
struct TermsOnDevice {
  std::int32_t n;
  std::int32_t first_warp;        // that computes them, of its kernel; one has 32
  const std::int32_t* slots;      // (terms,arity)
  const std::int32_t* parameter;  // (terms)
  const void* rows;               // RowOnDevice<Kind>
};

struct BondedArguments {
  EdgesOfBox box;
  const Fraction* position;  // by slot
  const double* charge;      // by slot, e
  std::int64_t* total;       // (slots,3) force_unit
  BondedSums* sums;          // of the kernel with energies
  TermsOnDevice kinds[n_kinds];
};

}  // namespace tessera::md::bonded
