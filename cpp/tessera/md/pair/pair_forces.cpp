#include "tessera/md/pair/pair_forces.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tessera/base/index.h"
#include "tessera/base/math/elementary.h"
#include "tessera/base/simd/denormals.h"
#include "tessera/md/pair/clusters/cluster_atoms.h"
#include "tessera/md/pair/device/device_pairs.h"

namespace tessera::md::pair {

PairForces::PairForces(const domain::Domain& domain, const PairSettings& settings, const ListSettings& list,
                       Precision precision, ThreadPool& threads, const DeviceAtoms* on_device)
    : data_{domain, threads, settings}, list_settings_(list), sum_(data_, precision) {
  const auto rule = domain.system().force_field.lj_rule == model::LjRule::geometric ? KernelRule::geometric
                                                                                    : KernelRule::lorentz_berthelot;
  data_.constants = prepare_constants(settings, rule);
  make_tables();
  auto& constants = data_.constants.constants;
  constants.table_12a = table_12a_.data();
  constants.table_6b = table_6b_.data();
  constants.n_types = data_.table_pairs.n_types;
  lookup_ = make_lookup_table(data_.short_range, settings, plan_lookup(domain.system()), pair_force_unit);
  constants.lookup = lookup_.lookup;
  constants.lookup_first = lookup_.first;
  constants.lookup_last = lookup_.last;
  constants.lookup_force = lookup_.force.data();
  constants.lookup_energy = lookup_.energy.data();
  constants.lookup_begin = lookup_.begin.data();
  // Padding atoms may be near each other, so that their forces must be zeros.
  if (lookup_.lookup == Lookup::all)
    data_.padding_epsilon =
        static_cast<float>(data_.table_pairs.n_types * data_.table_pairs.n_types * lookup_.n_pieces());
  if (on_device != nullptr) sum_.use_device(*on_device, lookup_);

  for (const auto& molecule : domain.system().templates) {
    std::transform(molecule.mass.begin(), molecule.mass.end(), std::back_inserter(template_mobility_.emplace_back()),
                   mobility_of);
    std::vector<std::vector<std::int32_t>> partners(at(molecule.n_atoms()));
    for (const auto& [i, j] : molecule.exclusions) {
      if (molecule.has(i)) partners[at(i)].push_back(j);
      if (molecule.has(j)) partners[at(j)].push_back(i);
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
  const auto& force_field = data_.domain.system().force_field;
  const auto n = force_field.type_lj.size();
  data_.table_pairs.n_types = static_cast<std::int32_t>(n);
  data_.table_pairs.needs_table.assign(n * n, 0);
  data_.table_pairs.has_table.assign(n, 0);
  for (std::int32_t a = 0; a < data_.table_pairs.n_types; ++a)
    for (std::int32_t b = 0; b < data_.table_pairs.n_types; ++b) {
      const auto& ab = data_.short_range.lj(a, b);
      table_12a_.push_back(simd::to_parameter(12 * ab.a / pair_force_unit));
      table_6b_.push_back(simd::to_parameter(6 * ab.b / pair_force_unit));
    }
  if (plan_lookup(data_.domain.system()) == Lookup::all) return;  // no entry needs parameters of its own
  const auto list = [&](const auto& pairs) {
    for (const auto& pair : pairs)
      for (const auto& [a, b] : {std::pair(pair.type_a, pair.type_b), std::pair(pair.type_b, pair.type_a)}) {
        data_.table_pairs.needs_table[at(a) * n + at(b)] = 1;
        data_.table_pairs.has_table[at(a)] = 1;
        data_.table_pairs.any = true;
      }
  };
  list(force_field.nbfix);
  list(force_field.pair_potentials);
}

void PairForces::rebuild() {
  const auto n = at(data_.domain.n_slots());
  data_.charge.assign(n, 0);
  data_.type.assign(n, -1);
  ClusterData padding{};
  std::fill_n(padding.epsilon, cluster_size, data_.padding_epsilon);
  data_.clusters.assign(n / cluster_size, padding);
  stride_.assign(n, 0);
  mobility_.assign(n, 0);
  const auto& force_field = data_.domain.system().force_field;
  const double charge_scale = std::sqrt(data_.settings.coulomb_constant / pair_force_unit);
  data_.threads.parallel_for(data_.domain.n_slots(), [&](std::int64_t begin, std::int64_t end) {
    for (auto s = begin; s < end; ++s) {
      if (data_.domain.is_padding(static_cast<std::int32_t>(s))) continue;
      const auto& molecule = data_.domain.molecule_of(static_cast<std::int32_t>(s));
      const auto local = at(data_.domain.state().local[at(s)]);
      data_.charge[at(s)] = molecule.charge[local];
      data_.type[at(s)] = molecule.type[local];
      mobility_[at(s)] = template_mobility_[at(data_.domain.state().molecule[at(s)])][local];
      const auto& lj = force_field.type_lj[at(data_.type[at(s)])];
      auto& cluster = data_.clusters[at(s / cluster_size)];
      const auto k = at(s % cluster_size);
      cluster.q[k] = simd::to_parameter(data_.charge[at(s)] * charge_scale);
      const double sigma = math::sixth_root_of_2 * lj.sigma;
      cluster.sigma[k] =
          static_cast<float>(force_field.lj_rule == model::LjRule::geometric ? std::sqrt(sigma) : 0.5 * sigma);
      cluster.epsilon[k] = static_cast<float>(std::sqrt(12 * lj.epsilon / pair_force_unit));
      if (lookup_.lookup == Lookup::all) {
        cluster.sigma[k] = static_cast<float>(data_.type[at(s)] * lookup_.n_pieces());
        cluster.epsilon[k] = cluster.sigma[k] * static_cast<float>(data_.table_pairs.n_types);
      }
    }
  });
  has_strides_ = false;  // velocities may be drawn before the first list
  find_exclusions();
  listed_.assign(data_.clusters.size(), {});
  data_.reach.assign(n, 0);
  is_listed_ = is_listed_on_device_ = false;
  own_within_reach_.reset();
  sum_.rebuild();
}

/// Finds how far atoms go in a step by their velocities, where no step has shown it.
void PairForces::set_strides() {
  data_.threads.parallel_for(data_.domain.n_slots(), [&](std::int64_t begin, std::int64_t end) {
    for (auto s = begin; s < end; ++s) {
      if (data_.domain.is_padding(static_cast<std::int32_t>(s))) continue;
      const auto& v = data_.domain.state().velocity[at(s)];
      const Vec3 velocity = {static_cast<double>(v.x), static_cast<double>(v.y), static_cast<double>(v.z)};
      stride_[at(s)] = static_cast<float>(list_settings_.timestep * velocity_unit * norm(velocity));
    }
  });
  has_strides_ = true;
}

void PairForces::set_box(const Box& before) {
  is_listed_on_device_ = false;
  // A pair beyond the cut-off plus both reaches is not in the list. It may now be closer by as much as the box has
  // shrunk along its shortest side, so both reaches are reduced by half of that. A growing box needs no reduction.
  const auto change = deformation(before, data_.domain.state().box);
  const double least_scale = std::min(1.0, least_stretch(change));
  const double furthest = data_.settings.range() + list_rounding + 2 * list_settings_.most_reach;
  const auto less = static_cast<float>(0.5 * (1 - least_scale) * furthest);
  for (std::int32_t s = 0; s < data_.domain.n_slots(); ++s) {
    if (data_.domain.is_padding(s)) continue;
    auto& reach = data_.reach[at(s)];
    reach -= less;
    if (reach < 0) is_listed_ = false;  // a new list is due even if no atom moves
  }
  // The positions at listing are deformed with the box, as the atoms are.
  const SingleTriangular deform(change);
  for (auto& cluster : listed_)
    for (std::size_t i = 0; i < cluster_size; ++i) {
      const auto [x, y, z] = deform * std::array{cluster.x[i], cluster.y[i], cluster.z[i]};
      cluster.x[i] = x;
      cluster.y[i] = y;
      cluster.z[i] = z;
    }
  sum_.set_box();
}

void PairForces::update_owned() { own_within_reach_ = update_coordinates(0, data_.domain.n_owned_cells()); }

void PairForces::add_inner_forces(std::span<Accumulator> by_thread, const std::function<void()>& meanwhile) {
  if (list_holds() && data_.domain.n_owned_cells() < data_.domain.n_cells())
    sum_.add_inner_forces(by_thread, meanwhile);
}

void PairForces::update(bool make_list) {
  if (!own_within_reach_) update_owned();
  const bool halo_within_reach = update_coordinates(data_.domain.n_owned_cells(), data_.domain.n_cells());
  make_list |= !list_holds() || !halo_within_reach;
  own_within_reach_.reset();
  if (make_list) set_reach();
  sum_.update(make_list);
  if (!make_list) return;
  data_.threads.parallel_for(static_cast<std::int64_t>(data_.clusters.size()),
                             [&](std::int64_t begin, std::int64_t end) {
                               for (auto c = begin; c < end; ++c) {
                                 const auto& cluster = data_.clusters[at(c)];
                                 for (std::size_t i = 0; i < cluster_size; ++i) {
                                   listed_[at(c)].x[i] = cluster.x[i];
                                   listed_[at(c)].y[i] = cluster.y[i];
                                   listed_[at(c)].z[i] = cluster.z[i];
                                 }
                               }
                             });
  is_listed_ = true;
  is_listed_on_device_ = false;
  ++n_lists_;
}

bool PairForces::make_list_on_device(const Velocity* velocity) {
  if (!sum_.has_lists_of_device()) return false;
  is_listed_ = false;
  is_listed_on_device_ = sum_.make_list_on_device(list_settings_, typical_stride_, velocity);
  n_lists_ += is_listed_on_device_ ? 1 : 0;
  return is_listed_on_device_;
}

bool PairForces::can_follow_on_device() {
  if (!sum_.has_lists_of_device()) return false;
  if (!can_follow_on_device_) can_follow_on_device_ = sum_.set_excluded_on_device(excluded_atoms());
  return *can_follow_on_device_;
}

/// Returns the excluded atoms of all atoms of the system.
ExcludedAtoms PairForces::excluded_atoms() const {
  ExcludedAtoms excluded{.begin = {0}, .atoms = {}};
  for (const auto& run : data_.domain.system().instances()) {
    const auto &begin = template_partner_begin_[at(run.molecule)], &partner = template_partner_[at(run.molecule)];
    for (std::int64_t i = 0; i < run.count; ++i) {
      const auto first = static_cast<std::int32_t>(excluded.begin.size() - 1);
      for (std::size_t atom = 0; atom + 1 < begin.size(); ++atom) {
        for (auto k = begin[atom]; k < begin[atom + 1]; ++k) excluded.atoms.push_back(first + partner[at(k)]);
        excluded.begin.push_back(static_cast<std::int32_t>(excluded.atoms.size()));
      }
    }
  }
  return excluded;
}

/// Gives each atom a reach that it will hardly leave during the intended life of a list, from its last step and the
/// likely change of its velocity. Measurements: docs/design/pairs.md#lists.
void PairForces::set_reach() {
  if (!has_strides_) set_strides();
  double sum2 = 0;
  for (const float stride : stride_) sum2 += static_cast<double>(stride) * stride;
  typical_stride_ = static_cast<float>(std::sqrt(sum2 / std::max(1, data_.domain.n_slots())));
  data_.threads.parallel_for(data_.domain.n_slots(), [&](std::int64_t begin, std::int64_t end) {
    for (auto s = begin; s < end; ++s)
      data_.reach[at(s)] = reach_of(list_settings_, stride_[at(s)], typical_stride_, mobility_[at(s)]);
  });
}

/// Converts the domain's positions in some cells to the kernels' coordinates, and records how far atoms have moved in
/// the last step. Returns false if an atom has moved beyond its reach since it was listed.
bool PairForces::update_coordinates(std::int64_t first_cell, std::int64_t last_cell) {
  const auto& domain = data_.domain;
  const SingleTriangular to_length(domain.state().box.unit_vectors());
  std::vector<char> left(at(data_.threads.size()), 0);
  data_.threads.run([&](int thread) {
    const auto n = last_cell - first_cell;
    bool beyond = false;
    for (auto c = first_cell + n * thread / data_.threads.size();
         c < first_cell + n * (thread + 1) / data_.threads.size(); ++c) {
      const std::int64_t k = domain.first_cluster(c), slot = k * cluster_size;
      const AtomsOfClusters atoms{domain.first_cluster(c + 1) - k,
                                  domain.grid().centre(domain.cell(c)),
                                  domain.state().position.data() + slot,
                                  domain.state().id.data() + slot,
                                  data_.reach.data() + slot,
                                  listed_.data() + k};
      beyond |= set_coordinates(to_length, atoms, data_.clusters.data() + k,
                                is_listed_ && has_strides_ ? stride_.data() + slot : nullptr);
    }
    left[at(thread)] = beyond;
  });
  return std::none_of(left.begin(), left.end(), [](char one) { return one != 0; });
}

/// Finds the clusters that hold excluded partners of each cluster, from the templates.
void PairForces::find_exclusions() {
  const auto n = data_.domain.n_clusters();
  const auto n_threads = data_.threads.size();
  data_.exclusions.begin.assign(at(n) + 1, 0);
  std::vector<std::vector<ExcludedClusters::Partner>> found(at(n_threads));
  data_.threads.run([&](int thread) {
    auto& partners = found[at(thread)];
    const std::int64_t begin = std::int64_t{n} * thread / n_threads, end = std::int64_t{n} * (thread + 1) / n_threads;
    for (auto c = begin; c < end; ++c) {
      const auto first = partners.size();
      for (int i = 0; i < cluster_size; ++i) {
        const auto s = static_cast<std::int32_t>(c * cluster_size + i);
        data_.domain.prefetch_slot_of(s);
        if (data_.domain.is_padding(s)) continue;
        const auto molecule = at(data_.domain.state().molecule[at(s)]);
        const auto local = at(data_.domain.state().local[at(s)]);
        const auto first_id = data_.domain.state().id[at(s)] - data_.domain.state().local[at(s)];
        const auto& partner_begin = template_partner_begin_[molecule];
        for (auto k = partner_begin[local]; k < partner_begin[local + 1]; ++k) {
          const auto partner = data_.domain.slot_of(first_id + template_partner_[molecule][at(k)]);
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
      data_.exclusions.begin[at(c) + 1] = static_cast<std::int32_t>(partners.size() - first);
    }
  });
  for (std::size_t c = 0; c < at(n); ++c) data_.exclusions.begin[c + 1] += data_.exclusions.begin[c];
  data_.exclusions.partners.clear();
  data_.exclusions.partners.reserve(at(data_.exclusions.begin.back()));
  for (const auto& partners : found)
    data_.exclusions.partners.insert(data_.exclusions.partners.end(), partners.begin(), partners.end());
}

TailIntegral PairForces::tail() const {
  const auto counts = data_.domain.system().type_counts();
  const auto n = counts.size();
  TailIntegral total;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) {
      const double pairs = static_cast<double>(counts[a]) * static_cast<double>(counts[b]);
      if (pairs == 0) continue;
      const auto one = data_.short_range.tail(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b));
      total.energy += pairs * one.energy;
      total.virial += pairs * one.virial;
    }
  return total;
}

std::size_t PairForces::bytes() const {
  return data_.clusters.capacity() * sizeof(ClusterData) + data_.charge.capacity() * sizeof(double) +
         (data_.type.capacity() + data_.exclusions.begin.capacity()) * sizeof(std::int32_t) +
         data_.exclusions.partners.capacity() * sizeof(ExcludedClusters::Partner) +
         listed_.capacity() * sizeof(ClusterPlaces) + lookup_.bytes() +
         (stride_.capacity() + mobility_.capacity() + data_.reach.capacity()) * sizeof(float);
}

std::int64_t PairForces::template_bytes(const model::System& system) {
  std::size_t n = 0;
  for (const auto& molecule : system.templates)
    n += molecule.type.size() * (sizeof(float) + sizeof(std::int32_t)) +
         2 * molecule.exclusions.size() * sizeof(std::int32_t);
  return static_cast<std::int64_t>(n);
}

std::int64_t PairForces::planned_bytes(std::int64_t slots, std::int64_t excluded_partners) {
  constexpr auto a_cluster = sizeof(ClusterData) + sizeof(ClusterPlaces) + sizeof(std::int32_t);
  constexpr auto a_slot = sizeof(double) + sizeof(std::int32_t) + 3 * sizeof(float);
  return static_cast<std::int64_t>(at(slots) * a_slot + at(slots / cluster_size) * a_cluster +
                                   at(excluded_partners) * sizeof(ExcludedClusters::Partner));
}

}  // namespace tessera::md::pair
