// Implements algorithms 3 and 4: there is one flag for each atom and cell, and a flagged atom meets all atoms of the
// cell, which are contiguous in memory. Each pair is rounded to integers, so that the order changes no bit.
#include "tessera/pair_schemes/cell_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/pair_schemes/flag_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/pair_schemes/cell_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::pair_schemes {
namespace HWY_NAMESPACE {

static_assert(n_neighbour_cells <= 8 * sizeof(NeighbourFlags));

template <Layout layout>
void FlagCell(const CellAtoms& atoms, std::int32_t cell, float cutoff, NeighbourFlags* flags) {
  const auto& cells = atoms.cells;
  const auto c = static_cast<std::size_t>(cell);
  for (auto i = cells.begin[c]; i < cells.end[c]; ++i) flags[i] = 0;
  for (std::size_t o = 0; o < n_neighbour_cells; ++o) {
    const auto partner = cells.partner[c][o];
    if (partner < 0) continue;
    const auto begin = cells.begin[static_cast<std::size_t>(partner)],
               end = cells.end[static_cast<std::size_t>(partner)];
    for (auto i = cells.begin[c]; i < cells.end[c]; ++i)
      FindNear<layout>(atoms, i, cells.shift[o], cutoff, o == 0 ? i + 1 : begin, end, [&](std::int32_t, M) {
        flags[i] |= NeighbourFlags{1} << o;
        return false;
      });
  }
}

void FlagNeighbours(const CellAtoms& atoms, std::int32_t cell, float cutoff, NeighbourFlags* flags) {
  WithLayout(atoms, [&](auto layout) { FlagCell<decltype(layout)::value>(atoms, cell, cutoff, flags); });
}

/// Finds the excluded atoms of a row, a register's mask at a time.
class ExcludedOfRow {
 public:
  HWY_INLINE void Find(const CellAtoms& atoms, std::int32_t i, std::int32_t begin, std::int32_t end) {
    slots_.clear();
    for_excluded(atoms.excluded, i, [&](std::int32_t j) {
      if (j >= begin && j < end) slots_.push_back(j);
    });
  }
  HWY_INLINE M Mask(std::int32_t first) const {
    if (HWY_LIKELY(slots_.empty())) return FirstLanes(0);
    std::uint8_t bits[8] = {};
    for (const auto slot : slots_)
      if (slot >= first && slot < first + width)
        bits[(slot - first) / 8] = static_cast<std::uint8_t>(bits[(slot - first) / 8] | 1u << ((slot - first) % 8));
    return hn::LoadMaskBits(D(), bits);
  }

 private:
  std::vector<std::int32_t> slots_;
};

template <class Function, Layout layout>
void RunFlags(const CellAtoms& atoms, std::int32_t cell, const NeighbourFlags* flags, std::int32_t* force,
              std::vector<ClosePair>& close) {
  const auto& cells = atoms.cells;
  const auto c = static_cast<std::size_t>(cell);
  IAtom i;
  ForceSum sum;
  ExcludedOfRow excluded_of_row;
  for (std::size_t o = 0; o < n_neighbour_cells; ++o) {
    const auto partner = cells.partner[c][o];
    if (partner < 0) continue;
    const auto end = cells.end[static_cast<std::size_t>(partner)];
    for (auto slot = cells.begin[c]; slot < cells.end[c]; ++slot) {
      if ((flags[slot] >> o & 1) == 0) continue;
      const auto begin = o == 0 ? slot + 1 : cells.begin[static_cast<std::size_t>(partner)];
      i.Load<layout>(atoms, slot, cells.shift[o]);
      sum.Clear();
      excluded_of_row.Find(atoms, slot, begin, end);
      for (auto j = begin; j < end; j += width) {
        const M within = FirstLanes(end - j), excluded = excluded_of_row.Mask(j);
        const Consecutive<layout> atoms_j = {j};
        const M too_close = AddPairs<Function>(atoms, i, atoms_j, within, excluded, force, sum);
        if (HWY_UNLIKELY(!hn::AllFalse(D(), too_close)))
          NameClose(slot, hn::Iota(DI(), j), too_close, excluded, static_cast<std::int32_t>(o), close);
      }
      AddIForce<layout>(atoms, sum, slot, force);
    }
  }
}

void AddFlaggedForces(const CellAtoms& atoms, std::int32_t cell, const NeighbourFlags* flags, std::int32_t* force,
                      std::vector<ClosePair>& close) {
  [[maybe_unused]] const FlushDenormals flush;
  Dispatch(atoms, [&](auto function, auto layout) {
    RunFlags<decltype(function), decltype(layout)::value>(atoms, cell, flags, force, close);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::pair_schemes
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::pair_schemes {

HWY_EXPORT(FlagNeighbours);
HWY_EXPORT(AddFlaggedForces);

void flag_neighbours(const CellAtoms& atoms, std::int32_t cell, float cutoff, NeighbourFlags* flags) {
  HWY_DYNAMIC_DISPATCH(FlagNeighbours)(atoms, cell, cutoff, flags);
}

void add_flagged_forces(const CellAtoms& atoms, std::int32_t cell, const NeighbourFlags* flags, std::int32_t* force,
                        std::vector<ClosePair>& close) {
  HWY_DYNAMIC_DISPATCH(AddFlaggedForces)(atoms, cell, flags, force, close);
}

}  // namespace tessera::pair_schemes
#endif
