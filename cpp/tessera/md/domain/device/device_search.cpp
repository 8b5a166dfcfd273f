#include "tessera/md/domain/device/device_search.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/index.h"

namespace tessera::md::domain {

namespace {

// What kernels number in 32 bits: partners of cells, 128 values each, and values of atoms.
constexpr std::int64_t most_cells_along = std::int64_t{1} << 16, most_cells = std::int64_t{1} << 24,
                       most_atoms = std::int64_t{1} << 28;

}  // namespace

bool DeviceSearch::serves(const Domain& domain) {
  const auto& n = domain.grid().n;
  return !domain.is_sparse() && domain.n_owned_cells() == domain.grid().size() &&
         domain.system().n_atoms() < most_atoms && domain.grid().size() < most_cells &&
         std::ranges::all_of(n, [](std::int64_t cells) { return cells < most_cells_along; });
}

DeviceSearch::DeviceSearch(const Domain& domain, DeviceAtoms& atoms)
    : domain_(domain),
      atoms_(atoms),
      cells_(atoms.in_use().kernels().find("tessera_cells")),
      atoms_of_cells_(atoms.in_use().kernels().find("tessera_atoms_of_cells")),
      sort_(atoms.in_use().kernels().find("tessera_sort_cells")),
      cell_of_flat_(atoms.device(), at(domain.n_cells())),
      count_(atoms.device(), at(domain.n_cells())),
      begin_(atoms.device(), at(domain.n_cells()) + 1),
      centre_(atoms.device(), at(domain.n_cells())),
      host_count_(atoms.device()),
      host_begin_(atoms.device()),
      key_(atoms.device(), at(domain.system().n_atoms())),
      slot_of_(atoms.device(), at(domain.system().n_atoms())),
      atom_(atoms.device()),
      cell_(atoms.device()),
      place_(atoms.device()),
      slot_(atoms.device()),
      list_(atoms.device()),
      source_(atoms.device()),
      cell_of_(atoms.device()),
      host_atom_(atoms.device()),
      host_reference_(atoms.device()) {
  host_count_.resize(atoms.device(), at(domain.n_cells()));
  host_begin_.resize(atoms.device(), at(domain.n_cells()) + 1);
  std::vector<std::int32_t> cell_of_flat, key;
  std::vector<Fraction> centre;
  for (std::int32_t cell = 0; cell < domain.n_cells(); ++cell) {
    cell_of_flat.push_back(domain.local_cell(domain.grid().unflat(cell)));
    centre.push_back(domain.grid().centre(domain.cell(cell)));
  }
  key.reserve(key_.size());
  for (const auto& run : domain.system().instances()) {
    const auto& group = domain.system().templates[at(run.molecule)].group;
    for (std::int64_t i = 0; i < run.count; ++i) {
      const auto first = static_cast<std::int32_t>(key.size());
      for (const auto atom : group) key.push_back(first + atom);
    }
  }
  TESSERA_CHECK(key.size() == key_.size());
  cell_of_flat_.start_copy_from(cell_of_flat, atoms.stream());
  centre_.start_copy_from(centre, atoms.stream());
  key_.start_copy_from(key, atoms.stream());
  atoms.stream().wait();  // what was copied goes now
}

DeviceSearch::~DeviceSearch() { atoms_.stream().end(); }

/// Takes which atoms are in the slots of the domain.
void DeviceSearch::take_atoms() {
  const auto& id = domain_.state().id;
  std::vector<std::int32_t> atom(id.size()), slot_of(slot_of_.size());
  for (std::size_t s = 0; s < id.size(); ++s) {
    atom[s] = static_cast<std::int32_t>(id[s]);
    if (id[s] >= 0) slot_of[at(id[s])] = static_cast<std::int32_t>(s);
  }
  atom_.reserve(atoms_.device(), atom.size());
  atom_.start_copy_from(atom, atoms_.stream());
  slot_of_.start_copy_from(slot_of, atoms_.stream());
  atoms_.stream().wait();  // what was copied goes now
  knows_atoms_ = true;
}

/// Counts the clusters of cells, once their atoms have been counted. Returns false where a cell has too many.
bool DeviceSearch::count_clusters() {
  const auto count = host_count_.get(), begin = host_begin_.get();
  if (std::ranges::any_of(count, [](std::int32_t n) { return n > most_atoms_of_cell; })) return false;
  begin[0] = 0;
  for (std::size_t cell = 0; cell < count.size(); ++cell)
    begin[cell + 1] = begin[cell] + (count[cell] + cluster_size - 1) / cluster_size;
  return true;
}

const SortedAtoms* DeviceSearch::search() {
  const auto& on = atoms_.device();
  const auto& stream = atoms_.stream();
  if (!knows_atoms_) take_atoms();
  const auto n_before = atoms_.n_slots(), n_cells = domain_.n_cells();
  cell_.reserve(on, at(n_before));
  place_.reserve(on, at(n_before));
  slot_.reserve(on, at(n_before));
  count_.start_clear(stream);
  const auto& grid = domain_.grid().n;
  const CellArguments of_atoms{
      .n_slots = n_before,
      .grid = {static_cast<std::int32_t>(grid[0]), static_cast<std::int32_t>(grid[1]),
               static_cast<std::int32_t>(grid[2])},
      .position = atoms_.position(),
      .atom = atom_.data(),
      .key = key_.data(),
      .slot_of = slot_of_.data(),
      .cell_of_flat = cell_of_flat_.data(),
      .cell = cell_.data(),
      .place = place_.data(),
      .count = count_.data(),
  };
  cells_.start_warps(stream, device::warps_of(n_before), of_atoms);
  count_.start_copy_to(host_count_.get(), stream);
  stream.wait();
  if (!count_clusters()) return nullptr;

  const auto n_clusters = host_begin_.get().back(), n_slots = cluster_size * n_clusters;
  begin_.start_copy_from(host_begin_.get(), stream);
  list_.reserve(on, at(n_slots));
  source_.reserve(on, at(n_slots));
  cell_of_.reserve(on, at(n_clusters));
  const AtomsOfCellArguments of_cells{
      .n_slots = n_before,
      .cell = cell_.data(),
      .place = place_.data(),
      .begin = begin_.data(),
      .list = list_.data(),
  };
  atoms_of_cells_.start_warps(stream, device::warps_of(n_before), of_cells);
  const SortArguments arguments{
      .to_length = SingleTriangular(domain_.state().search_box.unit_vectors()),
      .centre = centre_.data(),
      .count = count_.data(),
      .begin = begin_.data(),
      .list = list_.data(),
      .position = atoms_.position(),
      .atom = atom_.data(),
      .slot = slot_.data(),
      .source = source_.data(),
      .next_atom = atom_.next(on, at(n_slots)),
      .slot_of = slot_of_.data(),
      .next_position = atoms_.next_position(n_slots),
      .next_reference = atoms_.next_reference(n_slots),
      .cell_of = cell_of_.data(),
  };
  sort_.start(stream, static_cast<unsigned>(n_cells), device::warps_of_block * device::lanes_of_warp, arguments);
  atom_.take_next();
  atoms_.take_next(n_slots);
  sorted_ = {{.n_slots = n_slots, .source = source_.data(), .slot = slot_.data()},
             atom_.data(),
             slot_of_.data(),
             cell_of_.data(),
             begin_.data(),
             centre_.data(),
             host_begin_.get()};
  return &sorted_;
}

void DeviceSearch::start_fetch() {
  const auto& on = atoms_.device();
  host_atom_.resize(on, at(atoms_.n_slots()));
  host_reference_.resize(on, at(atoms_.n_slots()));
  atom_.start_copy_to(host_atom_.get(), atoms_.stream());
  atoms_.start_fetch_of_references(host_reference_.get());
}

std::int64_t DeviceSearch::bytes() const {
  const auto held = [](const auto&... arrays) { return static_cast<std::int64_t>((arrays.bytes() + ...)); };
  const auto of_cells =
      sizeof(std::int32_t) * (cell_of_flat_.size() + count_.size() + begin_.size()) + sizeof(Fraction) * centre_.size();
  const auto of_atoms = sizeof(std::int32_t) * (key_.size() + slot_of_.size());
  return static_cast<std::int64_t>(of_cells + of_atoms) + held(atom_, cell_, place_, slot_, list_, source_, cell_of_);
}

std::size_t DeviceSearch::host_bytes() const {
  return host_count_.bytes() + host_begin_.bytes() + host_atom_.bytes() + host_reference_.bytes();
}

double DeviceSearch::planned_bytes(double slots, double atoms, double cells) {
  constexpr double of_slot = sizeof(std::int32_t) * (7 + 1.0 / cluster_size);
  constexpr double of_cell = 3 * sizeof(std::int32_t) + sizeof(Fraction), of_atom = 2 * sizeof(std::int32_t);
  return device::GrowingArray<char>::room * of_slot * slots + of_atom * atoms + of_cell * cells;
}

}  // namespace tessera::md::domain
