#include "tessera/md/pair/cluster_sum.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/md/pair/clusters/cluster_atoms.h"
#include "tessera/md/pair/device/device_pairs.h"
#include "tessera/md/pair/exact_pairs.h"
#include "tessera/md/pair/single_sum_virial.h"
#include "tessera/md/shares.h"

namespace tessera::md::pair {

namespace {

/// Returns what an accumulator wants of pairs.
StepSums sums_of(const Accumulator& accumulator) {
  return accumulator.energies == nullptr    ? StepSums::none
         : accumulator.sums_pair_energies() ? StepSums::energies
                                            : StepSums::virial;
}

}  // namespace

ClusterSum::ClusterSum(const PairData& data, Precision precision)
    : data_(data),
      precision_(precision),
      lister_(data.domain, data.threads),
      force_(at(data.threads.size())),
      cell_forces_(at(data.threads.size())),
      clashes_(at(data.threads.size())) {}

ClusterSum::~ClusterSum() = default;

void ClusterSum::use_device(const DeviceAtoms& atoms, const LookupTable& lookup) {
  if (precision_ == Precision::double_precision) return;
  atoms_ = &atoms;
  atoms.in_use().attempt([&] { device_ = std::make_unique<DevicePairs>(data_, lookup, atoms); });
}

/// Calls a function with what sums on a device. Returns whether it did all that it should. Whatever the device failed at
/// can be done by processors, which go on then.
template <class Function>
bool ClusterSum::on_device(Function&& function) {
  if (device_ == nullptr) return false;
  if (atoms_->in_use().attempt([&] { function(*device_); })) return true;
  device_.reset();
  has_inner_ = has_started_ = false;  // what the device had summed is lost with it
  return false;
}

void ClusterSum::rebuild() {
  lister_.rebuild(data_.settings.range());
  has_inner_ = has_started_ = has_masked_alone_ = has_places_ = false;
}

void ClusterSum::update(bool make_list) {
  if (is_on_device()) device_->forget_coordinates();
  if (!make_list) return;
  has_places_ = false;
  if (make_list_on_device()) return;
  build_list(data_.reach);
}

void ClusterSum::build_list(std::span<const float> reach) {
  lister_.build(data_.clusters, reach, data_.exclusions, data_.table_pairs, data_.type,
                data_.settings.range() + list_rounding, list_);
  has_masked_alone_ = false;
}

/// Lists what a device had listed that has failed.
void ClusterSum::complete_list() {
  if (!has_masked_alone_) return;
  // Atoms may be as far as their reach from where the device had listed them.
  std::vector<float> reach(data_.reach);
  for (auto& of_atom : reach) of_atom *= 2;
  build_list(reach);
}

/// Lets a device list what is near. Here the entries with masks are listed, once after each search.
bool ClusterSum::make_list_on_device() {
  return on_device([&](DevicePairs& pairs) {
    if (!has_masked_alone_) {
      lister_.build_masked(data_.exclusions, data_.table_pairs, data_.type, list_);
      has_masked_alone_ = true;
      pairs.set_cells(lister_, list_);
    }
    pairs.make_list(data_.settings.range() + list_rounding);
  });
}

void ClusterSum::set_box() {
  has_places_ = false;  // they and the reaches are other ones now
  set_shifts();
}

void ClusterSum::set_shifts() {
  list_.shifts = half_shell_shifts(data_.domain);
  on_device([&](DevicePairs& pairs) { pairs.set_shifts(list_); });
}

ClusterSum::Pieces ClusterSum::pieces_of(std::initializer_list<const std::vector<PairListPart>*> lists) {
  constexpr std::size_t rows_a_piece = 32;
  Pieces all;
  for (std::size_t thread = 0; thread < (*lists.begin())->size(); ++thread) {
    all.begin.push_back(std::ssize(all.pieces));
    for (const auto* parts : lists) {
      const auto& part = (*parts)[thread];
      for (std::size_t row = 0; row < part.n_rows(); row += rows_a_piece)
        all.pieces.push_back({&part, {row, std::min(row + rows_a_piece, part.n_rows())}});
    }
  }
  all.begin.push_back(std::ssize(all.pieces));
  return all;
}

/// Calls function(thread, part, rows) for pieces as threads become free. Sums across entries are sums of integers, so
/// it does not matter which thread runs a piece.
template <class Function>
void ClusterSum::for_pieces(const Pieces& all, Function&& function) {
  Shares shares(all.begin);
  data_.threads.run([&](int thread) {
    shares.work(thread, 1, [&](std::int64_t p, std::int64_t) {
      const auto& piece = all.pieces[at(p)];
      function(thread, *piece.part, piece.rows);
    });
  });
}

void ClusterSum::add_inner_forces(std::span<Accumulator> by_thread, const std::function<void()>& meanwhile) {
  if (precision_ == Precision::double_precision) return;
  const bool is_on_its_way =
      on_device([&](DevicePairs& pairs) { pairs.start(ListHalf::inner, sums_of(by_thread[0])); });
  has_inner_ = true;
  if (is_on_its_way) return meanwhile();
  complete_list();
  clear();
  run(pieces_of({&list_.inner}), by_thread, meanwhile);
}

void ClusterSum::start_forces(std::span<Accumulator> by_thread, std::int64_t* total, const double* charge) {
  has_started_ = on_device([&](DevicePairs& pairs) {
    const auto sums = sums_of(by_thread[0]);
    if (!std::exchange(has_inner_, false)) pairs.start(ListHalf::inner, sums);
    pairs.start(ListHalf::outer, sums);
    const bool has_mesh = data_.settings.electrostatics == Electrostatics::pme;
    if (charge != nullptr && has_mesh && sums == StepSums::energies) pairs.start_exclusion_energies(charge);
    pairs.start_total(total);
  });
}

void ClusterSum::start_coordinates(std::span<const ClusterPlaces> listed, std::span<const float> mobility) {
  on_device([&](DevicePairs& pairs) {
    if (!has_places_) pairs.set_places(listed, mobility);
    has_places_ = true;
    pairs.start_coordinates();
  });
}

bool ClusterSum::make_list_on_device(const ListSettings& list, float typical, const Velocity* velocity) {
  return on_device([&](DevicePairs& pairs) {
    pairs.make_list_of_own(data_.settings.range() + list_rounding, list, typical, velocity);
  });
}

bool ClusterSum::set_excluded_on_device(const ExcludedAtoms& excluded) {
  bool can_follow = false;
  on_device([&](DevicePairs& pairs) { can_follow = pairs.set_excluded(excluded); });
  return can_follow;
}

void ClusterSum::follow_on_device(const domain::SortedAtoms& sorted) {
  on_device([&](DevicePairs& pairs) { pairs.follow(sorted); });
}

std::int32_t ClusterSum::n_last_clashes_on_device() const { return is_on_device() ? device_->n_last_clashes() : 0; }

std::int32_t ClusterSum::n_clashes_on_device() const { return is_on_device() ? device_->n_clashes() : 0; }

bool ClusterSum::has_device_ended() {
  if (!has_started_) return true;
  if (!device_->has_ended()) return false;
  for (auto& clashes : clashes_) clashes.clear();
  clashes_[0] = device_->fetch_clashes();
  return true;
}

void ClusterSum::add_forces(std::span<Accumulator> by_thread) {
  if (precision_ == Precision::double_precision) return add_exact_forces(by_thread);
  const bool is_summed = has_started_ && on_device([&](DevicePairs& pairs) {
                           if (by_thread[0].energies != nullptr) pairs.add_sums(*by_thread[0].energies);
                         });
  has_started_ = false;
  if (!is_summed) sum_on_host(by_thread, std::exchange(has_inner_, false));
  const bool with_energies = by_thread[0].sums_pair_energies();
  const bool any_clash = std::any_of(clashes_.begin(), clashes_.end(), [](const auto& list) { return !list.empty(); });
  if (!any_clash && !with_energies) return;
  const ExactPairs exact(data_);
  data_.threads.run([&](int thread) {
    for (const auto& clash : clashes_[at(thread)])
      exact.add(clash.i_cluster, clash.entry, ExactPairs::ExclusionEnergy::leave_out, by_thread[at(thread)]);
  });
  if (!with_energies) return;
  // The energies of excluded pairs nearly cancel the self energy, so single precision would show. They are computed
  // here, for clashing pairs too.
  for_pieces(all_pieces(), [&](int thread, const PairListPart& part, const RowRange& rows) {
    for (auto row = rows.begin; row < rows.end; ++row)
      for (const auto& entry : part.masked_of(row))
        exact.add_exclusion_energies(part.rows[row].i_cluster, entry, *by_thread[at(thread)].energies);
  });
}

void ClusterSum::add_sums_of_device(EnergyVirial& sums) {
  if (std::exchange(has_started_, false)) device_->add_sums(sums);
}

void ClusterSum::sum_on_host(std::span<Accumulator> by_thread, bool has_inner) {
  complete_list();
  if (has_inner) {
    run(pieces_of({&list_.outer}), by_thread, [] {});
  } else {
    clear();
    run(all_pieces(), by_thread, [] {});
  }
  sum_forces(by_thread);
}

std::int64_t ClusterSum::n_evaluated() const {
  const auto on_device = has_masked_alone_ && is_on_device() ? device_->n_listed() : 0;
  return cluster_size * cluster_size * (list_.n_entries() + on_device);
}

std::int64_t ClusterSum::device_bytes() const { return is_on_device() ? device_->bytes() : 0; }

std::size_t ClusterSum::other_bytes() const {
  std::size_t n = lister_.bytes() + (is_on_device() ? device_->host_bytes() : 0);
  for (const auto& buffer : force_) n += buffer.capacity() * sizeof(ClusterForces);
  return n;
}

void ClusterSum::clear() {
  data_.threads.run([&](int thread) {
    force_[at(thread)].assign(data_.clusters.size(), {});
    cell_forces_[at(thread)] = {};
    clashes_[at(thread)].clear();
  });
}

template <class Function>
void ClusterSum::run(const Pieces& pieces, std::span<Accumulator> by_thread, Function&& meanwhile) {
  for_pieces(pieces, [&](int thread, const PairListPart& part, const RowRange& rows) {
    const auto& sums = by_thread[at(thread)];
    run_cluster_kernel(data_.constants.constants, list_, part, rows, data_.clusters.data(), data_.type.data(),
                       force_[at(thread)].data(), sums.energies != nullptr ? &cell_forces_[at(thread)] : nullptr,
                       sums.sums_pair_energies() ? sums.energies : nullptr, clashes_[at(thread)]);
    if (thread == 0) meanwhile();
  });
}

/// Converts x[4] y[4] z[4] of each cluster in the kernel's unit to x y z of each slot in force_unit, summed over
/// threads. Adds the virial where it is wanted.
void ClusterSum::sum_forces(std::span<Accumulator> by_thread) {
  data_.threads.run([&](int thread) {
    const auto n = static_cast<std::int64_t>(data_.clusters.size());
    const auto begin = n * thread / data_.threads.size(), end = n * (thread + 1) / data_.threads.size();
    add_to_atoms(force_, begin, end, by_thread[at(thread)].total.data());
    if (by_thread[at(thread)].energies == nullptr) return;
    SingleSumVirial virial;
    for (auto c = begin; c < end; ++c) {
      std::int32_t force[3][4];
      for (std::size_t d = 0; d < 3; ++d)
        for (std::size_t k = 0; k < 4; ++k) {
          std::uint32_t sum = 0;
          for (const auto& buffer : force_) sum += static_cast<std::uint32_t>(buffer[at(c)].value[force_offset[d] + k]);
          force[d][k] = static_cast<std::int32_t>(sum);
        }
      const auto& cluster = data_.clusters[at(c)];
      for (std::size_t k = 0; k < 4; ++k)
        virial.add({SingleSumVirial::to_place(cluster.x[k]), SingleSumVirial::to_place(cluster.y[k]),
                    SingleSumVirial::to_place(cluster.z[k])},
                   {force[0][k], force[1][k], force[2][k]});
    }
    virial.add_to(*by_thread[at(thread)].energies);
  });
  if (by_thread[0].energies != nullptr) add_virial_of_cells(*by_thread[0].energies);
}

/// Adds the part of the virial that is due to the distances between cells.
void ClusterSum::add_virial_of_cells(EnergyVirial& energies) const {
  SingleSumVirial virial;
  const auto vectors = half_shell_vectors(data_.domain);
  for (const auto& of_thread : cell_forces_)
    for (std::size_t cell = 0; cell < n_neighbour_cells; ++cell) {
      const auto& v = vectors[cell];
      virial.add({SingleSumVirial::to_place(v.x), SingleSumVirial::to_place(v.y), SingleSumVirial::to_place(v.z)},
                 of_thread.total(cell));
    }
  virial.add_to(energies);
}

void ClusterSum::add_exact_forces(std::span<Accumulator> by_thread) {
  const ExactPairs exact(data_);
  for_pieces(all_pieces(), [&](int thread, const PairListPart& part, const RowRange& rows) {
    for (auto row = rows.begin; row < rows.end; ++row) {
      const auto add = [&](const MaskedEntry& entry) {
        exact.add(part.rows[row].i_cluster, entry, ExactPairs::ExclusionEnergy::add, by_thread[at(thread)]);
      };
      for (const auto& entry : part.masked_of(row)) add(entry);
      for (const auto j : part.plain_of(row)) add({j, 0xFFFF, 0, false});
    }
  });
}

PairBytes plan_cluster_sum(const PairCounts& counts, Precision precision) {
  PairBytes bytes;
  bytes.list = counts.rows * sizeof(Row) + counts.masked_pairs * sizeof(MaskedEntry) +
               (counts.cluster_pairs - counts.masked_pairs) * sizeof(PairEntry);
  bytes.other = static_cast<double>(PairLister::planned_bytes(counts.slots / cluster_size, counts.cells));
  if (precision == Precision::double_precision)
    bytes.slots_of_thread = counts.slots_near_share;
  else  // it sums buffers of its own
    bytes.other += counts.threads * counts.slots / cluster_size * sizeof(ClusterForces);
  return bytes;
}

}  // namespace tessera::md::pair
