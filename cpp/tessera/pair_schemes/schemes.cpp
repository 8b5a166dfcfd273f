#include "tessera/pair_schemes/schemes.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>

#include "tessera/base/index.h"
#include "tessera/md/pair/exact_pairs.h"
#include "tessera/pair_schemes/cell_kernel.h"

namespace tessera::pair_schemes {

namespace {

using md::Accumulator, md::pair::ExactPairs, md::pair::PairData;
using md::pair::half_shell, md::pair::half_shell_shifts, md::pair::find_partner_cell;
using md::pair::list_rounding, md::pair::padding_distance;

/// Holds what both schemes share: atoms in their layout, forces by thread, and pairs left to double precision.
class CellSum : public PairSum {
 public:
  CellSum(const PairData& data, Layout layout, const Function& function)
      : data_(data), layout_(layout), force_(at(data.threads.size())), close_(at(data.threads.size())) {
    if (function.by_table) table_ = make_pair_table(data.settings, function.density);
    cells_.shift = half_shell_shifts(data.domain);
  }

  void rebuild() override;
  void update(bool make_list) override;
  void add_forces(std::span<Accumulator> by_thread) override;

 protected:
  virtual void make_lists() = 0;
  virtual void run_kernels() = 0;

  /// Calls function(thread, cell) for all cells that have pairs, as threads become free.
  template <class Function>
  void for_cells(Function&& function) {
    constexpr std::int32_t batch = 4;
    std::atomic<std::int32_t> next{0};
    const auto n = static_cast<std::int32_t>(cells_.begin.size());
    data_.threads.run([&](int thread) {
      for (auto first = next.fetch_add(batch); first < n; first = next.fetch_add(batch))
        for (auto cell = first; cell < std::min(first + batch, n); ++cell)
          if (cells_.end[at(cell)] > cells_.begin[at(cell)]) function(thread, cell);
    });
  }
  CellAtoms atoms() const {
    return {layout_,
            n_slots_,
            place_.data(),
            q_.data(),
            sigma_.data(),
            epsilon_.data(),
            reach_.data(),
            type_.data(),
            cells_,
            data_.exclusions,
            data_.table_pairs,
            data_.constants.constants,
            table_ ? &*table_ : nullptr};
  }
  float list_cutoff() const { return static_cast<float>(data_.settings.range() + list_rounding); }

  const PairData& data_;
  const Layout layout_;
  CellPairs cells_;
  std::vector<std::vector<std::int32_t>> force_;  // by thread: (3·slots) in the layout
  std::vector<std::vector<ClosePair>> close_;     // by thread

 private:
  std::size_t index(std::int64_t slot, std::int64_t d) const {
    return at(layout_ == Layout::array_of_structures ? 3 * slot + d : slot + d * n_slots_);
  }

  std::optional<PairTable> table_;
  std::int64_t n_slots_ = 0;  // including the spare ones
  std::vector<float> place_, q_, sigma_, epsilon_, reach_;
  std::vector<std::int32_t> type_;
};

void CellSum::rebuild() {
  const auto& domain = data_.domain;
  const auto n = domain.n_slots();
  n_slots_ = n + spare_slots;
  place_.assign(at(3 * n_slots_), padding_distance);
  q_.assign(at(n_slots_), 0);
  sigma_.assign(at(n_slots_), 0);
  epsilon_.assign(at(n_slots_), 0);
  reach_.assign(at(n_slots_), 0);
  type_.assign(at(n_slots_), 0);
  for (std::int32_t s = 0; s < n; ++s) {
    const auto& cluster = data_.clusters[at(s / cluster_size)];
    const auto k = at(s % cluster_size);
    q_[at(s)] = cluster.q[k];
    sigma_[at(s)] = cluster.sigma[k];
    epsilon_[at(s)] = cluster.epsilon[k];
    type_[at(s)] = std::max(0, data_.type[at(s)]);
  }
  const auto n_cells = at(domain.n_cells());
  cells_.begin.resize(n_cells);
  cells_.end.resize(n_cells);
  cells_.partner.resize(n_cells);
  data_.threads.parallel_for(domain.n_cells(), [&](std::int64_t first, std::int64_t last) {
    for (auto c = first; c < last; ++c) {
      const auto begin = domain.first_cluster(c) * cluster_size;
      auto end = domain.first_cluster(c + 1) * cluster_size;
      while (end > begin && domain.is_padding(end - 1)) --end;  // padding comes last
      cells_.begin[at(c)] = begin;
      cells_.end[at(c)] = end;
      for (std::size_t o = 0; o < n_neighbour_cells; ++o)
        cells_.partner[at(c)][o] = find_partner_cell(domain, static_cast<std::int32_t>(c), half_shell()[o]);
    }
  });
}

void CellSum::update(bool make_list) {
  data_.threads.parallel_for(static_cast<std::int64_t>(data_.clusters.size()),
                             [&](std::int64_t begin, std::int64_t end) {
                               for (auto c = begin; c < end; ++c) {
                                 const auto& cluster = data_.clusters[at(c)];
                                 for (std::int64_t k = 0; k < cluster_size; ++k) {
                                   const auto slot = c * cluster_size + k;
                                   place_[index(slot, 0)] = cluster.x[k];
                                   place_[index(slot, 1)] = cluster.y[k];
                                   place_[index(slot, 2)] = cluster.z[k];
                                 }
                               }
                             });
  if (!make_list) return;
  std::copy(data_.reach.begin(), data_.reach.end(), reach_.begin());
  make_lists();
}

void CellSum::add_forces(std::span<Accumulator> by_thread) {
  data_.threads.run([&](int thread) {
    force_[at(thread)].assign(at(3 * n_slots_), 0);
    close_[at(thread)].clear();
  });
  run_kernels();
  // Forces are converted from the layout and the kernels' unit to x y z of each slot in force_unit, summed over
  // threads.
  constexpr std::int64_t scale = static_cast<std::int64_t>(pair_force_unit / force_unit);
  data_.threads.run([&](int thread) {
    const std::int64_t n = data_.domain.n_slots(), n_threads = data_.threads.size();
    const auto total = by_thread[at(thread)].total;
    for (auto s = n * thread / n_threads; s < n * (thread + 1) / n_threads; ++s)
      for (std::int64_t d = 0; d < 3; ++d) {
        std::uint32_t sum = 0;
        for (const auto& force : force_) sum += static_cast<std::uint32_t>(force[index(s, d)]);
        add_fixed(total[at(3 * s + d)], scale * static_cast<std::int32_t>(sum));
      }
  });
  if (std::all_of(close_.begin(), close_.end(), [](const auto& list) { return list.empty(); })) return;
  const ExactPairs exact(data_);
  data_.threads.run([&](int thread) {
    for (const auto& pair : close_[at(thread)])
      exact.add(pair.i, pair.j, at(pair.offset), pair.is_excluded, ExactPairs::ExclusionEnergy::leave_out,
                by_thread[at(thread)]);
  });
}

class ListSum final : public CellSum {
 public:
  ListSum(const PairData& data, Layout layout, const Function& function)
      : CellSum(data, layout, function), lists_(at(data.threads.size())) {}

  std::int64_t n_evaluated() const override {
    std::int64_t n = 0;
    for (const auto& list : lists_) n += list.n;
    return n;
  }
  std::size_t list_bytes() const override {
    std::size_t n = 0;
    for (const auto& list : lists_) n += list.bytes();
    return n;
  }

 private:
  void make_lists() override {
    for (auto& list : lists_) {
      list.cell_pairs.clear();
      list.rows.clear();
      list.n = 0;
    }
    const auto all = atoms();
    for_cells([&](int thread, std::int32_t cell) { list_neighbours(all, cell, list_cutoff(), lists_[at(thread)]); });
    for (auto& list : lists_) {
      list.cell_pairs.push_back({0, static_cast<std::int32_t>(list.rows.size())});
      list.rows.push_back({-1, list.n, 0});
      list.neighbour.resize(std::max(list.neighbour.size(), at(list.n + spare_slots)));  // whole registers are read
    }
  }

  void run_kernels() override {
    struct Piece {
      const NeighbourList* list;
      std::size_t begin, end;
    };
    std::vector<Piece> pieces;
    for (const auto& list : lists_)
      for (std::size_t p = 0; p + 1 < list.cell_pairs.size(); p += n_neighbour_cells)
        pieces.push_back({&list, p, std::min(p + n_neighbour_cells, list.cell_pairs.size() - 1)});
    std::atomic<std::size_t> next{0};
    const auto all = atoms();
    data_.threads.run([&](int thread) {
      for (auto p = next++; p < pieces.size(); p = next++)
        add_listed_forces(all, *pieces[p].list, pieces[p].begin, pieces[p].end, force_[at(thread)].data(),
                          close_[at(thread)]);
    });
  }

  std::vector<NeighbourList> lists_;  // by the thread that made it
};

class CellFlagSum final : public CellSum {
 public:
  using CellSum::CellSum;

  std::int64_t n_evaluated() const override {
    std::int64_t n = 0;
    for (std::size_t c = 0; c < cells_.begin.size(); ++c)
      for (std::size_t o = 0; o < n_neighbour_cells; ++o) {
        const auto partner = cells_.partner[c][o];
        if (partner < 0) continue;
        for (auto i = cells_.begin[c]; i < cells_.end[c]; ++i)
          if (flags_[at(i)] >> o & 1) n += cells_.end[at(partner)] - (o == 0 ? i + 1 : cells_.begin[at(partner)]);
      }
    return n;
  }
  std::size_t list_bytes() const override { return flags_.capacity() * sizeof(NeighbourFlags); }

 private:
  void make_lists() override {
    flags_.resize(at(data_.domain.n_slots()));
    const auto all = atoms();
    for_cells([&](int, std::int32_t cell) { flag_neighbours(all, cell, list_cutoff(), flags_.data()); });
  }

  void run_kernels() override {
    const auto all = atoms();
    for_cells([&](int thread, std::int32_t cell) {
      add_flagged_forces(all, cell, flags_.data(), force_[at(thread)].data(), close_[at(thread)]);
    });
  }

  std::vector<NeighbourFlags> flags_;  // by slot
};

template <class Sum, Layout layout>
std::unique_ptr<PairSum> make(const PairData& data, const Function& function) {
  return std::make_unique<Sum>(data, layout, function);
}

constexpr auto aos = Layout::array_of_structures, soa = Layout::structure_of_arrays;
constexpr PairScheme schemes[] = {
    {"list_aos", "a list of neighbours per atom and cell; x y z of each atom together", make<ListSum, aos>},
    {"list_soa", "the same with x, y and z in arrays of their own", make<ListSum, soa>},
    {"cell_flag_aos", "one flag per atom and cell, whole cells evaluated; x y z of each atom together",
     make<CellFlagSum, aos>},
    {"cell_flag_soa", "the same with x, y and z in arrays of their own", make<CellFlagSum, soa>},
};

}  // namespace

std::span<const PairScheme> pair_schemes() { return schemes; }

}  // namespace tessera::pair_schemes
