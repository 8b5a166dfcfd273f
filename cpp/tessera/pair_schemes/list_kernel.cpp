// Implements algorithms 1 and 2: there is a list of neighbours for each atom and cell, and their coordinates are
// gathered. Each pair is rounded to integers, so that neither the order nor the rest of the list changes a bit.
#include "tessera/pair_schemes/cell_kernel.h"

#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/pair_schemes/list_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/base/simd/compress-inl.h"
#include "tessera/pair_schemes/cell_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::pair_schemes {
namespace HWY_NAMESPACE {

/// Puts the excluded ones among a row's `n` neighbours first and counts them. Without a mesh they do not interact and
/// are dropped.
std::int32_t SortExcluded(const CellAtoms& atoms, std::int32_t i, std::int32_t* row, std::int32_t& n) {
  std::int32_t n_excluded = 0;
  for_excluded(atoms.excluded, i, [&](std::int32_t partner) {
    if (n == n_excluded || partner < row[n_excluded] || partner > row[n - 1]) return;
    auto* found = std::find(row + n_excluded, row + n, partner);
    if (found == row + n) return;
    if (atoms.constants.electrostatics == Electrostatics::pme)
      std::rotate(row + n_excluded, found, found + 1), ++n_excluded;
    else
      std::rotate(found, found + 1, row + n), --n;
  });
  return n_excluded;
}

template <Layout layout>
void ListCell(const CellAtoms& atoms, std::int32_t cell, float cutoff, NeighbourList& list) {
  const auto& cells = atoms.cells;
  const auto c = static_cast<std::size_t>(cell);
  const VI iota = hn::Iota(DI(), 0);
  for (std::size_t o = 0; o < n_neighbour_cells; ++o) {
    const auto partner = cells.partner[c][o];
    if (partner < 0) continue;
    const auto begin = cells.begin[static_cast<std::size_t>(partner)],
               end = cells.end[static_cast<std::size_t>(partner)];
    const auto first_row = static_cast<std::int32_t>(list.rows.size());
    for (auto i = cells.begin[c]; i < cells.end[c]; ++i) {
      const auto room = static_cast<std::size_t>(list.n) + static_cast<std::size_t>(end - begin) + width;
      if (list.neighbour.size() < room) list.neighbour.resize(room + room / 2);
      auto* row = list.neighbour.data() + list.n;
      std::int32_t n = 0;
      FindNear<layout>(atoms, i, cells.shift[o], cutoff, o == 0 ? i + 1 : begin, end, [&](std::int32_t j, M near) {
        const VI slots = hn::Add(iota, hn::Set(DI(), j));
        // Compressing in a register is faster on some processors than compressing straight to memory.
        const auto bits = simd::BitsOf(D(), near);
        hn::StoreU(simd::CompressByBits(DI(), slots, bits), DI(), row + n);
        n += static_cast<std::int32_t>(std::popcount(bits));
        return true;
      });
      if (n == 0) continue;
      const auto n_excluded = SortExcluded(atoms, i, row, n);
      list.rows.push_back({i, list.n, n_excluded});
      list.n += n;
    }
    if (static_cast<std::int32_t>(list.rows.size()) > first_row)
      list.cell_pairs.push_back({static_cast<std::int32_t>(o), first_row});
  }
}

void ListNeighbours(const CellAtoms& atoms, std::int32_t cell, float cutoff, NeighbourList& list) {
  WithLayout(atoms, [&](auto layout) { ListCell<decltype(layout)::value>(atoms, cell, cutoff, list); });
}

template <class Function, Layout layout>
void RunList(const CellAtoms& atoms, const NeighbourList& list, std::size_t first_pair, std::size_t last_pair,
             std::int32_t* force, std::vector<ClosePair>& close) {
  const VI spare = hn::Iota(DI(), static_cast<std::int32_t>(atoms.n_slots) - spare_slots);
  IAtom i;
  ForceSum sum;
  for (auto p = first_pair; p < last_pair; ++p) {
    const auto& pair = list.cell_pairs[p];
    const auto& shift = atoms.cells.shift[static_cast<std::size_t>(pair.offset)];
    for (auto r = pair.row_begin; r < list.cell_pairs[p + 1].row_begin; ++r) {
      const auto& row = list.rows[static_cast<std::size_t>(r)];
      const auto end = list.rows[static_cast<std::size_t>(r) + 1].begin;
      i.Load<layout>(atoms, row.slot, shift);
      sum.Clear();
      for (auto j = row.begin; j < end; j += width) {
        const auto* slots = list.neighbour.data() + j;
        const M within = FirstLanes(end - j), excluded = FirstLanes(row.begin + row.n_excluded - j);
        const Indexed<layout> atoms_j = {hn::IfThenElse(hn::RebindMask(DI(), within), hn::LoadU(DI(), slots), spare)};
        const M too_close = AddPairs<Function>(atoms, i, atoms_j, within, excluded, force, sum);
        if (HWY_UNLIKELY(!hn::AllFalse(D(), too_close)))
          NameClose(row.slot, atoms_j.slots, too_close, excluded, pair.offset, close);
      }
      AddIForce<layout>(atoms, sum, row.slot, force);
    }
  }
}

void AddListedForces(const CellAtoms& atoms, const NeighbourList& list, std::size_t begin, std::size_t end,
                     std::int32_t* force, std::vector<ClosePair>& close) {
  [[maybe_unused]] const FlushDenormals flush;
  Dispatch(atoms, [&](auto function, auto layout) {
    RunList<decltype(function), decltype(layout)::value>(atoms, list, begin, end, force, close);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::pair_schemes
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::pair_schemes {

HWY_EXPORT(ListNeighbours);
HWY_EXPORT(AddListedForces);

void list_neighbours(const CellAtoms& atoms, std::int32_t cell, float cutoff, NeighbourList& list) {
  HWY_DYNAMIC_DISPATCH(ListNeighbours)(atoms, cell, cutoff, list);
}

void add_listed_forces(const CellAtoms& atoms, const NeighbourList& list, std::size_t begin, std::size_t end,
                       std::int32_t* force, std::vector<ClosePair>& close) {
  HWY_DYNAMIC_DISPATCH(AddListedForces)(atoms, list, begin, end, force, close);
}

std::size_t NeighbourList::bytes() const {
  return cell_pairs.capacity() * sizeof(CellPair) + rows.capacity() * sizeof(NeighbourRow) +
         neighbour.capacity() * sizeof(std::int32_t);
}

}  // namespace tessera::pair_schemes
#endif
