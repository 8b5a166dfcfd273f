#include "tessera/md/pair/device/device_pairs.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/md/pair/single_sum_virial.h"

namespace tessera::md::pair {

namespace {

constexpr int lanes_of_warp = 32, warps_of_block = 4;  // as the kernels are compiled
constexpr std::size_t n_cell_values = 3 * n_neighbour_cells;

const device::Device& made_current(const device::Device& device) {
  device.make_current();
  return device;
}

template <class T>
device::DeviceArray<T> on_device(const device::Device& device, std::span<const T> values,
                                 const device::Stream& stream) {
  device::DeviceArray<T> array(device, values.size());
  array.start_copy_from(values, stream);
  return array;
}

}  // namespace

std::string name_of_pair_kernel(const KernelConstants& k, StepSums sums) {
  std::string name = "tessera_pairs";
  if (k.lookup != Lookup::none) {
    name += k.lookup == Lookup::all ? "_all_lookup" : "_some_lookup";
  } else if (are_common(k) && sums != StepSums::energies) {
    const std::string modifier = k.lj == LjModifier::cut                ? "_cut"
                                 : k.lj == LjModifier::force_switch     ? "_force_switch"
                                 : k.lj == LjModifier::potential_switch ? "_potential_switch"
                                                                        : "";
    name += modifier;
    if (!modifier.empty() && k.has_two_cutoffs) name += "_two_cutoffs";
  }
  return name + (sums == StepSums::energies ? "_energies" : sums == StepSums::virial ? "_virial" : "");
}

DevicePairs::DevicePairs(const PairData& data, const LookupTable& lookup, const device::DeviceInUse& in_use)
    : data_(data),
      in_use_(in_use),
      device_(made_current(in_use.device())),
      stream_(device_),
      constants_(data.constants.constants),
      table_12a_(on_device(device_, std::span(constants_.table_12a, at(constants_.n_types) * at(constants_.n_types)),
                           stream_)),
      table_6b_(on_device(device_, std::span(constants_.table_6b, table_12a_.size()), stream_)),
      lookup_force_(on_device(device_, std::span(lookup.force), stream_)),
      lookup_energy_(on_device(device_, std::span(lookup.energy), stream_)),
      lookup_begin_(on_device(device_, std::span(lookup.begin), stream_)),
      rows_(device_),
      masked_(device_),
      plain_(device_),
      clusters_(device_),
      type_(device_),
      shifts_(device_, n_cell_values),
      cell_place_(device_, n_cell_values),
      force_(device_),
      total_(device_),
      cell_force_(device_, n_cell_values),
      energy_(device_, 2),
      virial_(device_, 12),
      clash_(device_),
      n_clashes_(device_, 1) {
  constants_.table_12a = table_12a_.data();
  constants_.table_6b = table_6b_.data();
  constants_.lookup_force = lookup_force_.data();
  constants_.lookup_energy = lookup_energy_.data();
  constants_.lookup_begin = lookup_begin_.data();
  stream_.wait();  // tables may not outlive this call
}

void DevicePairs::set_list(const PairList& list) {
  device_.make_current();
  stream_.wait();  // the last list may be in use
  const auto n_clusters = data_.clusters.size();
  TESSERA_CHECK(n_clusters < (std::size_t{1} << 27));  // kernels number values of clusters in 32 bits
  const auto made = make_device_list(list);
  n_rows_ = made.n_rows();
  n_inner_rows_ = made.n_inner_rows;
  const auto copy = [&]<class T>(device::GrowingArray<T>& array, std::span<const T> values) {
    array.reserve(device_, values.size());
    array.start_copy_from(values, stream_);
  };
  copy(rows_, std::span(made.rows));
  copy(masked_, std::span(made.masked));
  copy(plain_, std::span(made.plain));
  copy(type_, std::span(data_.type));
  clusters_.reserve(device_, n_clusters);
  force_.reserve(device_, n_clusters);
  total_.reserve(device_, 3 * cluster_size * n_clusters);
  clash_.reserve(device_, at(most_clashes_));
  host_total_.resize(3 * cluster_size * n_clusters);
  set_shifts(list);
}

void DevicePairs::set_shifts(const PairList& list) {
  device_.make_current();
  std::vector<std::int64_t> place;
  for (const auto& v : half_shell_vectors(data_.domain))
    for (const double coordinate : {v.x, v.y, v.z}) place.push_back(SingleSumVirial::to_place(coordinate));
  cell_place_.start_copy_from(place, stream_);
  shifts_.start_copy_from({list.shifts[0].data(), n_cell_values}, stream_);
  stream_.wait();  // what was copied may change or go now
}

/// Begins a kernel with as many warps at least.
template <class Arguments>
void DevicePairs::launch(const std::string& kernel, std::int64_t warps, const Arguments& arguments) {
  auto found = kernels_.find(kernel);
  if (found == kernels_.end()) found = kernels_.emplace(kernel, in_use_.kernels().find(kernel)).first;
  const auto blocks = static_cast<unsigned>((warps + warps_of_block - 1) / warps_of_block);
  if (blocks > 0) found->second.start(stream_, blocks, warps_of_block * lanes_of_warp, arguments);
}

PairArguments DevicePairs::arguments(ListHalf half) const {
  const bool is_inner = half == ListHalf::inner;
  return {
      .constants = constants_,
      .rows = rows_.data() + (is_inner ? 0 : n_inner_rows_),
      .n_rows = static_cast<std::int32_t>(is_inner ? n_inner_rows_ : n_rows_ - n_inner_rows_),
      .masked = masked_.data(),
      .plain = plain_.data(),
      .shifts = shifts_.data(),
      .clusters = clusters_.data(),
      .type = type_.data(),
      .sums = {force_.data(), cell_force_.data(), energy_.data(), clash_.data(), n_clashes_.data(), most_clashes_},
  };
}

void DevicePairs::start(ListHalf half, StepSums sums) {
  device_.make_current();  // a program in Python may do each step on another thread
  const std::span<const ClusterData> clusters(data_.clusters);
  const auto n_owned = at(data_.domain.n_owned_slots()) / cluster_size;
  if (half == ListHalf::inner) {
    sums_ = sums;
    force_.start_clear(stream_);
    cell_force_.start_clear(stream_);
    energy_.start_clear(stream_);
    n_clashes_.start_clear(stream_);
    clusters_.start_copy_from(clusters.first(n_owned), stream_);
  } else {
    clusters_.start_copy_from(clusters.subspan(n_owned), stream_, n_owned);
  }
  const auto of_half = arguments(half);
  launch(name_of_pair_kernel(constants_, sums_), of_half.n_rows, of_half);
}

std::vector<Clash> DevicePairs::finish(std::span<Accumulator> by_thread) {
  auto clashes = fetch_clashes();
  const bool has_virial = sums_ != StepSums::none;
  const ForceArguments of_atoms{
      .n_clusters = static_cast<std::int32_t>(data_.clusters.size()),
      .clusters = clusters_.data(),
      .force = force_.data(),
      .total = total_.data(),
      .cell_place = cell_place_.data(),
      .cell_force = cell_force_.data(),
      .virial = virial_.data(),
      .virial_remainder = virial_.data() + 6,
  };
  total_.start_clear(stream_);
  virial_.start_clear(stream_);
  // The warp after the last one adds the virial of cells.
  const auto warps = (cluster_size * std::int64_t{of_atoms.n_clusters} + lanes_of_warp - 1) / lanes_of_warp + 1;
  launch(has_virial ? "tessera_pair_forces_virial" : "tessera_pair_forces", warps, of_atoms);
  std::array<std::int64_t, 12> virial{};
  std::array<DeviceEnergy, 2> energy{};
  total_.start_copy_to(host_total_, stream_);
  if (has_virial) virial_.start_copy_to(virial, stream_);
  if (sums_ == StepSums::energies) energy_.start_copy_to(energy, stream_);
  stream_.wait();

  const auto total = by_thread[0].total;  // of all threads
  data_.threads.parallel_for(std::ssize(host_total_), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) add_fixed(total[at(i)], host_total_[at(i)]);
  });
  if (!has_virial) return clashes;
  EnergyVirial sums;
  std::copy_n(virial.begin(), 6, sums.virial.begin());
  std::copy_n(virial.begin() + 6, 6, sums.virial_remainder.begin());
  constexpr Term terms[] = {Term::lj, Term::coulomb_real};
  for (std::size_t i = 0; i < std::size(terms); ++i) {
    sums.energy[static_cast<std::size_t>(terms[i])] = energy[i].sum;
    sums.energy_of_clashes[static_cast<std::size_t>(terms[i])] = energy[i].of_clashes;
  }
  by_thread[0].energies->merge(sums);
  return clashes;
}

/// Waits for the sums over pairs, and fetches the clashes that were found. Where there was no room for all of them, it
/// makes room and sums once more.
std::vector<Clash> DevicePairs::fetch_clashes() {
  std::int32_t n = 0;
  n_clashes_.start_copy_to({&n, 1}, stream_);
  stream_.wait();
  if (n > most_clashes_) {
    most_clashes_ = n + n / 4;
    clash_.reserve(device_, at(most_clashes_));
    start(ListHalf::inner, sums_);
    start(ListHalf::outer, sums_);
    return fetch_clashes();
  }
  std::vector<DeviceClash> found(at(n));
  clash_.start_copy_to(found, stream_);
  stream_.wait();
  std::vector<Clash> clashes;
  for (const auto& [i_cluster, entry] : found)
    clashes.push_back({i_cluster,
                       {entry.j, static_cast<std::uint16_t>(entry.masks & 0xFFFF),
                        static_cast<std::uint16_t>(entry.masks >> 16), false}});
  return clashes;
}

std::int64_t DevicePairs::bytes() const {
  const auto held = [](const auto&... arrays) { return static_cast<std::int64_t>((arrays.bytes() + ...)); };
  return held(rows_, masked_, plain_, clusters_, type_, force_, total_, clash_);
}

double DevicePairs::planned_bytes(const PairCounts& counts) {
  constexpr double of_cluster =
      sizeof(ClusterData) + sizeof(ClusterForces) + cluster_size * (sizeof(std::int32_t) + 3 * sizeof(std::int64_t));
  const double of_list = counts.rows * sizeof(DeviceRow) + counts.masked_pairs * sizeof(DeviceEntry) +
                         (counts.cluster_pairs - counts.masked_pairs) * sizeof(PairEntry);
  return device::GrowingArray<char>::room * (of_cluster * counts.slots / cluster_size + of_list);
}

}  // namespace tessera::md::pair
