#include "tessera/md/pair/pair_forces.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "tessera/base/error.h"

namespace tessera::md::pair {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Calls function(part, begin, end) for pieces of all parts of the list as threads come free: sums across segments are
/// integers, so who runs what doesn't matter.
template <class Function>
void for_pieces(const PairList& list, ThreadPool& threads, Function&& function) {
  struct Piece {
    const PairListPart* part;
    std::int32_t begin, end;
  };
  std::vector<Piece> pieces;
  constexpr std::size_t clusters_a_piece = 32;
  for (const auto& part : list.parts) {
    const auto n = part.cluster_begin.empty() ? 0 : part.cluster_begin.size() - 1;
    for (std::size_t c = 0; c < n; c += clusters_a_piece)
      pieces.push_back({&part, part.cluster_begin[c], part.cluster_begin[std::min(c + clusters_a_piece, n)]});
  }
  std::atomic<std::size_t> next{0};
  threads.run([&](int thread) {
    for (auto p = next++; p < pieces.size(); p = next++)
      function(thread, *pieces[p].part, pieces[p].begin, pieces[p].end);
  });
}

}  // namespace

void run_cluster_scheme(PairForces& forces, std::span<Accumulator> by_thread) {
  auto& buffers = forces.kernel_force_;
  auto& clashes = forces.clashes_;
  const std::size_t words = 12 * forces.clusters_.size();
  forces.threads_.run([&](int thread) {
    buffers[at(thread)].assign(words, 0);
    clashes[at(thread)].clear();
  });
  for_pieces(forces.list_, forces.threads_,
             [&](int thread, const PairListPart& part, std::int32_t begin, std::int32_t end) {
               run_cluster_kernel(forces.constants_.constants, forces.list_, part, begin, end, forces.clusters_.data(),
                                  forces.type_.data(), buffers[at(thread)].data(), by_thread[at(thread)].energies,
                                  clashes[at(thread)]);
             });
  // From x[4] y[4] z[4] of each cluster in the kernel's unit to x y z of each slot in force_unit, all threads together.
  constexpr std::int64_t scale = static_cast<std::int64_t>(pair_force_unit / force_unit);
  forces.threads_.run([&](int thread) {
    const auto n = static_cast<std::int64_t>(forces.clusters_.size());
    const auto& total = by_thread[at(thread)].force;
    for (auto c = n * thread / forces.threads_.size(); c < n * (thread + 1) / forces.threads_.size(); ++c)
      for (int d = 0; d < 3; ++d)
        for (int k = 0; k < 4; ++k) {
          std::uint32_t sum = 0;
          for (const auto& buffer : buffers) sum += static_cast<std::uint32_t>(buffer[at(12 * c + 4 * d + k)]);
          add_fixed(total[at(3 * (4 * c + k) + d)], scale * static_cast<std::int32_t>(sum));
        }
  });
  const bool with_energies = by_thread[0].energies != nullptr;
  const bool any_clash = std::any_of(clashes.begin(), clashes.end(), [](const auto& list) { return !list.empty(); });
  if (!any_clash && !with_energies) return;
  const auto exact = forces.exact_pairs();
  forces.threads_.run([&](int thread) {
    for (const auto& clash : clashes[at(thread)])
      exact.add(clash.i_cluster, forces.list_.shifts[at(clash.shift)], clash.entry,
                ExactPairs::ExclusionEnergy::leave_out, by_thread[at(thread)]);
  });
  if (!with_energies) return;
  // The energies of excluded pairs, clashing or not: they nearly cancel the self energy, single precision would show.
  for_pieces(forces.list_, forces.threads_,
             [&](int thread, const PairListPart& part, std::int32_t begin, std::int32_t end) {
               for (auto s = begin; s < end; ++s) {
                 const auto& segment = part.segments[at(s)];
                 for (auto e = segment.masked_begin; e < segment.masked_end; ++e)
                   exact.add_exclusion_energies(segment.i_cluster, forces.list_.shifts[at(segment.shift)],
                                                part.masked[at(e)], *by_thread[at(thread)].energies);
               }
             });
}

/// Double precision, one pair at a time: the oracle, and the scheme of precision = "double".
void run_reference_scheme(PairForces& forces, std::span<Accumulator> by_thread) {
  const auto exact = forces.exact_pairs();
  for_pieces(forces.list_, forces.threads_,
             [&](int thread, const PairListPart& part, std::int32_t begin, std::int32_t end) {
               for (auto s = begin; s < end; ++s) {
                 const auto& segment = part.segments[at(s)];
                 const auto& shift = forces.list_.shifts[at(segment.shift)];
                 const auto add = [&](const MaskedEntry& entry) {
                   exact.add(segment.i_cluster, shift, entry, ExactPairs::ExclusionEnergy::add, by_thread[at(thread)]);
                 };
                 for (auto e = segment.masked_begin; e < segment.masked_end; ++e) add(part.masked[at(e)]);
                 for (auto e = segment.plain_begin; e < segment.plain_end; ++e)
                   add({part.plain[at(e)], 0xFFFF, 0, false});
               }
             });
}

namespace {

constexpr PairScheme schemes[] = {
    {"cluster", "4 × 4 clusters, SIMD, single precision inside a cell pair, fixed point across", run_cluster_scheme},
    {"reference", "one pair at a time in double precision", run_reference_scheme},
};

}  // namespace

std::span<const PairScheme> pair_schemes() { return schemes; }

const PairScheme& find_pair_scheme(std::string_view name, bool double_precision) {
  if (name == "auto") return schemes[double_precision ? 1 : 0];
  std::string known;
  for (const auto& scheme : schemes) {
    if (scheme.name == name) return scheme;
    known += fmt::format(" {}", scheme.name);
  }
  throw InputError(fmt::format("parallel.pair_scheme is '{}'; known schemes: auto{}", name, known));
}

PairForces::PairForces(const domain::Domain& domain, const PairSettings& settings, double list_range,
                       const PairScheme& scheme, ThreadPool& threads)
    : domain_(domain), settings_(settings), list_range_(list_range), scheme_(scheme), threads_(threads) {
  const auto rule = domain.system().force_field.lj_rule == model::LjRule::geometric ? KernelRule::geometric
                                                                                    : KernelRule::lorentz_berthelot;
  constants_ = prepare_constants(settings, rule);
  make_tables();
  constants_.constants.table_12a = table_12a_.data();
  constants_.constants.table_6b = table_6b_.data();
  constants_.constants.n_types = table_pairs_.n_types;
  kernel_force_.resize(at(threads.size()));
  clashes_.resize(at(threads.size()));

  for (const auto& molecule : domain.system().templates) {
    std::vector<std::vector<std::int32_t>> partners(at(molecule.n_atoms()));
    for (const auto& [i, j] : molecule.exclusions) {
      partners[at(i)].push_back(j);
      partners[at(j)].push_back(i);
    }
    auto& begin = template_partner_begin_.emplace_back(1, 0);
    auto& flat = template_partner_.emplace_back();
    for (const auto& list : partners) {
      flat.insert(flat.end(), list.begin(), list.end());
      begin.push_back(static_cast<std::int32_t>(flat.size()));
    }
  }
}

void PairForces::make_tables() {
  const auto& force_field = domain_.system().force_field;
  const auto n = force_field.type_lj.size();
  table_pairs_.n_types = static_cast<std::int32_t>(n);
  table_pairs_.needs_table.assign(n * n, 0);
  type_pairs_.resize(n * n);
  model::ForceField by_rule;
  by_rule.lj_rule = force_field.lj_rule;
  by_rule.type_lj = force_field.type_lj;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) type_pairs_[a * n + b] = by_rule.lj(static_cast<int>(a), static_cast<int>(b));
  for (const auto& pair : force_field.nbfix)
    for (const auto& [a, b] : {std::pair(pair.type_a, pair.type_b), std::pair(pair.type_b, pair.type_a)}) {
      type_pairs_[at(a) * n + at(b)] = pair.ab;
      table_pairs_.needs_table[at(a) * n + at(b)] = 1;
      table_pairs_.any = true;
    }
  for (const auto& ab : type_pairs_) {
    table_12a_.push_back(static_cast<float>(12 * ab.a / pair_force_unit));
    table_6b_.push_back(static_cast<float>(6 * ab.b / pair_force_unit));
  }
}

ExactPairs PairForces::exact_pairs() const {
  return {domain_, settings_, charge_, type_, type_pairs_, table_pairs_.n_types};
}

void PairForces::rebuild() {
  const auto n = at(domain_.n_slots());
  charge_.assign(n, 0);
  type_.assign(n, -1);
  clusters_.assign(n / cluster_size, {});
  const auto& force_field = domain_.system().force_field;
  const double charge_scale = std::sqrt(settings_.coulomb_constant / pair_force_unit);
  threads_.parallel_for(domain_.n_slots(), [&](std::int64_t begin, std::int64_t end) {
    for (auto s = begin; s < end; ++s) {
      if (domain_.is_padding(static_cast<std::int32_t>(s))) continue;
      const auto& molecule = domain_.molecule_of(static_cast<std::int32_t>(s));
      const auto local = at(domain_.local[at(s)]);
      charge_[at(s)] = molecule.charge[local];
      type_[at(s)] = molecule.type[local];
      const auto& lj = force_field.type_lj[at(type_[at(s)])];
      auto& cluster = clusters_[at(s / cluster_size)];
      const auto k = at(s % cluster_size);
      cluster.q[k] = static_cast<float>(charge_[at(s)] * charge_scale);
      cluster.sigma[k] =
          static_cast<float>(force_field.lj_rule == model::LjRule::geometric ? std::sqrt(lj.sigma) : 0.5 * lj.sigma);
      cluster.epsilon[k] = static_cast<float>(std::sqrt(24 * lj.epsilon / pair_force_unit));
    }
  });
  update_coordinates();
  find_excluded_slots();
  build_pair_list(domain_, clusters_, excluded_, table_pairs_, type_, list_range_, threads_, list_);
}

void PairForces::update_coordinates() {
  const auto& grid = domain_.grid();
  const auto edges = domain_.system().lattice.edges();
  const float sx = static_cast<float>(edges[0] / 4294967296.0), sy = static_cast<float>(edges[1] / 4294967296.0),
              sz = static_cast<float>(edges[2] / 4294967296.0);
  threads_.parallel_for(domain_.n_cells(), [&](std::int64_t begin, std::int64_t end) {
    for (auto c = begin; c < end; ++c) {
      const auto centre = grid.centre(domain_.cell[at(c)]);
      for (auto k = domain_.cell_begin[at(c)]; k < domain_.cell_begin[at(c) + 1]; ++k) {
        auto& cluster = clusters_[at(k)];
        for (std::size_t i = 0; i < cluster_size; ++i) {
          const auto slot = at(k) * cluster_size + i;
          if (domain_.is_padding(static_cast<std::int32_t>(slot))) {
            cluster.x[i] = cluster.y[i] = cluster.z[i] = padding_distance * static_cast<float>(i + 1);
            continue;
          }
          const auto r = domain_.position[slot] - centre;
          cluster.x[i] = static_cast<float>(r.x) * sx;
          cluster.y[i] = static_cast<float>(r.y) * sy;
          cluster.z[i] = static_cast<float>(r.z) * sz;
        }
      }
    }
  });
}

void PairForces::find_excluded_slots() {
  const auto n = domain_.n_slots();
  excluded_.begin.assign(at(n) + 1, 0);
  excluded_.partner.clear();
  for (std::int32_t s = 0; s < n; ++s) {
    if (!domain_.is_padding(s)) {
      const auto molecule = at(domain_.molecule[at(s)]);
      const auto local = domain_.local[at(s)];
      const auto first_id = domain_.id[at(s)] - local;
      const auto& begin = template_partner_begin_[molecule];
      for (auto k = begin[at(local)]; k < begin[at(local) + 1]; ++k) {
        const auto partner = domain_.slot_of(first_id + template_partner_[molecule][at(k)]);
        if (partner >= 0) excluded_.partner.push_back(partner);
      }
    }
    excluded_.begin[at(s) + 1] = static_cast<std::int32_t>(excluded_.partner.size());
  }
}

TailIntegral PairForces::tail() const {
  const auto counts = domain_.system().type_counts();
  const auto n = counts.size();
  TailIntegral total;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) {
      const double pairs = static_cast<double>(counts[a]) * static_cast<double>(counts[b]);
      const auto& ab = type_pairs_[a * n + b];
      if (pairs == 0 || (ab.a == 0 && ab.b == 0)) continue;
      const auto one = lj_tail(settings_, ab.a, ab.b);
      total.energy += pairs * one.energy;
      total.virial += pairs * one.virial;
    }
  const double volume = domain_.system().lattice.volume();
  return {total.energy / volume, total.virial / volume};
}

std::size_t PairForces::bytes() const {
  std::size_t n =
      clusters_.capacity() * sizeof(ClusterData) + charge_.capacity() * sizeof(double) +
      (type_.capacity() + excluded_.begin.capacity() + excluded_.partner.capacity()) * sizeof(std::int32_t) +
      list_.bytes();
  for (const auto& buffer : kernel_force_) n += buffer.capacity() * sizeof(std::int32_t);
  return n;
}

}  // namespace tessera::md::pair
