#include "tessera/md/pair/device/device_pairs.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/md/pair/single_sum_virial.h"

namespace tessera::md::pair {

namespace {

constexpr std::size_t n_cell_values = 3 * n_neighbour_cells;
constexpr std::int64_t most_table_rows = std::int64_t{1} << 27;  // of which kernels number 16 values each

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

DevicePairs::DevicePairs(const PairData& data, const LookupTable& lookup, const DeviceAtoms& atoms)
    : data_(data),
      atoms_(atoms),
      device_(atoms.device()),
      stream_(atoms.stream()),
      constants_(data.constants.constants),
      table_12a_(on_device(device_, std::span(constants_.table_12a, at(constants_.n_types) * at(constants_.n_types)),
                           stream_)),
      table_6b_(on_device(device_, std::span(constants_.table_6b, table_12a_.size()), stream_)),
      lookup_force_(on_device(device_, std::span(lookup.force), stream_)),
      lookup_energy_(on_device(device_, std::span(lookup.energy), stream_)),
      lookup_begin_(on_device(device_, std::span(lookup.begin), stream_)),
      needs_table_(device_, data.table_pairs.any ? data.table_pairs.needs_table.size() : 0),
      has_table_(device_, data.table_pairs.any ? data.table_pairs.has_table.size() : 0),
      rows_(device_),
      masked_(device_),
      tiles_(device_),
      tile_entries_(device_),
      table_rows_(device_),
      table_entries_(device_),
      clusters_(device_),
      type_(device_),
      groups_(device_),
      partners_(device_),
      excluded_(device_),
      partner_(device_),
      reach_(device_),
      mobility_(device_),
      counts_(device_, 1),
      shifts_(device_, n_cell_values),
      cell_place_(device_, n_cell_values),
      cell_vectors_(device_, n_cell_values),
      listed_(device_),
      centre_(device_),
      partner_cell_(device_),
      excluded_begin_(device_),
      excluded_atom_(device_),
      mask_counts_(device_, 1),
      force_(device_),
      cell_force_(device_, n_cell_values),
      energy_(device_, 3),
      virial_(device_, 12),
      clash_(device_),
      n_clashes_(device_, 1),
      host_clusters_(device_),
      host_sums_(device_) {
  host_sums_.resize(device_, 1);
  constants_.table_12a = table_12a_.data();
  constants_.table_6b = table_6b_.data();
  constants_.lookup_force = lookup_force_.data();
  constants_.lookup_energy = lookup_energy_.data();
  constants_.lookup_begin = lookup_begin_.data();
  const auto copy_flags = [&](const auto& array, const std::vector<std::uint8_t>& flags) {
    if (array.size() == 0) return;
    const std::vector<std::int32_t> values(flags.begin(), flags.end());
    array.start_copy_from(values, stream_);
    stream_.wait();  // values go now
  };
  copy_flags(needs_table_, data.table_pairs.needs_table);
  copy_flags(has_table_, data.table_pairs.has_table);
  stream_.wait();  // tables may not outlive this call
}

DevicePairs::~DevicePairs() { stream_.end(); }

/// Makes room for forces on so many slots, and on the host for clusters.
void DevicePairs::make_room(std::int64_t n_slots) {
  n_clusters_ = n_slots / cluster_size;
  TESSERA_CHECK(n_clusters_ < most_clusters);  // kernels number values of clusters in 32 bits
  force_.reserve(device_, at(n_clusters_));
  host_clusters_.resize(device_, at(n_clusters_));
}

/// Divides the clusters of cells into groups: those of inner cells first, equally many clusters in each of a cell.
void DevicePairs::set_groups(const OfCell& first_cluster, const OfCell& is_inner, const OfCell& has_partners) {
  std::vector<ClusterGroup> groups;
  for (const bool inner : {true, false}) {
    for (std::int32_t cell = 0; cell < data_.domain.n_cells(); ++cell) {
      const auto first = first_cluster(cell), n = first_cluster(cell + 1) - first;
      if ((is_inner(cell) != 0) != inner || has_partners(cell) == 0) continue;
      const auto n_groups = (n + clusters_of_tile - 1) / clusters_of_tile;
      for (std::int32_t g = 0; g < n_groups; ++g)
        groups.push_back({cell, first + n * g / n_groups, n * (g + 1) / n_groups - n * g / n_groups});
    }
    if (inner) n_inner_groups_ = groups.size();
  }
  n_groups_ = groups.size();
  copy_to(groups_, std::span<const ClusterGroup>(groups));
  stream_.wait();  // they go now
}

void DevicePairs::set_cells(const PairLister& lister, const PairList& masked) {
  device_.make_current();
  stream_.wait();
  const auto& domain = data_.domain;
  std::vector<PartnerCells> partners(at(domain.n_cells()));
  data_.threads.parallel_for(domain.n_cells(), [&](std::int64_t begin, std::int64_t end) {
    for (auto cell = begin; cell < end; ++cell)
      partners[at(cell)] = lister.partners_of(static_cast<std::int32_t>(cell));
  });
  set_groups([&](std::int32_t cell) { return domain.first_cluster(cell); },
             [&](std::int32_t cell) { return lister.is_inner(cell) ? 1 : 0; },
             [&](std::int32_t cell) { return partners[at(cell)].begin != partners[at(cell)].end ? 1 : 0; });
  const auto& [begin, excluded_partners] = data_.exclusions;
  std::vector<std::int32_t> partner;
  std::ranges::transform(excluded_partners, std::back_inserter(partner), &ExcludedClusters::Partner::cluster);
  std::vector<ExcludedRange> excluded;
  for (std::size_t cluster = 0; cluster + 1 < begin.size(); ++cluster)
    excluded.push_back({begin[cluster], begin[cluster + 1]});
  most_partners_ = partner.size();
  copy_to(partners_, std::span<const PartnerCells>(partners));
  copy_to(excluded_, std::span<const ExcludedRange>(excluded));
  copy_to(partner_, std::span<const std::int32_t>(partner));
  reach_.reserve(device_, data_.reach.size());
  const auto made = masked_rows(masked);
  n_rows_ = std::ssize(made.rows);
  n_inner_rows_ = made.n_inner_rows;
  most_masked_ = made.masked.size();
  copy_to(rows_, std::span(made.rows));
  copy_to(masked_, std::span(made.masked));
  copy_to(type_, std::span(data_.type));
  make_room(std::ssize(data_.type));
  clusters_.reserve(device_, at(n_clusters_));
  clash_.reserve(device_, at(most_clashes_));
  set_shifts(masked);  // it waits until all is copied
}

TableOnDevice DevicePairs::table() const {
  return {.n_types = constants_.n_types,
          .needs_table = data_.table_pairs.any ? needs_table_.data() : nullptr,
          .has_table = has_table_.data(),
          .type = type_.data()};
}

void DevicePairs::make_list(double cutoff) {
  device_.make_current();
  stream_.wait();  // the last list may be in use
  copy_clusters(0, data_.clusters.size());
  reach_.start_copy_from(data_.reach, stream_);
  list_all(cutoff);
}

void DevicePairs::make_list_of_own(double cutoff, const ListSettings& list, float typical, const Velocity* velocity) {
  device_.make_current();
  const ReachArguments arguments{
      .list = list,
      .typical = typical,
      .n_slots = atoms_.n_slots(),
      .velocity = velocity,
      .mobility = mobility_.data(),
      .clusters = clusters_.data(),
      .reach = reach_.data(),
      .listed = listed_.data(),
  };
  launch("tessera_pair_reach", device::warps_of(arguments.n_slots), arguments);
  has_coordinates_ = true;  // for the sum that comes
  list_all(cutoff);
}

/// Lists all that is near by coordinates and reaches on the device.
void DevicePairs::list_all(double cutoff) {
  ListArguments all{
      .n_groups = 0,
      .groups = nullptr,
      .partners = partners_.data(),
      .excluded = excluded_.data(),
      .partner = partner_.data(),
      .clusters = clusters_.data(),
      .reach = reach_.data(),
      .shifts = shifts_.data(),
      .cutoff = static_cast<float>(cutoff),
      .tiles = nullptr,
      .entries = nullptr,
      .most_tiles = 0,
      .counts = counts_.data(),
      .table = table(),
      .table_rows = nullptr,
      .table_entries = nullptr,
      .most_by_table = 0,
  };
  while (true) {
    all.tiles = tiles_.data();
    all.entries = tile_entries_.data();
    all.most_tiles = static_cast<std::int32_t>(most_tiles_);
    all.table_rows = table_rows_.data();
    all.table_entries = table_entries_.data();
    all.most_by_table = static_cast<std::int32_t>(most_by_table_);
    counts_.start_clear(stream_);
    ListCounts counts{};
    if (n_inner_groups_ > 0) counts = list(all, 0, n_inner_groups_);
    n_inner_tiles_ = counts.tiles;
    if (n_inner_groups_ < n_groups_) counts = list(all, n_inner_groups_, n_groups_);
    n_tiles_ = counts.tiles;
    n_table_rows_ = counts.by_table;
    n_listed_ = counts.entries;
    if (at(n_tiles_) <= most_tiles_ && at(n_table_rows_) <= most_by_table_) return;
    if (n_table_rows_ >= most_table_rows)
      throw RunError("more pairs of clusters need parameters of their own (NBFIX) than a GPU numbers");
    const auto with_room = [](std::size_t most, std::int64_t n) {
      return at(n) > most ? at(n) + at(n) / 16 : most;  // there was no room for all of them
    };
    most_tiles_ = with_room(most_tiles_, n_tiles_);
    most_by_table_ = with_room(most_by_table_, n_table_rows_);
    tiles_.reserve(device_, most_tiles_);
    tile_entries_.reserve(device_, entries_of_tile * most_tiles_);
    table_rows_.reserve(device_, most_by_table_);
    table_entries_.reserve(device_, most_by_table_);
  }
}

/// Lists what is near the clusters of some groups, and returns what has been listed since the counts were cleared.
ListCounts DevicePairs::list(const ListArguments& all, std::size_t first, std::size_t last) {
  ListArguments arguments = all;
  arguments.groups = groups_.data() + first;
  arguments.n_groups = static_cast<std::int32_t>(last - first);
  launch("tessera_pair_list", arguments.n_groups, arguments);
  ListCounts counts{};
  counts_.start_copy_to({&counts, 1}, stream_);
  stream_.wait();
  return counts;
}

void DevicePairs::set_shifts(const PairList& list) {
  device_.make_current();
  std::vector<std::int64_t> place;
  std::vector<double> vectors;
  for (const auto& v : half_shell_vectors(data_.domain)) {
    vectors.insert(vectors.end(), {v.x, v.y, v.z});
    for (const double coordinate : {v.x, v.y, v.z}) place.push_back(SingleSumVirial::to_place(coordinate));
  }
  cell_vectors_.start_copy_from(vectors, stream_);
  cell_place_.start_copy_from(place, stream_);
  shifts_.start_copy_from({list.shifts[0].data(), n_cell_values}, stream_);
  stream_.wait();  // what was copied may change or go now
}

/// Begins to copy values to an array that holds no others.
template <class Array, class T>
void DevicePairs::copy_to(Array& array, std::span<const T> values) {
  array.reserve(device_, values.size());
  array.start_copy_from(values, stream_);
}

/// Begins a kernel with as many warps at least.
template <class Arguments>
void DevicePairs::launch(const std::string& kernel, std::int64_t warps, const Arguments& arguments) {
  auto found = kernels_.find(kernel);
  if (found == kernels_.end()) found = kernels_.emplace(kernel, atoms_.in_use().kernels().find(kernel)).first;
  found->second.start_warps(stream_, warps, arguments);
}

PairArguments DevicePairs::arguments(ListHalf half) const {
  const bool is_inner = half == ListHalf::inner;
  return {
      .constants = constants_,
      .rows = rows_.data() + (is_inner ? 0 : n_inner_rows_),
      .tiles = tiles_.data() + (is_inner ? 0 : n_inner_tiles_),
      .n_rows = static_cast<std::int32_t>(is_inner ? n_inner_rows_ : n_rows_ - n_inner_rows_),
      .n_tiles = static_cast<std::int32_t>(is_inner ? n_inner_tiles_ : n_tiles_ - n_inner_tiles_),
      .masked = masked_.data(),
      .tile_entries = tile_entries_.data(),
      .shifts = shifts_.data(),
      .clusters = clusters_.data(),
      .type = type_.data(),
      .sums = {force_.data(), cell_force_.data(), energy_.data(), clash_.data(), n_clashes_.data(), most_clashes_},
  };
}

/// Begins to copy the coordinates and parameters of clusters.
void DevicePairs::copy_clusters(std::size_t begin, std::size_t end) {
  const auto staged = host_clusters_.get().subspan(begin, end - begin);
  data_.threads.copy(std::span<const ClusterData>(data_.clusters.data() + begin, staged.size()), staged);
  clusters_.start_copy_from(staged, stream_, begin);
}

void DevicePairs::set_places(std::span<const ClusterPlaces> listed, std::span<const float> mobility) {
  device_.make_current();
  stream_.wait();  // the last ones may be in use
  const auto& domain = data_.domain;
  std::vector<Fraction> centre(listed.size());
  for (std::int32_t cell = 0; cell < domain.n_cells(); ++cell)
    std::fill(centre.begin() + domain.first_cluster(cell), centre.begin() + domain.first_cluster(cell + 1),
              domain.grid().centre(domain.cell(cell)));
  copy_to(centre_, std::span<const Fraction>(centre));
  copy_to(listed_, listed);
  copy_to(mobility_, mobility);
  copy_to(reach_, std::span(data_.reach));
  stream_.wait();  // what was copied may change or go now
}

bool DevicePairs::set_excluded(const ExcludedAtoms& excluded) {
  device_.make_current();
  if (excluded.atoms.size() > at(std::numeric_limits<std::int32_t>::max())) return false;
  std::int32_t most = 0;
  for (std::size_t atom = 0; atom + 1 < excluded.begin.size(); ++atom)
    most = std::max(most, excluded.begin[atom + 1] - excluded.begin[atom]);
  if (cluster_size * most > most_excluded) return false;
  copy_to(excluded_begin_, std::span(excluded.begin));
  copy_to(excluded_atom_, std::span(excluded.atoms));
  stream_.wait();  // what was copied may go now
  return true;
}

void DevicePairs::follow(const domain::SortedAtoms& sorted) {
  device_.make_current();
  make_room(sorted.n_slots);
  atoms_.move(type_, sorted, static_cast<std::uint32_t>(-1));
  atoms_.move(mobility_, sorted);
  reach_.reserve(device_, at(sorted.n_slots));
  listed_.reserve(device_, at(n_clusters_));
  centre_.reserve(device_, at(n_clusters_));
  const ClusterArguments arguments{
      .n_slots = sorted.n_slots,
      .to_length = SingleTriangular(data_.domain.state().box.unit_vectors()),
      .source = sorted.source,
      .position = atoms_.position(),
      .cell_of = sorted.cell_of,
      .cell_centre = sorted.centre,
      .padding_epsilon = data_.padding_epsilon,
      .from = clusters_.data(),
      .to = clusters_.next(device_, at(n_clusters_)),
      .centre = centre_.data(),
  };
  launch("tessera_pair_clusters", device::warps_of(sorted.n_slots), arguments);
  clusters_.take_next();
  find_partner_cells();
  const PartnerArguments of_cells{
      .n_cells = data_.domain.n_cells(),
      .partner = partner_cell_.data(),
      .first_cluster = sorted.first_cluster,
      .partners = partners_.data(),
  };
  launch("tessera_pair_partners", device::warps_of(std::int64_t{PartnerCells::room} * of_cells.n_cells), of_cells);
  list_masked(sorted);
  const auto all = [](std::int32_t) { return 1; };  // there is no halo
  set_groups([&](std::int32_t cell) { return sorted.first_cluster_on_host[at(cell)]; }, all, all);
}

/// Finds the partners of cells, once for a grid.
void DevicePairs::find_partner_cells() {
  const auto& domain = data_.domain;
  const auto n = PartnerCells::room * at(domain.n_cells());
  if (n_partner_cells_ == n) return;
  std::vector<std::int32_t> partner(n, -1);
  data_.threads.parallel_for(domain.n_cells(), [&](std::int64_t begin, std::int64_t end) {
    for (auto cell = begin; cell < end; ++cell)
      for (std::size_t o = 0; o < half_shell().size(); ++o)
        partner[PartnerCells::room * at(cell) + o] =
            find_partner_cell(domain, static_cast<std::int32_t>(cell), half_shell()[o]);
  });
  copy_to(partner_cell_, std::span<const std::int32_t>(partner));
  stream_.wait();  // it goes now
  n_partner_cells_ = n;
}

/// Lists clusters with themselves and with their excluded partners.
void DevicePairs::list_masked(const domain::SortedAtoms& sorted) {
  n_rows_ = n_inner_rows_ = n_clusters_;
  rows_.reserve(device_, at(n_rows_));
  excluded_.reserve(device_, at(n_clusters_));
  while (true) {
    mask_counts_.start_clear(stream_);
    const MaskArguments arguments{
        .n_clusters = static_cast<std::int32_t>(n_clusters_),
        .atom = sorted.atom,
        .slot_of = sorted.slot_of,
        .cell_of = sorted.cell_of,
        .partners = partners_.data(),
        .excluded_begin = excluded_begin_.data(),
        .excluded_atom = excluded_atom_.data(),
        .rows = rows_.data(),
        .masked = masked_.data(),
        .most_masked = static_cast<std::int32_t>(most_masked_),
        .excluded = excluded_.data(),
        .partner = partner_.data(),
        .most_partners = static_cast<std::int32_t>(most_partners_),
        .counts = mask_counts_.data(),
        .table = table(),
    };
    launch("tessera_pair_masks", n_clusters_, arguments);
    MaskCounts counts{};
    mask_counts_.start_copy_to({&counts, 1}, stream_);
    stream_.wait();
    if (at(counts.masked) <= most_masked_ && at(counts.partners) <= most_partners_) return;
    most_masked_ = at(counts.masked) + at(counts.masked) / 16;  // there was no room for all of them
    most_partners_ = at(counts.partners) + at(counts.partners) / 16;
    masked_.reserve(device_, most_masked_);
    partner_.reserve(device_, most_partners_);
  }
}

void DevicePairs::start_coordinates() {
  device_.make_current();
  const CoordinateArguments arguments{
      .to_length = SingleTriangular(data_.domain.state().box.unit_vectors()),
      .n_slots = atoms_.n_slots(),
      .position = atoms_.position(),
      .type = type_.data(),
      .reach = reach_.data(),
      .centre = centre_.data(),
      .listed = listed_.data(),
      .clusters = clusters_.data(),
      .check = atoms_.check(),
  };
  launch("tessera_pair_coordinates", device::warps_of(arguments.n_slots), arguments);
  n_clashes_.start_copy_to({&host_sums_.get().front().n_last_clashes, 1}, stream_);
  has_coordinates_ = true;
}

void DevicePairs::start(ListHalf half, StepSums sums) {
  device_.make_current();  // a program in Python may do each step on another thread
  const auto n_owned = at(data_.domain.n_owned_slots()) / cluster_size;
  if (half == ListHalf::inner) {
    sums_ = sums;
    force_.start_clear(stream_);
    cell_force_.start_clear(stream_);
    energy_.start_clear(stream_);
    n_clashes_.start_clear(stream_);
    if (!has_coordinates_) copy_clusters(0, n_owned);
  } else {
    if (!has_coordinates_) copy_clusters(n_owned, data_.clusters.size());
    has_coordinates_ = false;
  }
  auto of_half = arguments(half);
  launch(name_of_pair_kernel(constants_, sums_), std::int64_t{of_half.n_tiles} + of_half.n_rows, of_half);
  if (half == ListHalf::inner || n_table_rows_ == 0) return;
  of_half.n_tiles = 0;
  of_half.rows = table_rows_.data();
  of_half.n_rows = static_cast<std::int32_t>(n_table_rows_);
  of_half.masked = table_entries_.data();
  launch(name_of_pair_kernel(constants_, sums_), n_table_rows_, of_half);
}

void DevicePairs::start_exclusion_energies(const double* charge) {
  device_.make_current();
  const auto& settings = data_.settings;
  const ExclusionArguments of_rows{
      .n_rows = static_cast<std::int32_t>(n_rows_),
      .rows = rows_.data(),
      .masked = masked_.data(),
      .to_length = data_.domain.state().box.unit_vectors(),
      .position = atoms_.position(),
      .centre = centre_.data(),
      .charge = charge,
      .vectors = cell_vectors_.data(),
      .coulomb_constant = settings.coulomb_constant,
      .alpha = settings.alpha,
      .range = settings.range(),
      .energy = energy_.data() + 2,
  };
  launch("tessera_pair_exclusions", n_rows_, of_rows);
}

void DevicePairs::start_total(std::int64_t* total) {
  total_ = total;
  const bool has_virial = sums_ != StepSums::none;
  const ForceArguments of_atoms{
      .n_clusters = static_cast<std::int32_t>(n_clusters_),
      .clusters = clusters_.data(),
      .force = force_.data(),
      .n_clashes = n_clashes_.data(),
      .most_clashes = most_clashes_,
      .total = total,
      .cell_place = cell_place_.data(),
      .cell_force = cell_force_.data(),
      .virial = virial_.data(),
      .virial_remainder = virial_.data() + 6,
  };
  virial_.start_clear(stream_);
  // The warp after the last one adds the virial of cells.
  const auto warps = device::warps_of(cluster_size * std::int64_t{of_atoms.n_clusters});
  launch(has_virial ? "tessera_pair_forces_virial" : "tessera_pair_forces", warps + 1, of_atoms);
  auto& sums = host_sums_.get().front();
  n_clashes_.start_copy_to({&sums.n_clashes, 1}, stream_);
  if (has_virial) virial_.start_copy_to(sums.virial, stream_);
  if (sums_ == StepSums::energies) energy_.start_copy_to(sums.energy, stream_);
}

bool DevicePairs::has_ended() {
  const auto n = n_clashes();
  if (n <= most_clashes_) return true;
  most_clashes_ = n + n / 4;
  clash_.reserve(device_, at(most_clashes_));
  start(ListHalf::inner, sums_);
  start(ListHalf::outer, sums_);
  start_total(total_);
  return false;
}

std::vector<Clash> DevicePairs::fetch_clashes() {
  std::vector<DeviceClash> found(at(n_clashes()));
  if (!found.empty()) {
    clash_.start_copy_to(found, stream_);
    stream_.wait();
  }
  std::vector<Clash> clashes;
  for (const auto& [i_cluster, entry] : found)
    clashes.push_back({i_cluster,
                       {entry.j, static_cast<std::uint16_t>(entry.masks & 0xFFFF),
                        static_cast<std::uint16_t>(entry.masks >> 16), false}});
  return clashes;
}

void DevicePairs::add_sums(EnergyVirial& to) const {
  if (sums_ == StepSums::none) return;
  const auto& sums = host_sums_.get().front();
  EnergyVirial added;
  std::copy_n(sums.virial, 6, added.virial.begin());
  std::copy_n(sums.virial + 6, 6, added.virial_remainder.begin());
  constexpr Term terms[] = {Term::lj, Term::coulomb_real, Term::coulomb_exclusion};
  for (std::size_t i = 0; i < std::size(terms) && sums_ == StepSums::energies; ++i) {
    added.energy[static_cast<std::size_t>(terms[i])] = sums.energy[i].sum;
    added.energy_of_clashes[static_cast<std::size_t>(terms[i])] = sums.energy[i].of_clashes;
  }
  to.merge(added);
}

std::int64_t DevicePairs::bytes() const {
  const auto held = [](const auto&... arrays) { return static_cast<std::int64_t>((arrays.bytes() + ...)); };
  return held(rows_, masked_, tiles_, tile_entries_, table_rows_, table_entries_, clusters_, type_, groups_, partners_,
              excluded_, partner_, reach_, mobility_, listed_, centre_, partner_cell_, excluded_begin_, excluded_atom_,
              force_, clash_);
}

double DevicePairs::planned_bytes(const PairCounts& counts) {
  constexpr double of_slot = 2 * sizeof(std::int32_t) + sizeof(float);
  constexpr double of_cluster = sizeof(ClusterData) + sizeof(ClusterForces) + cluster_size * of_slot;
  constexpr double sharing = 4;  // i-clusters of a tile that are near a j-cluster; more with short lists
  constexpr double of_tile = sizeof(DeviceTile) + 1.0 * entries_of_tile * sizeof(TileEntry);
  const double clusters = counts.slots / cluster_size, groups = clusters / clusters_of_tile + 0.5 * counts.cells;
  const double entries = (counts.cluster_pairs - counts.masked_pairs) / sharing;
  const double tiles = entries / entries_of_tile + 0.5 * groups;  // the last one of a group is half full
  const double of_list = counts.rows * sizeof(DeviceRow) + counts.masked_pairs * sizeof(DeviceEntry) + tiles * of_tile;
  const double of_cells = counts.cells * sizeof(PartnerCells) + groups * sizeof(ClusterGroup);
  return device::GrowingArray<char>::room * (of_cluster * clusters + of_list + of_cells);
}

}  // namespace tessera::md::pair
