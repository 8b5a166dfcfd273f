#include "tessera/md/bonded/device/device_bonded.h"

#include <algorithm>
#include <type_traits>

#include "tessera/base/error.h"
#include "tessera/base/index.h"

namespace tessera::md::bonded {

namespace {

/// Adds integers to others, one by one.
template <class To, std::size_t n>
void add_all_fixed(To& to, const std::int64_t (&values)[n]) {
  for (std::size_t i = 0; i < n; ++i) add_fixed(to[i], values[i]);
}

/// Returns the grid points of all CMAP tables.
std::vector<CmapSurface::Node> nodes_of(const ForceTables& tables) {
  std::vector<CmapSurface::Node> nodes;
  for (const auto& table : tables[model::Cmap()]) nodes.insert(nodes.end(), table.nodes().begin(), table.nodes().end());
  return nodes;
}

}  // namespace

DeviceBonded::DeviceBonded(const ForceTables& tables, const DeviceAtoms& atoms)
    : atoms_(atoms),
      of_most_(find("tessera_bonded")),
      of_cmap_(find("tessera_cmap")),
      cmap_nodes_(atoms.device()),
      charge_(atoms.device()),
      sums_(atoms.device(), 1),
      host_sums_(atoms.device()) {
  const auto& on = atoms.device();
  host_sums_.resize(on, 1);
  const auto nodes = nodes_of(tables);
  cmap_nodes_.reserve(on, nodes.size());
  cmap_nodes_.start_copy_from(nodes, atoms.stream());
  model::for_each_kind([&](auto kind) {
    std::vector<RowOnDevice<decltype(kind)>> rows;
    if constexpr (std::is_same_v<decltype(kind), model::Cmap>) {
      const auto* first = cmap_nodes_.data();
      for (const auto& table : tables[kind]) {
        rows.push_back(table.surface());
        rows.back().nodes = first;
        first += table.nodes().size();
      }
    } else {
      rows = tables[kind];
    }
    const auto bytes = std::as_bytes(std::span(rows));
    lists_.push_back({0, device::GrowingArray<std::int32_t>(on), device::GrowingArray<std::int32_t>(on),
                      device::DeviceArray<std::byte>(on, bytes.size())});
    lists_.back().rows.start_copy_from(bytes, atoms.stream());
    atoms.stream().wait();  // rows go now
  });
}

DeviceBonded::Kernels DeviceBonded::find(const std::string& name) const {
  const auto& kernels = atoms_.in_use().kernels();
  return {kernels.find(name), kernels.find(name + "_energies")};
}

DeviceBonded::~DeviceBonded() { atoms_.stream().end(); }

void DeviceBonded::set_terms(const LocalTerms& terms, std::span<const double> charge) {
  const auto& on = atoms_.device();
  atoms_.stream().wait();  // the last terms may be in use
  const auto copy = [&]<class Array, class T>(Array& array, std::span<const T> values) {
    array.reserve(on, values.size());
    array.start_copy_from(values, atoms_.stream());
  };
  std::size_t k = 0;
  model::for_each_kind([&](auto kind) {
    auto& list = lists_[k++];
    const auto& [slots, parameter] = terms[kind];
    TESSERA_CHECK(slots.size() < (std::size_t{1} << 28));  // kernels number lanes and values in 32 bits
    list.n = static_cast<std::int32_t>(slots.size());
    copy(list.slots, std::span(slots.empty() ? nullptr : slots[0].data(), slots.size() * kind.arity));
    copy(list.parameter, std::span(parameter));
  });
  copy(charge_, charge);
  atoms_.stream().wait();  // what was copied may change or go now
}

void DeviceBonded::follow(const Renumbering& to) {
  atoms_.move(charge_, to);
  std::size_t k = 0;
  model::for_each_kind([&](auto kind) {
    const auto& list = lists_[k++];
    atoms_.renumber(list.slots.data(), std::int64_t{kind.arity} * list.n, to);
  });
}

void DeviceBonded::start(const Box& box, std::int64_t* total, bool with_sums) {
  atoms_.device();
  has_sums_ = with_sums;
  BondedArguments arguments{
      .box = edges_of(box),
      .position = atoms_.position(),
      .charge = charge_.data(),
      .total = total,
      .sums = sums_.data(),
      .kinds = {},
  };
  std::int64_t warps_of_most = 0, warps_of_cmap = 0;
  std::size_t k = 0;
  model::for_each_kind([&](auto kind) {
    auto& warps = has_own_kernel<decltype(kind)> ? warps_of_cmap : warps_of_most;
    const auto& list = lists_[k];
    arguments.kinds[k++] = {list.n, static_cast<std::int32_t>(warps), list.slots.data(), list.parameter.data(),
                            list.rows.data()};
    warps += device::warps_of(list.n);
  });
  if (with_sums) sums_.start_clear(atoms_.stream());
  const auto launch = [&](const Kernels& kernels, std::int64_t warps) {
    (with_sums ? kernels.with_sums : kernels.alone).start_warps(atoms_.stream(), warps, arguments);
  };
  launch(of_most_, warps_of_most);
  launch(of_cmap_, warps_of_cmap);
  if (with_sums) sums_.start_copy_to(host_sums_.get(), atoms_.stream());
}

void DeviceBonded::add_sums(EnergyVirial& sums) const {
  if (!has_sums_) return;
  const auto& found = host_sums_.get().front();
  add_all_fixed(sums.energy, found.energy);
  add_all_fixed(sums.energy_of_clashes, found.energy_of_clashes);
  add_all_fixed(sums.virial, found.virial);
  add_all_fixed(sums.virial_of_clashes, found.virial_of_clashes);
  sums.clashes.is_energy_limited |= found.n_limited > 0;
}

std::int64_t DeviceBonded::bytes() const {
  auto bytes = charge_.bytes();
  for (const auto& list : lists_) bytes += list.slots.bytes() + list.parameter.bytes();
  return static_cast<std::int64_t>(bytes);
}

}  // namespace tessera::md::bonded
