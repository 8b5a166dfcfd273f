// Sorts atoms into cells on a device, in the order of sort_cell().
#pragma once

#include <limits>

#include "tessera/base/simd/lane/run.h"
#include "tessera/md/domain/device/search_kernel.h"
#include "tessera/md/domain/place-inl.h"
#include "tessera/md/domain/sort_cell.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::domain {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = tessera::simd::HWY_NAMESPACE;

using D = hn::Tag<float>;
using DI = hn::Tag<std::int32_t>;
using DU = hn::Tag<std::uint32_t>;
using V = hn::Vec<D>;
using VI = hn::Vec<DI>;
using VU = hn::Vec<DU>;
using M = hn::Mask<D>;
using simd::Integer;

/// A slot to a lane.
struct CellKernel {
  static constexpr int n_phases = 1, warps_of_block = 4, blocks_at_once = 8;
  using Arguments = CellArguments;
  struct Shared {};

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared&, const simd::Place& place) {
    simd::ForLanesOfAll(place, a.n_slots, [&](VI slot, M exists) HWY_ATTR {
      const VI atom = hn::GatherIndex(DI(), a.atom, slot);
      const M is_atom = hn::And(exists, hn::Ge(atom, Integer(0)));
      const VI key = hn::GatherIndex(DI(), a.key, hn::Max(atom, Integer(0)));
      const VI of_key = hn::Mul(hn::GatherIndex(DI(), a.slot_of, key), Integer(3));
      const VI x = Along(hn::GatherIndex(DI(), &a.position->x, of_key), a.grid[0]);
      const VI y = Along(hn::GatherIndex(DI(), &a.position->y, of_key), a.grid[1]);
      const VI z = Along(hn::GatherIndex(DI(), &a.position->z, of_key), a.grid[2]);
      const VI row = hn::Add(hn::Mul(x, Integer(a.grid[1])), y);
      const VI cell = hn::GatherIndex(DI(), a.cell_of_flat, hn::Add(hn::Mul(row, Integer(a.grid[2])), z));
      simd::Scatter(simd::CountAt(a.count, cell, is_atom), a.place, slot, exists);
      simd::Scatter(hn::IfThenElse(is_atom, cell, Integer(-1)), a.cell, slot, exists);
    });
  }

 private:
  /// Returns the product of a fraction and so many cells without what is beyond the point, as CellGrid::cell_of() does.
  static HWY_INLINE VI Along(VI fraction, std::int32_t cells) {
    const VU shifted = hn::Xor(hn::BitCast(DU(), fraction), hn::Set(DU(), 0x80000000u));
    const VU n = hn::Set(DU(), static_cast<std::uint32_t>(cells));
    const VU high = hn::Mul(hn::ShiftRight<16>(shifted), n),
             low = hn::ShiftRight<16>(hn::Mul(hn::And(shifted, hn::Set(DU(), 0xFFFF)), n));
    return hn::BitCast(DI(), hn::ShiftRight<16>(hn::Add(high, low)));
  }
};

/// A slot to a lane.
struct AtomsOfCellKernel {
  static constexpr int n_phases = 1, warps_of_block = 4, blocks_at_once = 8;
  using Arguments = AtomsOfCellArguments;
  struct Shared {};

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared&, const simd::Place& place) {
    simd::ForLanesOfAll(place, a.n_slots, [&](VI slot, M exists) HWY_ATTR {
      const VI cell = hn::GatherIndex(DI(), a.cell, slot);
      const M is_atom = hn::And(exists, hn::Ge(cell, Integer(0)));
      const VI first = hn::Mul(hn::GatherIndex(DI(), a.begin, hn::Max(cell, Integer(0))), Integer(cluster_size));
      simd::Scatter(slot, a.list, hn::Add(first, hn::GatherIndex(DI(), a.place, slot)), is_atom);
    });
  }
};

/// A cell to a block. Its atoms are in parts, which are cut until they have no more than a cluster. An atom's rank in its
/// part counts those that come before it, so that atoms need no order.
struct SortKernel {
  static constexpr int warps_of_block = 4, blocks_at_once = 8;
  using Arguments = SortArguments;
  struct Shared {
    float place[3][most_atoms_of_cell];  // Å
    std::int32_t atom[most_atoms_of_cell], source[most_atoms_of_cell];
    std::int32_t begin[most_atoms_of_cell], n[most_atoms_of_cell];  // of the part of each atom
    std::int32_t rank[3][most_atoms_of_cell];                       // in its part, along each direction
    std::int32_t direction[most_atoms_of_cell];                     // along which its part is cut
  };

  static HWY_INLINE int Phases(const Arguments&) { return 3 * most_cuts_of_cell + 2; }
  static HWY_INLINE void Run(const Arguments& a, Shared& shared, const simd::Place& place, int phase) {
    const Sorter sorter{a, shared, place, place.block};
    if (phase == 0) return sorter.Take();
    const int cut = (phase - 1) / 3;
    if (cut == most_cuts_of_cell) return sorter.Put();
    if (sorter.GreatestAfter(cut) <= cluster_size) return;
    if (phase % 3 == 1) return sorter.Rank();
    if (phase % 3 == 2) return sorter.Choose();
    sorter.Divide();
  }

 private:
  /// A box around some atoms.
  struct Extents {
    V low[3], high[3];

    HWY_INLINE Extents() {
      constexpr float infinity = std::numeric_limits<float>::infinity();
      HWY_UNROLL(3)
      for (int d = 0; d < 3; ++d) {
        low[d] = hn::Set(D(), infinity);
        high[d] = hn::Set(D(), -infinity);
      }
    }
    HWY_INLINE void Add(int d, V place, M is_in) {
      low[d] = hn::IfThenElse(hn::And(is_in, hn::Lt(place, low[d])), place, low[d]);
      high[d] = hn::IfThenElse(hn::And(is_in, hn::Gt(place, high[d])), place, high[d]);
    }
    HWY_INLINE V Along(int d) const { return hn::Sub(high[d], low[d]); }
    HWY_INLINE V Girth() const { return hn::Add(hn::Add(Along(0), Along(1)), Along(2)); }
  };

  struct Sorter {
    const Arguments& a;
    Shared& shared;
    const simd::Place& place;
    const std::int32_t cell;
    const std::int32_t first = cluster_size * a.begin[cell], n = a.count[cell];

    /// Returns the atoms of the greatest part after so many cuts. A part that has more than another leaves more in the greater
    /// of both sides.
    HWY_INLINE std::int32_t GreatestAfter(int cuts) const {
      std::int32_t greatest = n;
      for (int cut = 0; cut < cuts; ++cut) {
        const auto left = (greatest + cluster_size - 1) / cluster_size / 2 * cluster_size;
        greatest = left > greatest - left ? left : greatest - left;
      }
      return greatest;
    }

    /// Calls a function with the number of an atom in each lane and a mask of those that there are: this warp's share.
    template <class Function>
    HWY_INLINE void ForAtoms(Function function) const {
      simd::ForShare(place, n, function);
    }
    static HWY_INLINE VI Of(const std::int32_t* values, VI k) { return hn::GatherIndex(DI(), values, k); }
    /// Returns the atoms of the same part.
    HWY_INLINE M IsInPart(VI begin, std::int32_t j) const { return hn::Eq(begin, Integer(shared.begin[j])); }

    HWY_INLINE void Take() const {
      const Fraction centre = a.centre[cell];
      ForAtoms([&](VI k, M exists) HWY_ATTR {
        const VI source = Of(a.list + first, k), of_atom = hn::Mul(source, Integer(3));
        const auto apart = [&](const std::int32_t& of_first, std::int32_t of_centre) HWY_ATTR {
          return hn::ConvertTo(D(), hn::Sub(hn::GatherIndex(DI(), &of_first, of_atom), Integer(of_centre)));
        };
        const auto where = PlaceOf(D(), a.to_length, apart(a.position->x, centre.x), apart(a.position->y, centre.y),
                                   apart(a.position->z, centre.z));
        simd::Scatter(where.x, shared.place[0], k, exists);
        simd::Scatter(where.y, shared.place[1], k, exists);
        simd::Scatter(where.z, shared.place[2], k, exists);
        simd::Scatter(Of(a.atom, source), shared.atom, k, exists);
        simd::Scatter(source, shared.source, k, exists);
        simd::Scatter(Integer(0), shared.begin, k, exists);
        simd::Scatter(Integer(n), shared.n, k, exists);
      });
    }

    /// Finds the rank of each atom along each direction, and the first one in which its part is widest.
    HWY_INLINE void Rank() const {
      ForAtoms([&](VI k, M exists) HWY_ATTR {
        const VI begin = Of(shared.begin, k), atom = Of(shared.atom, k);
        V here[3];
        VI rank[3];
        Extents extents;
        HWY_UNROLL(3)
        for (int d = 0; d < 3; ++d) {
          here[d] = hn::GatherIndex(D(), shared.place[d], k);
          rank[d] = Integer(0);
        }
        for (std::int32_t j = 0; j < n; ++j) {
          const M is_in_part = IsInPart(begin, j), has_lower_id = hn::Lt(Integer(shared.atom[j]), atom);
          HWY_UNROLL(3)
          for (int d = 0; d < 3; ++d) {
            const V other = hn::Set(D(), shared.place[d][j]);
            const M is_before = hn::Or(hn::Lt(other, here[d]), hn::And(hn::Eq(other, here[d]), has_lower_id));
            rank[d] = hn::Add(rank[d], hn::IfThenElseZero(hn::And(is_in_part, is_before), Integer(1)));
            extents.Add(d, other, is_in_part);
          }
        }
        const M is_y = hn::Gt(extents.Along(1), extents.Along(0));
        const V wider = hn::IfThenElse(is_y, extents.Along(1), extents.Along(0));
        const VI of_two = hn::IfThenElseZero(is_y, Integer(1));
        simd::Scatter(hn::IfThenElse(hn::Gt(extents.Along(2), wider), Integer(2), of_two), shared.direction, k, exists);
        HWY_UNROLL(3)
        for (int d = 0; d < 3; ++d) simd::Scatter(rank[d], shared.rank[d], k, exists);
      });
    }

    /// Chooses for parts of two clusters the first direction in which a cut makes these smallest.
    HWY_INLINE void Choose() const {
      ForAtoms([&](VI k, M exists) HWY_ATTR {
        const VI begin = Of(shared.begin, k), size = Of(shared.n, k);
        const M has_two =
            hn::And(exists, hn::And(hn::Gt(size, Integer(cluster_size)), hn::Le(size, Integer(2 * cluster_size))));
        if (hn::AllFalse(DI(), has_two)) return;
        VI best = Integer(0);
        V least = hn::Set(D(), std::numeric_limits<float>::infinity());
        for (int cut = 0; cut < 3; ++cut) {
          Extents left, right;
          for (std::int32_t j = 0; j < n; ++j) {
            const M is_in_part = IsInPart(begin, j),
                    is_left = hn::Lt(Integer(shared.rank[cut][j]), Integer(cluster_size));
            HWY_UNROLL(3)
            for (int d = 0; d < 3; ++d) {
              const V other = hn::Set(D(), shared.place[d][j]);
              left.Add(d, other, hn::And(is_in_part, is_left));
              right.Add(d, other, hn::AndNot(is_left, is_in_part));
            }
          }
          const V sum = hn::Add(left.Girth(), right.Girth());
          const M is_better = hn::Lt(sum, least);
          best = hn::IfThenElse(is_better, Integer(cut), best);
          least = hn::IfThenElse(is_better, sum, least);
        }
        simd::Scatter(best, shared.direction, k, has_two);
      });
    }

    /// Cuts parts with more atoms than a cluster. The left side gets a whole number of clusters.
    HWY_INLINE void Divide() const {
      ForAtoms([&](VI k, M exists) HWY_ATTR {
        const VI begin = Of(shared.begin, k), size = Of(shared.n, k), direction = Of(shared.direction, k);
        const VI rank =
            hn::GatherIndex(DI(), shared.rank[0], hn::Add(hn::Mul(direction, Integer(most_atoms_of_cell)), k));
        const VI clusters = hn::ShiftRight<2>(hn::Add(size, Integer(cluster_size - 1)));
        const VI left = hn::ShiftLeft<2>(hn::ShiftRight<1>(clusters));
        const M is_cut = hn::And(exists, hn::Gt(size, Integer(cluster_size))), is_left = hn::Lt(rank, left);
        simd::Scatter(hn::IfThenElse(is_left, begin, hn::Add(begin, left)), shared.begin, k, is_cut);
        simd::Scatter(hn::IfThenElse(is_left, left, hn::Sub(size, left)), shared.n, k, is_cut);
      });
    }

    /// Writes atoms to their slots, in the order of their numbers within a cluster.
    HWY_INLINE void Put() const {
      ForAtoms([&](VI k, M exists) HWY_ATTR {
        const VI begin = Of(shared.begin, k), atom = Of(shared.atom, k), source = Of(shared.source, k);
        VI slot = hn::Add(begin, Integer(first));
        for (std::int32_t j = 0; j < n; ++j) {
          const M is_before = hn::And(IsInPart(begin, j), hn::Lt(Integer(shared.atom[j]), atom));
          slot = hn::Add(slot, hn::IfThenElseZero(is_before, Integer(1)));
        }
        simd::Scatter(slot, a.slot, source, exists);
        simd::Scatter(slot, a.slot_of, atom, exists);
        PutAt(slot, source, atom, exists, [&](const std::int32_t& of_first, std::int32_t) HWY_ATTR {
          return hn::GatherIndex(DI(), &of_first, hn::Mul(source, Integer(3)));
        });
      });
      if (place.warp == 0) PutPadding();
    }

    /// Fills the last cluster, and tells clusters their cell.
    HWY_INLINE void PutPadding() const {
      const std::int32_t n_clusters = (n + cluster_size - 1) / cluster_size;
      const VI slot = hn::Add(simd::LaneNumbers(), Integer(first + n));
      PutAt(slot, Integer(-1), Integer(-1), hn::Lt(slot, Integer(first + cluster_size * n_clusters)),
            [](const std::int32_t&, std::int32_t of_centre) HWY_ATTR { return Integer(of_centre); });
      for (std::int32_t begin = 0; begin < n_clusters; begin += hn::warp_size) {
        const VI cluster = hn::Add(simd::LaneNumbers(), Integer(begin));
        simd::Scatter(Integer(cell), a.cell_of + a.begin[cell], cluster, hn::Lt(cluster, Integer(n_clusters)));
      }
    }

    template <class Component>
    HWY_INLINE void PutAt(VI slot, VI source, VI atom, M exists, const Component& component) const {
      const Fraction centre = a.centre[cell];
      simd::Scatter(source, a.source, slot, exists);
      simd::Scatter(atom, a.next_atom, slot, exists);
      const VI x = component(a.position->x, centre.x), y = component(a.position->y, centre.y),
               z = component(a.position->z, centre.z);
      const VI to = hn::Mul(slot, Integer(3));
      for (auto* next : {a.next_position, a.next_reference}) {
        simd::Scatter(x, &next->x, to, exists);
        simd::Scatter(y, &next->y, to, exists);
        simd::Scatter(z, &next->z, to, exists);
      }
    }
  };
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::domain
HWY_AFTER_NAMESPACE();
