#include "tessera/md/pair/pair_list.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/base/math/elementary.h"
#include "tessera/md/shares.h"

namespace tessera::md::pair {

namespace {

std::int64_t floor_half(std::int64_t v) { return v >= 0 ? v / 2 : -((-v + 1) / 2); }

std::vector<CellOffset> make_half_shell() {
  std::vector<CellOffset> offsets;
  for (std::int64_t x = 0; x <= 2; ++x)
    for (std::int64_t y = -2; y <= 2; ++y)
      for (std::int64_t z = -2; z <= 2; ++z) {
        if (x == 0 && (y < 0 || (y == 0 && z < 0))) continue;
        offsets.push_back({{x, y, z}, {floor_half(x), floor_half(y), floor_half(z)}});
      }
  return offsets;
}

constexpr std::int64_t nothing = -1;  // of a cell is in this rank's share
constexpr float nowhere = 1e30f;      // lower face of an empty box; the upper face is its negative

}  // namespace

const std::vector<CellOffset>& half_shell() {
  static const auto offsets = make_half_shell();
  return offsets;
}

std::vector<Vec3> half_shell_vectors(const domain::Domain& domain) {
  const auto cell = domain.cell_box();
  std::vector<Vec3> vectors;
  for (const auto& [offset, midpoint] : half_shell())
    vectors.push_back(static_cast<double>(offset[0]) * cell.a() + static_cast<double>(offset[1]) * cell.b() +
                      static_cast<double>(offset[2]) * cell.c());
  return vectors;
}

namespace {

/// Returns how many of a thousand pairs of clusters in a cell and the one at each offset may be within range.
std::vector<std::int64_t> thousandths_within(const domain::Domain& domain, double range) {
  constexpr int points = 6;                 // along each vector of a cell
  constexpr double reach_of_cluster = 2.9;  // Å
  const auto cell = domain.cell_box();
  std::vector<std::int64_t> within;
  for (const auto& between : half_shell_vectors(domain)) {
    double near = 0, all = 0;
    for (int p = 0; p < points * points * points; ++p) {
      // Differences of two places in a cell are the less frequent the larger they are.
      const auto difference = [&](int k) { return 2 * (k % points + 0.5) / points - 1; };
      const double x = difference(p), y = difference(p / points), z = difference(p / points / points);
      const double weight = (1 - std::abs(x)) * (1 - std::abs(y)) * (1 - std::abs(z));
      all += weight;
      if (norm(between + x * cell.a() + y * cell.b() + z * cell.c()) < range + reach_of_cluster) near += weight;
    }
    within.push_back(1 + std::llround(999 * near / all));
  }
  return within;
}

}  // namespace

std::vector<std::array<float, 3>> half_shell_shifts(const domain::Domain& domain) {
  std::vector<std::array<float, 3>> shifts;
  for (const auto& v : half_shell_vectors(domain))
    shifts.push_back({static_cast<float>(v.x), static_cast<float>(v.y), static_cast<float>(v.z)});
  return shifts;
}

std::int32_t find_partner_cell(const domain::Domain& domain, std::int32_t cell, const CellOffset& offset) {
  const Index3 here = domain.cell(cell), n = domain.grid().n;
  // Offsets are at most two cells in a grid of at least two, so one turn wraps them.
  const auto cell_at = [&](const Index3& by) {
    Index3 place;
    for (std::size_t d = 0; d < 3; ++d) {
      place[d] = here[d] + by[d];
      if (!domain.grid().is_periodic) continue;
      if (place[d] < 0) place[d] += n[d];
      if (place[d] >= n[d]) place[d] -= n[d];
    }
    return place;
  };
  if (!domain.is_replicated() && !domain.brick().contains(cell_at(offset.midpoint))) return -1;
  const auto partner = domain.local_cell(cell_at(offset.cell));
  TESSERA_ASSERT(partner >= 0 || domain.is_sparse());
  return partner;
}

bool TablePairs::concern(std::int32_t ci, std::int32_t cj, std::span<const std::int32_t> type) const {
  if (!any) return false;
  for (auto i = ci * cluster_size; i < (ci + 1) * cluster_size; ++i)
    for (auto j = cj * cluster_size; j < (cj + 1) * cluster_size; ++j)
      if (type[at(i)] >= 0 && type[at(j)] >= 0 && needs_table[at(type[at(i)]) * at(n_types) + at(type[at(j)])])
        return true;
  return false;
}

/// Writes one thread's part of the list.
class PairListWriter {
 public:
  PairListWriter(const domain::Domain& domain, const ClusterSet& set, const ExcludedClusters& excluded,
                 const TablePairs& table, std::span<const std::int32_t> type, double cutoff, PairListPart& part)
      : domain_(domain),
        set_(set),
        excluded_(excluded),
        table_(table),
        type_(type),
        cutoff_(static_cast<float>(cutoff)),
        part_(part),
        place_(at(domain.n_clusters()), 0) {
    part_.rows.clear();
    part_.masked.clear();
  }

  /// Adds the rows of the clusters of one local cell.
  void add_cell(std::int32_t cell, const CellBox& box, const NeighbourCells& cells) {
    std::size_t most = 16;
    for (std::size_t o = 0; o < NeighbourCells::room; ++o) most += at(cells.end[o] - cells.begin[o]);
    if (near_.marked.size() < most) {
      candidates_.reserve(most);
      marks_.reserve(most);
      earlier_place_.resize(most);
      near_.marked.resize(most);
      near_.unclear.resize(most);
    }
    find_candidates(box, cells, set_.bounds, cutoff_, candidates_);
    index_candidates();
    // The cell's own clusters, which are all near it, come first, so that each pair of them is listed once.
    const bool is_paired_with_itself = cells.end[0] > cells.begin[0];
    const auto begin = domain_.first_cluster(cell), end = domain_.first_cluster(cell + 1);
    for (auto ci = begin; ci < end; ++ci) {
      if (part_.plain.size() < n_plain_ + most) part_.plain.resize(n_plain_ + most + n_plain_ / 8);
      add_row(ci, is_paired_with_itself ? at(ci - begin) : 0, cells);
    }
  }

  void finish() { add_begin(-1); }

 private:
  void add_begin(std::int32_t ci) {
    part_.rows.push_back({ci, static_cast<std::int64_t>(part_.masked.size()), static_cast<std::int64_t>(n_plain_)});
  }

  /// Records the candidates' places for for_places().
  void index_candidates() {
    for (std::size_t k = 0; k < candidates_.n; ++k) {
      auto& last = place_[at(cluster_of(candidates_.entry[k]))];
      earlier_place_[k] = last;
      last = static_cast<std::uint32_t>(k);
    }
  }

  /// Calls visit(place) for each candidate with this cluster; there are several if periodicity makes neighbour cells
  /// equal.
  template <class Visit>
  void for_places(std::int32_t cluster, Visit&& visit) const {
    // Entries that earlier cells left in the index either belong to another cluster or do not come before the last one.
    std::size_t before = candidates_.n;
    for (std::size_t k = place_[at(cluster)]; k < before && cluster_of(candidates_.entry[k]) == cluster;
         k = earlier_place_[k]) {
      visit(k);
      before = k;
    }
  }

  void add_row(std::int32_t ci, std::size_t first, const NeighbourCells& cells) {
    const auto partners = excluded_.of(ci);
    const auto for_marks = [&](auto&& change) {
      for_places(ci, change);
      for (const auto& partner : partners) for_places(partner.cluster, change);
    };
    for_marks([&](std::size_t k) { marks_.set(k); });
    near_.plain = part_.plain.data() + n_plain_;
    find_near_clusters(ci, first, candidates_, cells, set_, marks_, cutoff_, near_);
    for_marks([&](std::size_t k) { marks_.clear(k); });
    if (near_.n_plain + near_.n_marked == 0) return;

    add_begin(ci);
    const bool may_need_table = table_.any && has_table_type(ci);
    for (std::size_t k = 0; k < near_.n_marked; ++k) {
      const auto j = near_.marked[k];
      const bool is_diagonal = cluster_of(j) == ci && cell_of(j) == 0;
      const unsigned valid = is_diagonal ? mask_among_themselves : mask_of_all_pairs;
      const auto partner =
          std::find_if(partners.begin(), partners.end(), [&](const auto& p) { return p.cluster == cluster_of(j); });
      const unsigned excluded = partner != partners.end() ? partner->excluded : 0;
      part_.masked.push_back({j, static_cast<std::uint16_t>(valid & ~excluded),
                              static_cast<std::uint16_t>(valid & excluded),
                              may_need_table && table_.concern(ci, cluster_of(j), type_)});
    }
    auto* end = near_.plain + near_.n_plain;
    if (may_need_table)
      end = std::remove_if(near_.plain, end, [&](PairEntry j) {
        const bool by_table = table_.concern(ci, cluster_of(j), type_);
        if (by_table) part_.masked.push_back({j, 0xFFFF, 0, true});
        return by_table;
      });
    n_plain_ += static_cast<std::size_t>(end - near_.plain);
  }

  bool has_table_type(std::int32_t ci) const {
    for (auto i = ci * cluster_size; i < (ci + 1) * cluster_size; ++i)
      if (type_[at(i)] >= 0 && table_.has_table[at(type_[at(i)])]) return true;
    return false;
  }

  const domain::Domain& domain_;
  const ClusterSet& set_;
  const ExcludedClusters& excluded_;
  const TablePairs& table_;
  std::span<const std::int32_t> type_;
  float cutoff_;
  PairListPart& part_;
  Candidates candidates_;
  std::vector<std::uint32_t> place_, earlier_place_;  // by cluster; by candidate
  CandidateMarks marks_;                              // the current cluster and its excluded partners
  NearClusters near_;
  std::size_t n_plain_ = 0;
};

std::int64_t PairList::n_entries() const {
  std::int64_t n = 0;
  for (const auto* parts : {&inner, &outer})
    for (const auto& part : *parts)
      if (!part.rows.empty()) n += part.rows.back().masked_begin + part.rows.back().plain_begin;
  return n;
}

std::size_t PairList::bytes() const {
  std::size_t n = 0;
  for (const auto* parts : {&inner, &outer})
    for (const auto& part : *parts)
      n += part.rows.size() * sizeof(Row) + part.masked.size() * sizeof(MaskedEntry) +
           part.n_plain() * sizeof(PairEntry);
  return n;
}

PairLister::PairLister(const domain::Domain& domain, ThreadPool& threads) : domain_(domain), threads_(threads) {
  if (!domain.is_sparse()) find_inner_cells();
}

void PairLister::rebuild(double range) {
  if (domain_.is_sparse()) find_inner_cells();
  if (domain_.is_replicated()) share_pairs(range);
}

/// Returns about how many entries the pairs of a cell and its partner make, in thousandths.
std::int64_t PairLister::n_entries(std::int32_t cell, std::size_t offset, std::int32_t partner) const {
  const std::int64_t n = domain_.first_cluster(cell + 1) - domain_.first_cluster(cell);
  const auto n_pairs =
      offset == 0 ? n * (n + 1) / 2 : n * (domain_.first_cluster(partner + 1) - domain_.first_cluster(partner));
  return n_pairs * near_[offset];
}

/// Adds up the entries of all cells with their partner cells, in an order of cells that all ranks have, and takes an
/// even share of them.
void PairLister::share_pairs(double range) {
  near_ = thousandths_within(domain_, range);
  std::vector<std::int32_t> order(at(domain_.n_cells()));
  std::iota(order.begin(), order.end(), 0);
  const auto place = [&](std::int32_t cell) { return domain_.grid().flat(domain_.cell(cell)); };
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return place(a) < place(b); });
  std::vector<std::int64_t> end;  // by place in the order
  std::int64_t all = 0;
  for (const auto cell : order) {
    for (std::size_t o = 0; o < half_shell().size(); ++o)
      if (const auto partner = find_partner_cell(domain_, cell, half_shell()[o]); partner >= 0)
        all += n_entries(cell, o, partner);
    end.push_back(all);
  }
  const std::int64_t ranks = domain_.decomposition().ranks();
  share_begin_ = all * domain_.rank() / ranks;
  share_end_ = all * (domain_.rank() + 1) / ranks;
  entries_before_.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto begin = i == 0 ? 0 : end[i - 1];
    entries_before_[at(order[i])] = begin < share_end_ && end[i] > share_begin_ ? begin : nothing;
  }
}

void PairLister::find_inner_cells() {
  is_inner_.assign(at(domain_.n_cells()), 0);
  if (domain_.is_replicated()) return;  // positions arrive before anything is summed
  std::int64_t n_inner = 0;
  for (std::int32_t cell = 0; cell < domain_.n_owned_cells(); ++cell) {
    const auto is_ours = [&](const CellOffset& offset) {
      const auto partner = find_partner_cell(domain_, cell, offset);
      return partner < domain_.n_owned_cells();  // −1: another rank computes the pair
    };
    is_inner_[at(cell)] = std::all_of(half_shell().begin(), half_shell().end(), is_ours);
    n_inner += is_inner_[at(cell)];
  }
  inner_share_ = n_inner > 0 ? static_cast<double>(n_inner) / domain_.n_owned_cells() : 0;
}

/// Sets boxes around clusters and around cells. The boxes of empty cells are near no other.
void PairLister::set_bounds(std::span<const ClusterData> clusters, std::span<const float> reach) {
  bounds_.resize(clusters.size());
  cell_box_.resize(at(domain_.n_cells()));
  threads_.parallel_for(domain_.n_cells(), [&](std::int64_t begin, std::int64_t end) {
    for (auto cell = begin; cell < end; ++cell) {
      CellBox box = {{nowhere, nowhere, nowhere}, {-nowhere, -nowhere, -nowhere}, 0};
      for (auto c = domain_.first_cluster(cell); c < domain_.first_cluster(cell + 1); ++c) {
        const auto& cluster = clusters[at(c)];
        const float* r[3] = {cluster.x, cluster.y, cluster.z};
        // Padding atoms come last.
        int n = cluster_size;
        while (n > 1 && domain_.is_padding(c * cluster_size + n - 1)) --n;
        for (std::size_t d = 0; d < 3; ++d) {
          float lower = r[d][0], upper = r[d][0];
          for (int k = 1; k < n; ++k) {
            lower = std::min(lower, r[d][k]);
            upper = std::max(upper, r[d][k]);
          }
          bounds_.lower[d][at(c)] = lower;
          bounds_.upper[d][at(c)] = upper;
          box.lower[d] = std::min(box.lower[d], lower);
          box.upper[d] = std::max(box.upper[d], upper);
        }
        int middle = 0;
        float least = nowhere;
        for (int k = 0; k < n; ++k) {
          float from_middle2 = 0;
          for (std::size_t d = 0; d < 3; ++d) {
            const float twice = 2 * r[d][k] - bounds_.lower[d][at(c)] - bounds_.upper[d][at(c)];
            from_middle2 += twice * twice;
          }
          if (from_middle2 < least) least = from_middle2, middle = k;
        }
        for (std::size_t d = 0; d < 3; ++d) bounds_.middle[d][at(c)] = r[d][middle];
        bounds_.middle_reach[at(c)] = reach[at(c * cluster_size + middle)];
        float furthest = 0;
        for (int k = 0; k < n; ++k) furthest = std::max(furthest, reach[at(c * cluster_size + k)]);
        bounds_.reach[at(c)] = furthest;
        box.reach = std::max(box.reach, furthest);
      }
      cell_box_[at(cell)] = box;
    }
  });
}

/// Calls function(offset, cell) for the cells whose pair with this cell this rank computes.
template <class Function>
void PairLister::for_partners(std::int32_t cell, const Function& function) const {
  auto before = domain_.is_replicated() ? entries_before_[at(cell)] : 0;
  if (before == nothing) return;
  for (std::size_t o = 0; o < half_shell().size(); ++o) {
    const auto j = find_partner_cell(domain_, cell, half_shell()[o]);
    if (j < 0) continue;
    if (domain_.is_replicated()) {
      const auto first = std::exchange(before, before + n_entries(cell, o, j));
      if (first < share_begin_ || first >= share_end_) continue;
    }
    function(o, j);
  }
}

PartnerCells PairLister::partners_of(std::int32_t cell) const {
  PartnerCells cells;
  for_partners(cell, [&](std::size_t o, std::int32_t j) {
    cells.begin[o] = domain_.first_cluster(j);
    cells.end[o] = domain_.first_cluster(j + 1);
  });
  return cells;
}

void PairLister::find_neighbour_cells(std::int32_t cell, const PairList& list, NeighbourCells& cells) const {
  cells = {};
  for (std::size_t d = 0; d < 3; ++d) {
    cells.lower[d].fill(nowhere);
    cells.upper[d].fill(-nowhere);
  }
  for_partners(cell, [&](std::size_t o, std::int32_t j) {
    cells.begin[o] = domain_.first_cluster(j);
    cells.end[o] = domain_.first_cluster(j + 1);
    cells.reach[o] = cell_box_[at(j)].reach;
    for (std::size_t d = 0; d < 3; ++d) {
      cells.shift[d][o] = list.shifts[o][d];
      cells.lower[d][o] = cell_box_[at(j)].lower[d] + list.shifts[o][d];
      cells.upper[d][o] = cell_box_[at(j)].upper[d] + list.shifts[o][d];
    }
  });
}

void PairLister::build_masked(const ExcludedClusters& excluded, const TablePairs& table,
                              std::span<const std::int32_t> type, PairList& list) {
  TESSERA_CHECK(domain_.n_clusters() < most_clusters);
  list.shifts = half_shell_shifts(domain_);
  list.inner.resize(at(threads_.size()));
  list.outer.resize(at(threads_.size()));
  threads_.run([&](int thread) {
    auto &inner = list.inner[at(thread)], &outer = list.outer[at(thread)];
    const auto add_begin = [](PairListPart& part, std::int32_t ci) {
      part.rows.push_back({ci, std::ssize(part.masked), 0});
    };
    for (auto* part : {&inner, &outer}) {
      part->rows.clear();
      part->masked.clear();
    }
    const std::int64_t n = domain_.n_cells(), last = n * (thread + 1) / threads_.size();
    for (auto cell = static_cast<std::int32_t>(n * thread / threads_.size()); cell < last; ++cell) {
      const auto cells = partners_of(cell);
      auto& part = is_inner(cell) ? inner : outer;
      for (auto ci = domain_.first_cluster(cell); ci < domain_.first_cluster(cell + 1); ++ci) {
        add_begin(part, ci);
        for (std::size_t o = 0; o < half_shell().size(); ++o) {
          const auto add = [&](std::int32_t cj, unsigned valid, unsigned masked) {
            if (cj < cells.begin[o] || cj >= cells.end[o]) return;
            part.masked.push_back({static_cast<PairEntry>(cj) << cell_bits | static_cast<PairEntry>(o),
                                   static_cast<std::uint16_t>(valid & ~masked),
                                   static_cast<std::uint16_t>(valid & masked), table.concern(ci, cj, type)});
          };
          const auto partners = excluded.of(ci);
          const auto own =
              std::find_if(partners.begin(), partners.end(), [&](const auto& p) { return p.cluster == ci; });
          add(ci, o == 0 ? mask_among_themselves : mask_of_all_pairs, own != partners.end() ? own->excluded : 0);
          for (const auto& partner : partners)
            if (partner.cluster != ci && (o > 0 || partner.cluster > ci))
              add(partner.cluster, mask_of_all_pairs, partner.excluded);
        }
      }
    }
    for (auto* part : {&inner, &outer}) add_begin(*part, -1);
  });
}

void PairLister::build(std::span<const ClusterData> clusters, std::span<const float> reach,
                       const ExcludedClusters& excluded, const TablePairs& table, std::span<const std::int32_t> type,
                       double cutoff, PairList& list) {
  TESSERA_CHECK(domain_.n_clusters() < most_clusters);
  list.shifts = half_shell_shifts(domain_);
  set_bounds(clusters, reach);
  const ClusterSet set = {clusters.data(), reach.data(), bounds_};
  list.inner.resize(at(threads_.size()));
  list.outer.resize(at(threads_.size()));
  // The list is the largest array, so doubling it would be costly. It starts with the size expected from the density:
  // an entry for each cluster within range, which extends the cut-off by a cluster's width and by the atoms' reach.
  // Each thread gets room for twice its even share, because threads take cells as they become free. Memory that is
  // never written is never used.
  const double density = static_cast<double>(domain_.system().n_atoms()) / domain_.state().box.volume();
  const double half_of_all = 0.5 * (1 + static_cast<double>(clusters.size()));
  const double sphere =
      std::min(half_of_all, 4.0 / 3 * 3.1416 * math::pow(cutoff + 2.9, 3) * density / (2 * cluster_size));
  const auto n_threads = list.inner.size();
  const double own_atoms = domain_.is_replicated()
                               ? static_cast<double>(domain_.system().n_atoms()) / domain_.decomposition().ranks()
                               : domain_.n_owned_atoms();
  const double promised = sphere * own_atoms / cluster_size * static_cast<double>(std::min<std::size_t>(2, n_threads)) /
                          static_cast<double>(n_threads);
  // Memory that a thread has written stays in use, so it is freed if the thread got much more than its share by chance.
  for (auto* parts : {&list.inner, &list.outer}) {
    std::size_t written = 0;
    for (const auto& part : *parts) written += part.n_plain();
    for (auto& part : *parts)
      if (8 * part.n_plain() * n_threads > 9 * written) part.plain = UninitialisedVector<PairEntry>();
  }
  // Cells are handed out as threads become free; a cell's list does not depend on the thread that makes it.
  Shares cells_of_threads(domain_.n_cells(), threads_.size());
  threads_.run([&](int thread) {
    const auto begin = [&](PairListPart& part, double share) {
      const auto expected = static_cast<std::size_t>(share * promised);
      if (part.plain.size() < expected) part.plain.resize(expected);
      part.masked.reserve(clusters.size() + excluded.partners.size());
      part.rows.reserve(clusters.size() + 1);
      return PairListWriter(domain_, set, excluded, table, type, cutoff, part);
    };
    auto inner = begin(list.inner[at(thread)], inner_share_);
    auto outer = begin(list.outer[at(thread)], 1 - inner_share_);
    NeighbourCells cells;
    cells_of_threads.work(thread, 4, [&](std::int64_t first, std::int64_t last) {
      for (auto cell = static_cast<std::int32_t>(first); cell < last; ++cell) {
        if (domain_.first_cluster(cell) == domain_.first_cluster(cell + 1)) continue;
        if (domain_.is_replicated() && entries_before_[at(cell)] == nothing) continue;
        find_neighbour_cells(cell, list, cells);
        (is_inner_[at(cell)] ? inner : outer).add_cell(cell, cell_box_[at(cell)], cells);
      }
    });
    inner.finish();
    outer.finish();
  });
}

}  // namespace tessera::md::pair
