#include "tessera/md/pair/pair_forces.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "tessera/base/error.h"

namespace tessera::md::pair {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Calls function(thread, part, rows) for pieces of all parts of the list as threads come free: sums across entries are
/// integers, so who runs what doesn't matter.
template <class Function>
void for_pieces(const PairList& list, ThreadPool& threads, Function&& function) {
  struct Piece {
    const PairListPart* part;
    RowRange rows;
  };
  std::vector<Piece> pieces;
  constexpr std::size_t rows_a_piece = 32;
  for (const auto& part : list.parts)
    for (std::size_t row = 0; row < part.n_rows(); row += rows_a_piece)
      pieces.push_back({&part, {row, std::min(row + rows_a_piece, part.n_rows())}});
  std::atomic<std::size_t> next{0};
  threads.run([&](int thread) {
    for (auto p = next++; p < pieces.size(); p = next++) function(thread, *pieces[p].part, pieces[p].rows);
  });
}

}  // namespace

void run_cluster_scheme(PairForces& forces, std::span<Accumulator> by_thread) {
  auto& buffers = forces.kernel_force_;
  auto& clashes = forces.clashes_;
  forces.threads_.run([&](int thread) {
    buffers[at(thread)].assign(forces.clusters_.size(), {});
    clashes[at(thread)].clear();
  });
  for_pieces(forces.list_, forces.threads_, [&](int thread, const PairListPart& part, const RowRange& rows) {
    run_cluster_kernel(forces.constants_.constants, forces.list_, part, rows, forces.clusters_.data(),
                       forces.type_.data(), buffers[at(thread)].data(), by_thread[at(thread)].energies,
                       clashes[at(thread)]);
  });
  // From x[4] y[4] z[4] of each cluster in the kernel's unit to x y z of each slot in force_unit, all threads together.
  constexpr std::int64_t scale = static_cast<std::int64_t>(pair_force_unit / force_unit);
  forces.threads_.run([&](int thread) {
    const auto n = static_cast<std::int64_t>(forces.clusters_.size());
    const auto& total = by_thread[at(thread)].force;
    for (auto c = n * thread / forces.threads_.size(); c < n * (thread + 1) / forces.threads_.size(); ++c)
      for (std::size_t d = 0; d < 3; ++d)
        for (std::size_t k = 0; k < 4; ++k) {
          std::uint32_t sum = 0;
          for (const auto& buffer : buffers)
            sum += static_cast<std::uint32_t>(buffer[at(c)].value[force_offset[d] + k]);
          add_fixed(total[3 * (4 * at(c) + k) + d], scale * static_cast<std::int32_t>(sum));
        }
  });
  const bool with_energies = by_thread[0].energies != nullptr;
  const bool any_clash = std::any_of(clashes.begin(), clashes.end(), [](const auto& list) { return !list.empty(); });
  if (!any_clash && !with_energies) return;
  const auto exact = forces.exact_pairs();
  forces.threads_.run([&](int thread) {
    for (const auto& clash : clashes[at(thread)])
      exact.add(clash.i_cluster, forces.list_.shifts[cell_of(clash.entry.j)], clash.entry,
                ExactPairs::ExclusionEnergy::leave_out, by_thread[at(thread)]);
  });
  if (!with_energies) return;
  // The energies of excluded pairs, clashing or not: they nearly cancel the self energy, single precision would show.
  for_pieces(forces.list_, forces.threads_, [&](int thread, const PairListPart& part, const RowRange& rows) {
    for (auto row = rows.begin; row < rows.end; ++row)
      for (const auto& entry : part.masked_of(row))
        exact.add_exclusion_energies(part.rows[row].i_cluster, forces.list_.shifts[cell_of(entry.j)], entry,
                                     *by_thread[at(thread)].energies);
  });
}

/// Double precision, one pair at a time: the oracle, and the scheme of precision = "double".
void run_reference_scheme(PairForces& forces, std::span<Accumulator> by_thread) {
  const auto exact = forces.exact_pairs();
  for_pieces(forces.list_, forces.threads_, [&](int thread, const PairListPart& part, const RowRange& rows) {
    for (auto row = rows.begin; row < rows.end; ++row) {
      const auto add = [&](const MaskedEntry& entry) {
        exact.add(part.rows[row].i_cluster, forces.list_.shifts[cell_of(entry.j)], entry,
                  ExactPairs::ExclusionEnergy::add, by_thread[at(thread)]);
      };
      for (const auto& entry : part.masked_of(row)) add(entry);
      for (const auto j : part.plain_of(row)) add({j, 0xFFFF, 0, false});
    }
  });
}

namespace {

constexpr PairScheme schemes[] = {
    {"cluster", "4 × 4 clusters, SIMD, single precision inside a cluster pair, fixed point across", run_cluster_scheme},
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

PairForces::PairForces(const domain::Domain& domain, const PairSettings& settings, const ListSettings& list,
                       const PairScheme& scheme, ThreadPool& threads)
    : domain_(domain),
      settings_(settings),
      list_settings_(list),
      scheme_(scheme),
      threads_(threads),
      lister_(domain, threads) {
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
    for (const auto& of_atom : partners) {
      flat.insert(flat.end(), of_atom.begin(), of_atom.end());
      begin.push_back(static_cast<std::int32_t>(flat.size()));
    }
  }
}

void PairForces::make_tables() {
  const auto& force_field = domain_.system().force_field;
  const auto n = force_field.type_lj.size();
  table_pairs_.n_types = static_cast<std::int32_t>(n);
  table_pairs_.needs_table.assign(n * n, 0);
  table_pairs_.has_table.assign(n, 0);
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
      table_pairs_.has_table[at(a)] = 1;
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
  stride_.assign(n, 0);
  mobility_.assign(n, 0);
  const auto& force_field = domain_.system().force_field;
  const double charge_scale = std::sqrt(settings_.coulomb_constant / pair_force_unit);
  threads_.parallel_for(domain_.n_slots(), [&](std::int64_t begin, std::int64_t end) {
    for (auto s = begin; s < end; ++s) {
      if (domain_.is_padding(static_cast<std::int32_t>(s))) continue;
      const auto& molecule = domain_.molecule_of(static_cast<std::int32_t>(s));
      const auto local = at(domain_.local[at(s)]);
      charge_[at(s)] = molecule.charge[local];
      type_[at(s)] = molecule.type[local];
      const auto& v = domain_.velocity[at(s)];
      const Vec3 velocity = {static_cast<double>(v.x), static_cast<double>(v.y), static_cast<double>(v.z)};
      stride_[at(s)] = static_cast<float>(list_settings_.timestep * domain::velocity_unit * norm(velocity));
      mobility_[at(s)] = static_cast<float>(std::min(1.0, 1 / std::cbrt(molecule.mass[local])));
      const auto& lj = force_field.type_lj[at(type_[at(s)])];
      auto& cluster = clusters_[at(s / cluster_size)];
      const auto k = at(s % cluster_size);
      cluster.q[k] = static_cast<float>(charge_[at(s)] * charge_scale);
      const double sigma = std::exp2(1.0 / 6) * lj.sigma;
      cluster.sigma[k] =
          static_cast<float>(force_field.lj_rule == model::LjRule::geometric ? std::sqrt(sigma) : 0.5 * sigma);
      cluster.epsilon[k] = static_cast<float>(std::sqrt(12 * lj.epsilon / pair_force_unit));
    }
  });
  find_exclusions();
  listed_.resize(clusters_.size());
  reach_.assign(n, 0);
  is_listed_ = false;
}

void PairForces::update() {
  const bool is_within_reach = update_coordinates();
  if (is_listed_ && is_within_reach) return;
  set_reach();
  constexpr double rounding = 2e-3;  // Å, of distances in single precision, generously
  lister_.build(clusters_, reach_, exclusions_, table_pairs_, type_, settings_.cutoff + rounding, list_);
  threads_.parallel_for(static_cast<std::int64_t>(clusters_.size()), [&](std::int64_t begin, std::int64_t end) {
    for (auto c = begin; c < end; ++c) {
      const auto& cluster = clusters_[at(c)];
      for (std::size_t i = 0; i < cluster_size; ++i) {
        listed_[at(c)].x[i] = cluster.x[i];
        listed_[at(c)].y[i] = cluster.y[i];
        listed_[at(c)].z[i] = cluster.z[i];
      }
    }
  });
  is_listed_ = true;
  ++n_lists_;
}

/// A reach for each atom that it will hardly leave in the steps that a list is meant to last: by its last step, and by
/// how much its velocity may turn out different. Figures: docs/decisions/0010.
void PairForces::set_reach() {
  double sum2 = 0;
  for (const float stride : stride_) sum2 += static_cast<double>(stride) * stride;
  const auto typical = static_cast<float>(std::sqrt(sum2 / std::max(1, domain_.n_slots())));
  const auto steps = static_cast<float>(list_settings_.steps), most = static_cast<float>(list_settings_.most_reach);
  threads_.parallel_for(domain_.n_slots(), [&](std::int64_t begin, std::int64_t end) {
    for (auto s = begin; s < end; ++s)
      reach_[at(s)] = std::min(most, steps * (0.8f * stride_[at(s)] + 2.0f * typical * mobility_[at(s)]));
  });
}

/// Coordinates for the kernels from the domain's positions, and how far atoms have moved in the last step; false where
/// one has gone beyond its reach since it was listed.
bool PairForces::update_coordinates() {
  const auto& grid = domain_.grid();
  const auto edges = domain_.system().lattice.edges();
  const float sx = static_cast<float>(edges[0] / 4294967296.0), sy = static_cast<float>(edges[1] / 4294967296.0),
              sz = static_cast<float>(edges[2] / 4294967296.0);
  std::vector<char> left(at(threads_.size()), 0);
  threads_.run([&](int thread) {
    const std::int64_t n = domain_.n_cells();
    bool beyond = false;
    for (auto c = n * thread / threads_.size(); c < n * (thread + 1) / threads_.size(); ++c) {
      const auto centre = grid.centre(domain_.cell[at(c)]);
      for (auto k = domain_.cell_begin[at(c)]; k < domain_.cell_begin[at(c) + 1]; ++k) {
        auto& cluster = clusters_[at(k)];
        const auto& listed = listed_[at(k)];
        for (std::size_t i = 0; i < cluster_size; ++i) {
          const auto slot = at(k) * cluster_size + i;
          if (domain_.is_padding(static_cast<std::int32_t>(slot))) {
            cluster.x[i] = cluster.y[i] = cluster.z[i] = padding_distance * static_cast<float>(i + 1);
            continue;
          }
          const auto r = domain_.position[slot] - centre;
          const float x = static_cast<float>(r.x) * sx, y = static_cast<float>(r.y) * sy,
                      z = static_cast<float>(r.z) * sz;
          const auto length2 = [&](float from_x, float from_y, float from_z) {
            const float dx = x - from_x, dy = y - from_y, dz = z - from_z;
            return dx * dx + dy * dy + dz * dz;
          };
          if (is_listed_) stride_[slot] = std::sqrt(length2(cluster.x[i], cluster.y[i], cluster.z[i]));
          beyond |= length2(listed.x[i], listed.y[i], listed.z[i]) > reach_[slot] * reach_[slot];
          cluster.x[i] = x;
          cluster.y[i] = y;
          cluster.z[i] = z;
        }
      }
    }
    left[at(thread)] = beyond;
  });
  return std::none_of(left.begin(), left.end(), [](char one) { return one != 0; });
}

/// Which clusters hold excluded partners of which, from the templates.
void PairForces::find_exclusions() {
  const auto n = domain_.n_clusters();
  const auto n_threads = threads_.size();
  exclusions_.begin.assign(at(n) + 1, 0);
  std::vector<std::vector<ExcludedClusters::Partner>> found(at(n_threads));
  threads_.run([&](int thread) {
    auto& partners = found[at(thread)];
    const std::int64_t begin = std::int64_t{n} * thread / n_threads, end = std::int64_t{n} * (thread + 1) / n_threads;
    for (auto c = begin; c < end; ++c) {
      const auto first = partners.size();
      for (int i = 0; i < cluster_size; ++i) {
        const auto s = static_cast<std::int32_t>(c * cluster_size + i);
        if (domain_.is_padding(s)) continue;
        const auto molecule = at(domain_.molecule[at(s)]);
        const auto local = at(domain_.local[at(s)]);
        const auto first_id = domain_.id[at(s)] - domain_.local[at(s)];
        const auto& partner_begin = template_partner_begin_[molecule];
        for (auto k = partner_begin[local]; k < partner_begin[local + 1]; ++k) {
          const auto partner = domain_.slot_of(first_id + template_partner_[molecule][at(k)]);
          if (partner < 0) continue;
          const auto mask = static_cast<std::uint16_t>(1u << (cluster_size * i + partner % cluster_size));
          const auto known = std::find_if(partners.begin() + static_cast<std::ptrdiff_t>(first), partners.end(),
                                          [&](const auto& p) { return p.cluster == partner / cluster_size; });
          if (known != partners.end())
            known->excluded |= mask;
          else
            partners.push_back({partner / cluster_size, mask});
        }
      }
      exclusions_.begin[at(c) + 1] = static_cast<std::int32_t>(partners.size() - first);
    }
  });
  for (std::size_t c = 0; c < at(n); ++c) exclusions_.begin[c + 1] += exclusions_.begin[c];
  exclusions_.partners.clear();
  for (const auto& partners : found)
    exclusions_.partners.insert(exclusions_.partners.end(), partners.begin(), partners.end());
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
  std::size_t n = clusters_.capacity() * sizeof(ClusterData) + charge_.capacity() * sizeof(double) +
                  (type_.capacity() + exclusions_.begin.capacity()) * sizeof(std::int32_t) +
                  exclusions_.partners.capacity() * sizeof(ExcludedClusters::Partner) +
                  listed_.capacity() * sizeof(Places) +
                  (stride_.capacity() + mobility_.capacity() + reach_.capacity()) * sizeof(float) + list_.bytes();
  for (const auto& buffer : kernel_force_) n += buffer.capacity() * sizeof(ClusterForces);
  return n;
}

}  // namespace tessera::md::pair
