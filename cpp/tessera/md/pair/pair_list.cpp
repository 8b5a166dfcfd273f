#include "tessera/md/pair/pair_list.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/md/pair/cluster_distance.h"

namespace tessera::md::pair {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// One offset of the half shell: j-cell = i-cell + offset, midpoint cell = i-cell + midpoint.
struct Offset {
  Index3 cell, midpoint;
};

std::int64_t floor_half(std::int64_t v) { return v >= 0 ? v / 2 : -((-v + 1) / 2); }

/// Half of the 5 × 5 × 5 neighbourhood, the cell itself first.
std::vector<Offset> half_shell() {
  std::vector<Offset> offsets;
  for (std::int64_t x = 0; x <= 2; ++x)
    for (std::int64_t y = -2; y <= 2; ++y)
      for (std::int64_t z = -2; z <= 2; ++z) {
        if (x == 0 && (y < 0 || (y == 0 && z < 0))) continue;
        offsets.push_back({{x, y, z}, {floor_half(x), floor_half(y), floor_half(z)}});
      }
  return offsets;
}

/// Bits of one atom pair in a mask.
std::uint16_t bit(int i, int j) { return static_cast<std::uint16_t>(1u << (4 * i + j)); }

class Builder {
 public:
  Builder(const domain::Domain& domain, std::span<const ClusterData> clusters, const ExcludedSlots& excluded,
          const TablePairs& table, std::span<const std::int32_t> type, double range)
      : domain_(domain),
        clusters_(clusters),
        excluded_(excluded),
        table_(table),
        type_(type),
        range_(range),
        offsets_(half_shell()) {}

  void set_shifts(PairList& list) const {
    list.shifts.clear();
    const auto& edge = domain_.grid().edge;
    for (const auto& offset : offsets_)
      list.shifts.push_back({static_cast<float>(static_cast<double>(offset.cell[0]) * edge[0]),
                             static_cast<float>(static_cast<double>(offset.cell[1]) * edge[1]),
                             static_cast<float>(static_cast<double>(offset.cell[2]) * edge[2])});
  }

  /// Boxes around clusters and around cells. Empty cells have boxes that nothing is near.
  void set_bounds(ThreadPool& threads) {
    bounds_.resize(clusters_.size());
    cell_bounds_.resize(at(domain_.n_cells()));
    threads.parallel_for(domain_.n_cells(), [&](std::int64_t begin, std::int64_t end) {
      for (auto cell = begin; cell < end; ++cell) {
        auto& whole = cell_bounds_[at(cell)];
        whole = {{1e30f, 1e30f, 1e30f}, {-1e30f, -1e30f, -1e30f}};
        for (auto c = domain_.cell_begin[at(cell)]; c < domain_.cell_begin[at(cell) + 1]; ++c) {
          std::array<float, 3> lower = {1e30f, 1e30f, 1e30f}, upper = {-1e30f, -1e30f, -1e30f};
          for (int k = 0; k < cluster_size; ++k) {
            if (domain_.is_padding(c * cluster_size + k)) continue;
            const float r[3] = {clusters_[at(c)].x[k], clusters_[at(c)].y[k], clusters_[at(c)].z[k]};
            for (std::size_t d = 0; d < 3; ++d) {
              lower[d] = std::min(lower[d], r[d]);
              upper[d] = std::max(upper[d], r[d]);
            }
          }
          for (std::size_t d = 0; d < 3; ++d) {
            bounds_.lower[d][at(c)] = lower[d];
            bounds_.upper[d][at(c)] = upper[d];
            whole.lower[d] = std::min(whole.lower[d], lower[d]);
            whole.upper[d] = std::max(whole.upper[d], upper[d]);
          }
        }
      }
    });
  }

  /// All segments of the i-clusters of one local cell.
  void add_cell(std::int32_t cell, const PairList& list, PairListPart& part, std::vector<std::int32_t>& stamp,
                std::vector<std::int32_t>& near) const {
    const auto& grid = domain_.grid();
    const Index3 here = domain_.cell[at(cell)];
    const auto i_begin = domain_.cell_begin[at(cell)], i_end = domain_.cell_begin[at(cell) + 1];
    if (i_begin == i_end) return;
    // The j-cells whose pair with this cell is ours.
    std::int32_t j_cells[63];
    for (std::size_t o = 0; o < offsets_.size(); ++o) {
      const auto& offset = offsets_[o];
      const Index3 middle =
          grid.wrapped({here[0] + offset.midpoint[0], here[1] + offset.midpoint[1], here[2] + offset.midpoint[2]});
      j_cells[o] = -1;
      if (!domain_.brick().contains(middle)) continue;
      j_cells[o] = domain_.local_cell(
          grid.wrapped({here[0] + offset.cell[0], here[1] + offset.cell[1], here[2] + offset.cell[2]}));
      TESSERA_ASSERT(j_cells[o] >= 0);
    }
    const float range2 = static_cast<float>(range_ * range_);
    for (auto ci = i_begin; ci < i_end; ++ci) {
      mark_partners(ci, stamp);
      const auto first_segment = part.segments.size();
      for (std::size_t o = 0; o < offsets_.size(); ++o) {
        if (j_cells[o] < 0) continue;
        const bool same_cell = o == 0;
        const auto begin = same_cell ? ci : domain_.cell_begin[at(j_cells[o])];
        const auto end = domain_.cell_begin[at(j_cells[o]) + 1];
        near.resize(std::max(near.size(), at(end - begin + 1)));
        if (!is_near_cell(ci, list.shifts[o], j_cells[o], range2)) continue;
        const auto found =
            find_near_clusters(ci, list.shifts[o].data(), clusters_.data(), bounds_, begin, end, range2, near.data());
        if (found == 0) continue;
        Segment segment{ci,
                        static_cast<std::int32_t>(o),
                        static_cast<std::int32_t>(part.masked.size()),
                        0,
                        static_cast<std::int32_t>(part.plain.size()),
                        0};
        for (std::int32_t k = 0; k < found; ++k) add_entry(ci, near[at(k)], same_cell, stamp, part);
        segment.masked_end = static_cast<std::int32_t>(part.masked.size());
        segment.plain_end = static_cast<std::int32_t>(part.plain.size());
        part.segments.push_back(segment);
      }
      if (part.segments.size() > first_segment) part.cluster_begin.push_back(static_cast<std::int32_t>(first_segment));
    }
  }

 private:
  struct CellBounds {
    std::array<float, 3> lower, upper;
  };

  bool is_near_cell(std::int32_t ci, const std::array<float, 3>& shift, std::int32_t cell, float range2) const {
    const auto& box = cell_bounds_[at(cell)];
    float gap2 = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      const float gap = std::max({bounds_.lower[d][at(ci)] - shift[d] - box.upper[d],
                                  box.lower[d] - (bounds_.upper[d][at(ci)] - shift[d]), 0.0f});
      gap2 += gap * gap;
    }
    return gap2 < range2;
  }

  /// Stamps the clusters that hold an excluded partner of cluster ci.
  void mark_partners(std::int32_t ci, std::vector<std::int32_t>& stamp) const {
    for (auto s = ci * cluster_size; s < (ci + 1) * cluster_size; ++s)
      for (auto k = excluded_.begin[at(s)]; k < excluded_.begin[at(s) + 1]; ++k)
        stamp[at(excluded_.partner[at(k)] / cluster_size)] = ci;
  }

  void add_entry(std::int32_t ci, std::int32_t cj, bool same_cell, const std::vector<std::int32_t>& stamp,
                 PairListPart& part) const {
    const bool diagonal = same_cell && ci == cj;
    const bool by_table = table_.any && needs_table(ci, cj);
    if (!diagonal && !by_table && stamp[at(cj)] != ci) {
      part.plain.push_back(cj);
      return;
    }
    std::uint16_t valid = 0xFFFF, excluded = 0;
    if (diagonal) {
      valid = 0;
      for (int i = 0; i < 4; ++i)
        for (int j = i + 1; j < 4; ++j) valid |= bit(i, j);
    }
    if (stamp[at(cj)] == ci)
      for (int i = 0; i < 4; ++i) {
        const auto s = at(ci * cluster_size + i);
        for (auto k = excluded_.begin[s]; k < excluded_.begin[s + 1]; ++k)
          if (excluded_.partner[at(k)] / cluster_size == cj)
            excluded |= bit(i, excluded_.partner[at(k)] % cluster_size);
      }
    excluded &= valid;
    part.masked.push_back({cj, static_cast<std::uint16_t>(valid & ~excluded), excluded, by_table});
  }

  bool needs_table(std::int32_t ci, std::int32_t cj) const {
    for (auto i = ci * cluster_size; i < (ci + 1) * cluster_size; ++i)
      for (auto j = cj * cluster_size; j < (cj + 1) * cluster_size; ++j)
        if (type_[at(i)] >= 0 && type_[at(j)] >= 0 &&
            table_.needs_table[at(type_[at(i)]) * at(table_.n_types) + at(type_[at(j)])])
          return true;
    return false;
  }

  const domain::Domain& domain_;
  std::span<const ClusterData> clusters_;
  const ExcludedSlots& excluded_;
  const TablePairs& table_;
  std::span<const std::int32_t> type_;
  double range_;
  std::vector<Offset> offsets_;
  ClusterBounds bounds_;
  std::vector<CellBounds> cell_bounds_;
};

}  // namespace

void PairListPart::clear() {
  segments.clear();
  masked.clear();
  plain.clear();
  cluster_begin.clear();
}

std::int64_t PairList::n_entries() const {
  std::int64_t n = 0;
  for (const auto& part : parts) n += static_cast<std::int64_t>(part.masked.size() + part.plain.size());
  return n;
}

std::size_t PairList::bytes() const {
  std::size_t n = 0;
  for (const auto& part : parts)
    n += part.segments.capacity() * sizeof(Segment) + part.masked.capacity() * sizeof(MaskedEntry) +
         (part.plain.capacity() + part.cluster_begin.capacity()) * sizeof(std::int32_t);
  return n;
}

void build_pair_list(const domain::Domain& domain, std::span<const ClusterData> clusters, const ExcludedSlots& excluded,
                     const TablePairs& table, std::span<const std::int32_t> type, double range, ThreadPool& threads,
                     PairList& list) {
  Builder builder(domain, clusters, excluded, table, type, range);
  builder.set_shifts(list);
  builder.set_bounds(threads);
  list.parts.resize(at(threads.size()));
  // Doubling a list that is as large as all else would cost its size again: ask for what the last one took, or what the
  // density promises (an entry for each cluster within range, which reaches a cluster's own width further), and a
  // little.
  std::size_t last = 0;
  for (const auto& part : list.parts) last = std::max(last, part.plain.size());
  const auto edges = domain.system().lattice.edges();
  const double density = static_cast<double>(domain.system().n_atoms()) / (edges[0] * edges[1] * edges[2]);
  const double sphere = 4.0 / 3 * 3.1416 * std::pow(range + 2.2, 3) * density / (2 * cluster_size);
  const auto promised =
      at(static_cast<std::int64_t>(sphere * domain.n_owned_atoms() / cluster_size)) / at(threads.size());
  const auto expected_plain = last > 0 ? last + last / 32 : promised;
  // Cells are handed out as threads come free; who builds a cell's list doesn't change it.
  std::atomic<std::int32_t> next{0};
  constexpr std::int32_t batch = 4;
  threads.run([&](int thread) {
    auto& part = list.parts[at(thread)];
    part.clear();
    part.plain.reserve(expected_plain);
    std::vector<std::int32_t> stamp(clusters.size(), -1), near;
    for (std::int32_t first = next.fetch_add(batch); first < domain.n_cells(); first = next.fetch_add(batch))
      for (auto cell = first; cell < std::min(first + batch, domain.n_cells()); ++cell)
        builder.add_cell(cell, list, part, stamp, near);
    part.cluster_begin.push_back(static_cast<std::int32_t>(part.segments.size()));
  });
}

}  // namespace tessera::md::pair
