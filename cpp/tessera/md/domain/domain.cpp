#include "tessera/md/domain/domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/fixed_point.h"
#include "tessera/base/index.h"

namespace tessera::md::domain {

namespace {

constexpr int position_tag = 11, force_tag = 12, count_tag = 13, structure_tag = 14;

/// Frees the memory; assigning {} would keep it.
template <class Value>
void release(std::vector<Value>& list) {
  list = std::vector<Value>();
}

/// Appends the bytes of an atom and of its field values.
void pack(const Particle& particle, const std::vector<AtomField>& fields, std::size_t atom,
          std::vector<std::byte>& bytes) {
  const auto add = [&](std::span<const std::byte> some) { bytes.insert(bytes.end(), some.begin(), some.end()); };
  add(std::as_bytes(std::span(&particle, 1)));
  for (const auto& field : fields) add(std::as_bytes(std::span(field.values).subspan(atom * field.width, field.width)));
}

/// Adds the atoms that pack() has put into bytes; `particles` has the fields' names and widths.
void unpack(std::span<const std::byte> bytes, Particles& particles) {
  const auto take = [&](std::span<std::byte> to) {
    std::copy_n(bytes.begin(), to.size(), to.begin());
    bytes = bytes.subspan(to.size());
  };
  while (!bytes.empty()) {
    take(std::as_writable_bytes(std::span(&particles.atoms.emplace_back(), 1)));
    for (auto& field : particles.fields) {
      field.values.resize(field.values.size() + field.width);
      take(std::as_writable_bytes(std::span(field.values).last(field.width)));
    }
  }
}

/// Orders cells in columns along z of 4 × 4 cells, one column after another and each layer by layer. The cells that a
/// cell's pairs and its part of the mesh need lie within a few layers of a column. These fit into a core's own cache
/// whatever the size of the brick, which whole planes would not.
constexpr std::int64_t column_width = 4;

std::vector<Index3> in_columns(const IndexBox& brick) {
  std::vector<Index3> cells;
  cells.reserve(at(brick.size()));
  for (auto x0 = brick.lower[0]; x0 < brick.upper[0]; x0 += column_width)
    for (auto y0 = brick.lower[1]; y0 < brick.upper[1]; y0 += column_width)
      for (auto z = brick.lower[2]; z < brick.upper[2]; ++z)
        for (auto x = x0; x < std::min(x0 + column_width, brick.upper[0]); ++x)
          for (auto y = y0; y < std::min(y0 + column_width, brick.upper[1]); ++y) cells.push_back({x, y, z});
  return cells;
}

std::array<std::int64_t, 5> place_in_columns(const Index3& c) {
  return {c[0] / column_width, c[1] / column_width, c[2], c[0], c[1]};
}

}  // namespace

Domain::Domain(const model::System& system, Decomposition decomposition, State& state, const comm::Communicator& comm,
               ThreadPool& threads)
    : system_(system), state_(state), decomposition_(std::move(decomposition)), comm_(comm), threads_(threads) {
  brick_ = decomposition_.brick(comm.rank());
  if (is_replicated()) {
    for (int rank = 0; rank < comm.size(); ++rank) neighbours_.push_back({.rank = rank});
  } else if (is_sparse()) {
    for (const auto& peer : find_halo_peers(decomposition_, comm.rank())) neighbours_.push_back({.rank = peer.rank});
  }
  if (!is_sparse()) {
    for (int d = 0; d < 3; ++d) {
      table_lower_[at(d)] = brick_.lower[at(d)] - 1;
      table_extent_[at(d)] = is_replicated() ? grid().n[at(d)] : std::min(brick_.extent(d) + 2, grid().n[at(d)]);
    }
    cell_table_.assign(at(table_extent_[0] * table_extent_[1] * table_extent_[2]), -1);
    for (const auto& c : in_columns(brick_)) enter(c);
    n_owned_cells_ = n_cells();
    if (is_replicated()) {
      for (auto& neighbour : neighbours_) enter_halo(neighbour, in_columns(decomposition_.brick(neighbour.rank)));
    } else {
      for (const auto& peer : plan_halo(decomposition_, comm.rank()).peers) {
        auto& neighbour = neighbours_.emplace_back();
        neighbour.rank = peer.rank;
        enter_halo(neighbour, peer.receive);
        for (const auto& c : peer.send) neighbour.send.push_back(local_cell(c));
      }
    }
  }
  send_buffers_.resize(neighbours_.size());
  receive_forces_.resize(neighbours_.size());
}

/// Gives a cell the next local index.
void Domain::enter(const Index3& c) {
  if (is_sparse()) {
    sparse_cells_.emplace(grid().flat(c), n_cells());
  } else {
    std::size_t index = 0;
    for (int d = 0; d < 3; ++d) {
      const std::int64_t n = grid().n[at(d)];
      const std::int64_t relative = ((c[at(d)] - table_lower_[at(d)]) % n + n) % n;
      index = index * at(table_extent_[at(d)]) + at(relative);
    }
    cell_table_[index] = n_cells();
  }
  cells_.push_back(c);
}

/// Gives the next local indices to the cells that a neighbour fills. This rank's own have theirs already.
void Domain::enter_halo(Neighbour& neighbour, std::span<const Index3> cells) {
  const bool is_own = neighbour.rank == comm_.rank();
  neighbour.first_receive_cell = is_own ? 0 : n_cells();
  neighbour.n_receive_cells = static_cast<std::int32_t>(cells.size());
  if (is_own) return;
  for (const auto& c : cells) enter(c);
}

/// Returns the local index of a cell of the brick, −1 for any other; a vacuum's cell is entered by the first atom in
/// it.
std::int32_t Domain::own_cell(const Index3& c) {
  if (!brick_.contains(c)) return -1;
  const auto here = local_cell(c);
  if (here >= 0 || !is_sparse()) return here;
  enter(c);
  return n_cells() - 1;
}

void Domain::forget_cells() {
  if (!is_sparse()) return;
  cells_.clear();
  sparse_cells_.clear();
}

/// Numbers the cells of a vacuum anew; `cell_of` follows.
void Domain::put_cells_in_order(std::vector<std::int32_t>& cell_of) {
  if (!is_sparse()) return;
  auto sorted = std::exchange(cells_, {});
  const auto before = sorted;
  sparse_cells_.clear();
  std::sort(sorted.begin(), sorted.end(),
            [](const Index3& a, const Index3& b) { return place_in_columns(a) < place_in_columns(b); });
  for (const auto& c : sorted) enter(c);
  n_owned_cells_ = n_cells();
  for (auto& c : cell_of)
    if (c >= 0) c = local_cell(before[at(c)]);
}

/// Tells neighbours which cells with atoms they need, and enters those of theirs that this rank needs.
void Domain::exchange_halo_cells() {
  if (!is_sparse()) return;
  const auto enter_arriving = [&](const std::vector<std::vector<std::byte>>& cells) {
    for (std::size_t n = 0; n < neighbours_.size(); ++n) enter_halo(neighbours_[n], comm::values_of<Index3>(cells[n]));
  };
  if (is_replicated()) return enter_arriving(comm_.all_gather(comm::bytes_of(cells_)));
  std::vector<std::vector<std::byte>> leaving(neighbours_.size());
  for (std::size_t n = 0; n < neighbours_.size(); ++n) {
    auto& neighbour = neighbours_[n];
    const auto needed = with_halo(grid(), decomposition_.brick(neighbour.rank));
    neighbour.send.clear();
    std::vector<Index3> cells;
    for (std::int32_t c = 0; c < n_owned_cells_; ++c) {
      if (!needed.contains(cells_[at(c)])) continue;
      neighbour.send.push_back(c);
      cells.push_back(cells_[at(c)]);
    }
    const auto bytes = comm::bytes_of(cells);
    leaving[n].assign(bytes.begin(), bytes.end());
  }
  enter_arriving(exchange_bytes(leaving));
}

std::int32_t Domain::local_cell(const Index3& wrapped) const {
  if (is_sparse()) {
    if (!grid().contains(wrapped)) return -1;
    const auto found = sparse_cells_.find(grid().flat(wrapped));
    return found == sparse_cells_.end() ? -1 : found->second;
  }
  std::size_t index = 0;
  for (int d = 0; d < 3; ++d) {
    const std::int64_t n = grid().n[at(d)];
    std::int64_t relative = wrapped[at(d)] - table_lower_[at(d)];
    if (relative < 0) relative += n;
    if (relative >= n) relative -= n;
    if (relative >= table_extent_[at(d)]) return -1;
    index = index * at(table_extent_[at(d)]) + at(relative);
  }
  return cell_table_[index];
}

std::int64_t Domain::group_key(std::int64_t atom) const {
  const auto reference_to = system_.find(atom);
  return reference_to.first_id + system_.templates[at(reference_to.molecule)].group[at(reference_to.local)];
}

void Domain::distribute(Particles particles) {
  if (comm_.size() > 1) {
    const auto cells = cells_of(particles.atoms);
    std::vector<std::vector<std::byte>> outgoing(at(comm_.size()));
    for (std::size_t i = 0; i < particles.size(); ++i)
      pack(particles.atoms[i], particles.fields, i, outgoing[at(decomposition_.owner(cells[i]))]);
    release(particles.atoms);
    for (auto& field : particles.fields) release(field.values);
    for (const auto& incoming : comm_.all_to_all(outgoing)) unpack(incoming, particles);
  }
  state_.id.clear();
  state_.position.clear();
  state_.velocity.clear();
  displacement_.clear();
  state_.fields.clear();
  for (const auto& field : particles.fields) state_.fields.push_back({field.name, field.width, {}});
  forget_cells();
  std::vector<std::int32_t> cell_of;
  append(particles, cell_of);
  if (std::all_of(displacement_.begin(), displacement_.end(), [](const Fraction& f) { return f == Fraction{}; }))
    release(displacement_);  // only a restart provides any
  particles = {};
  sort_into_cells(std::move(cell_of));
}

void Domain::rebuild() {
  // Each owned atom's local cell is that of its group's key atom; atoms in cells of other ranks leave.
  std::vector<std::int32_t> cell_of(at(n_owned_slots_), -1);
  const auto cell_now = [&](std::int32_t slot) {
    const auto here = state_.local[at(slot)], group = molecule_of(slot).group[at(here)];
    const auto key = group == here ? slot : slot_of(state_.id[at(slot)] - here + group);
    TESSERA_CHECK(key >= 0 && key < n_owned_slots_);
    return grid().cell_of(state_.position[at(key)]);
  };
  if (is_sparse()) {
    forget_cells();
    for (std::int32_t s = 0; s < n_owned_slots_; ++s)
      if (!is_padding(s)) cell_of[at(s)] = own_cell(cell_now(s));
    n_owned_cells_ = n_cells();
  } else {
    threads_.parallel_for(n_owned_slots_, [&](std::int64_t begin, std::int64_t end) {
      for (auto s = static_cast<std::int32_t>(begin); s < end; ++s) {
        prefetch_slot_of(s);
        if (!is_padding(s)) cell_of[at(s)] = local_cell(cell_now(s));
      }
    });
  }
  if (comm_.size() > 1) {
    std::vector<std::vector<std::byte>> leaving(neighbours_.size());
    std::string problem;
    for (std::int32_t s = 0; s < n_owned_slots_; ++s) {
      if (is_padding(s) || (cell_of[at(s)] >= 0 && cell_of[at(s)] < n_owned_cells_)) continue;
      cell_of[at(s)] = -1;
      const int owner = decomposition_.owner(cell_now(s));
      const auto to =
          std::find_if(neighbours_.begin(), neighbours_.end(), [&](const auto& n) { return n.rank == owner; });
      if (to != neighbours_.end())
        pack({state_.id[at(s)], state_.position[at(s)], state_.velocity[at(s)], {}}, state_.fields, at(s),
             leaving[at(to - neighbours_.begin())]);
      else if (problem.empty())
        problem = fmt::format("{} moved by more than a cell between two pair searches: the run has blown up",
                              system_.describe(state_.id[at(s)]));
    }
    comm::agree_on_run(comm_, problem);
    // Arriving atoms take the place of the halo.
    state_.id.resize(at(n_owned_slots_));
    state_.position.resize(at(n_owned_slots_));
    state_.velocity.resize(at(n_owned_slots_));
    append(exchange(leaving), cell_of);
    displacement_.clear();
  }
  sort_into_cells(std::move(cell_of));
}

/// Returns the cell of each atom's hydrogen group, which is that of its key atom. Overwrites the map from atoms to
/// slots.
std::vector<Index3> Domain::cells_of(std::span<const Particle> particles) {
  slots_.reset(particles.size());
  for (std::size_t i = 0; i < particles.size(); ++i) slots_.insert(particles[i].id, static_cast<std::int32_t>(i));
  std::vector<Index3> cells(particles.size());
  threads_.parallel_for(std::ssize(particles), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      const auto key = slots_.find(group_key(particles[at(i)].id), [&](std::int32_t k) { return particles[at(k)].id; });
      TESSERA_CHECK(key >= 0);
      cells[at(i)] = grid().cell_of(particles[at(key)].position);
    }
  });
  return cells;
}

/// Sends particles to neighbours and returns those received from them.
Particles Domain::exchange(const std::vector<std::vector<std::byte>>& leaving) const {
  Particles all;
  for (const auto& field : state_.fields) all.fields.push_back({field.name, field.width, {}});
  for (const auto& bytes : exchange_bytes(leaving)) unpack(bytes, all);
  return all;
}

/// Sends bytes to each neighbour and returns those received from it.
std::vector<std::vector<std::byte>> Domain::exchange_bytes(const std::vector<std::vector<std::byte>>& leaving) const {
  if (is_replicated()) return comm_.all_to_all(leaving);
  std::vector<comm::Request> requests;
  std::vector<std::int64_t> send_bytes(neighbours_.size()), receive_bytes(neighbours_.size());
  for (std::size_t n = 0; n < neighbours_.size(); ++n) {
    const int peer = neighbours_[n].rank;
    send_bytes[n] = std::ssize(leaving[n]);
    requests.push_back(comm_.start_receive(std::as_writable_bytes(std::span(&receive_bytes[n], 1)), peer, count_tag));
    requests.push_back(comm_.start_send(std::as_bytes(std::span(&send_bytes[n], 1)), peer, count_tag));
  }
  comm_.wait_all(requests);
  requests.clear();
  std::vector<std::vector<std::byte>> arriving(neighbours_.size());
  for (std::size_t n = 0; n < neighbours_.size(); ++n) {
    const int peer = neighbours_[n].rank;
    arriving[n].resize(at(receive_bytes[n]));
    requests.push_back(comm_.start_receive(arriving[n], peer, structure_tag));
    requests.push_back(comm_.start_send(leaving[n], peer, structure_tag));
  }
  comm_.wait_all(requests);
  return arriving;
}

/// Adds particles of this rank's cells to the atoms that will be sorted.
void Domain::append(const Particles& particles, std::vector<std::int32_t>& cell_of) {
  const auto cells = cells_of(particles.atoms);
  const auto n = state_.id.size() + particles.size();
  state_.id.reserve(n);
  state_.position.reserve(n);
  state_.velocity.reserve(n);
  displacement_.reserve(n);
  for (std::size_t i = 0; i < particles.size(); ++i) {
    const auto here = own_cell(cells[i]);
    TESSERA_CHECK(here >= 0);
    const auto& atom = particles.atoms[i];
    state_.id.push_back(atom.id);
    state_.position.push_back(atom.position);
    state_.velocity.push_back(atom.velocity);
    displacement_.push_back(atom.displacement);
    cell_of.push_back(here);
  }
  for (std::size_t f = 0; f < state_.fields.size(); ++f) {
    const auto& values = particles.fields[f].values;
    state_.fields[f].values.insert(state_.fields[f].values.end(), values.begin(), values.end());
  }
}

/// Moves values, `width` per atom, to the slots of their atoms; padding gets zeros.
template <class Value>
void Domain::gather(std::vector<Value>& values, const std::vector<std::int32_t>& source, std::size_t width) const {
  std::vector<Value> sorted(source.size() * width);
  threads_.parallel_for(std::ssize(source), [&](std::int64_t begin, std::int64_t end) {
    for (auto s = begin; s < end; ++s)
      for (std::size_t k = 0; k < width && source[at(s)] >= 0; ++k)
        sorted[at(s) * width + k] = values[at(source[at(s)]) * width + k];
  });
  values = std::move(sorted);
}

/// Sorts atoms into the slots of their cells, by the local cell of each; −1 means that there is no atom of this rank.
void Domain::sort_into_cells(std::vector<std::int32_t> cell_of) {
  put_cells_in_order(cell_of);
  // The peak of memory is reached while several arrays of atoms exist at once, so arrays that can be recomputed are
  // freed here.
  release(state_.reference);
  release(state_.molecule);
  release(state_.local);
  slots_ = {};
  std::vector<std::int32_t> count(at(n_owned_cells_), 0);
  for (const auto c : cell_of) {
    if (c < 0) continue;
    TESSERA_CHECK(c < n_owned_cells_);
    ++count[at(c)];
  }
  cell_begin_.assign(at(n_cells()) + 1, 0);
  n_owned_atoms_ = 0;
  for (std::int32_t c = 0; c < n_owned_cells_; ++c) {
    n_owned_atoms_ += count[at(c)];
    cell_begin_[at(c) + 1] = cell_begin_[at(c)] + (count[at(c)] + cluster_size - 1) / cluster_size;
  }
  n_owned_slots_ = cell_begin_[at(n_owned_cells_)] * cluster_size;
  // This is the old place of each new slot's atom. It is sorted by cell first, and below also within the cells.
  std::vector<std::int32_t> source(at(n_owned_slots_), -1);
  std::fill(count.begin(), count.end(), 0);
  for (std::size_t s = 0; s < cell_of.size(); ++s)
    if (const auto c = cell_of[s]; c >= 0)
      source[at(cell_begin_[at(c)] * cluster_size + count[at(c)]++)] = static_cast<std::int32_t>(s);
  release(cell_of);
  const SingleTriangular to_length(state_.search_box.unit_vectors());
  threads_.parallel_for(n_owned_cells_, [&](std::int64_t begin, std::int64_t end) {
    std::vector<CellAtom> atoms;
    for (auto c = begin; c < end; ++c) {
      const std::span sources(source.data() + at(cell_begin_[at(c)]) * cluster_size, at(count[at(c)]));
      const auto centre = grid().centre(cells_[at(c)]);
      atoms.clear();
      for (const auto s : sources) {
        atoms.push_back({to_length * (state_.position[at(s)] - centre), s, state_.id[at(s)]});
      }
      sort_cell(atoms);
      std::transform(atoms.begin(), atoms.end(), sources.begin(), [](const CellAtom& atom) { return atom.source; });
    }
  });
  gather(state_.id, source);
  gather(state_.position, source);
  gather(state_.velocity, source);
  for (auto& field : state_.fields) gather(field.values, source, field.width);
  if (!displacement_.empty()) gather(displacement_, source);
  for (std::int32_t c = 0; c < n_owned_cells_; ++c)
    for (auto s = cell_begin_[at(c)] * cluster_size + count[at(c)]; s < cell_begin_[at(c) + 1] * cluster_size; ++s) {
      state_.id[at(s)] = -1;
      state_.position[at(s)] = grid().centre(cells_[at(c)]);
    }
  release(source);
  state_.reference.assign(state_.position.begin(), state_.position.end());
  exchange_halo_structure();
  look_up_atoms();
}

/// Finds the molecules of atoms, and enters atoms into the map to their slots.
void Domain::look_up_atoms() {
  state_.molecule.resize(state_.id.size());
  state_.local.resize(state_.id.size());
  slots_.reset(state_.id.size());
  threads_.parallel_for(n_slots(), [&](std::int64_t begin, std::int64_t end) {
    for (auto s = static_cast<std::int32_t>(begin); s < end; ++s) {
      prefetch_slot_of(s);
      if (is_padding(s)) {
        state_.molecule[at(s)] = state_.local[at(s)] = -1;
        continue;
      }
      const auto reference_to = system_.find(state_.id[at(s)]);
      state_.molecule[at(s)] = reference_to.molecule;
      state_.local[at(s)] = reference_to.local;
      slots_.insert(state_.id[at(s)], s);
    }
  });
}

void Domain::adopt(const SortedSlots& sorted) {
  TESSERA_CHECK(comm_.size() == 1 && state_.fields.empty() && std::ssize(sorted.first_cluster) == n_cells() + 1);
  const auto n = sorted.atom.size();
  TESSERA_CHECK(at(sorted.first_cluster.back()) * cluster_size == n);
  std::ranges::copy(sorted.first_cluster, cell_begin_.begin());
  n_owned_slots_ = static_cast<std::int32_t>(n);
  state_.id.resize(n);
  state_.position.resize(n);
  state_.velocity.resize(n);
  state_.reference.resize(n);
  threads_.parallel_for(std::ssize(state_.id), [&](std::int64_t begin, std::int64_t end) {
    for (auto s = at(begin); s < at(end); ++s) {
      state_.id[s] = sorted.atom[s];
      state_.position[s] = sorted.position[s];
      state_.velocity[s] = sorted.velocity[s];
      state_.reference[s] = sorted.reference[s];
    }
  });
  look_up_atoms();
}

void Domain::exchange_halo_structure() {
  exchange_halo_cells();
  cell_begin_.resize(at(n_cells()) + 1);
  // The number of clusters of each halo cell is sent first, then the contents of whole cells.
  std::vector<std::vector<std::int32_t>> sent(neighbours_.size()), received(neighbours_.size());
  if (is_replicated()) {
    received = clusters_of_all();
  } else {
    std::vector<comm::Request> requests;
    for (std::size_t n = 0; n < neighbours_.size(); ++n) {
      const auto& neighbour = neighbours_[n];
      received[n].resize(at(neighbour.n_receive_cells));
      for (const auto c : neighbour.send) sent[n].push_back(cell_begin_[at(c) + 1] - cell_begin_[at(c)]);
      requests.push_back(comm_.start_receive(comm::writable_bytes_of(received[n]), neighbour.rank, count_tag));
      requests.push_back(comm_.start_send(comm::bytes_of(sent[n]), neighbour.rank, count_tag));
    }
    comm_.wait_all(requests);
  }
  for (std::size_t n = 0; n < neighbours_.size(); ++n)
    for (std::int32_t k = 0; k < neighbours_[n].n_receive_cells; ++k) {
      const auto c = neighbours_[n].first_receive_cell + k;
      cell_begin_[at(c) + 1] = cell_begin_[at(c)] + received[n][at(k)];
    }
  const auto slots = at(cell_begin_.back()) * cluster_size;
  const auto make_room = [&](auto& values) {
    values.reserve(slots);  // resize() alone may take twice that
    values.resize(slots);
  };
  make_room(state_.id);
  make_room(state_.position);
  make_room(state_.velocity);
  start_halo(state_.id, structure_tag);
  finish();
  start_halo(state_.velocity, structure_tag);
  finish();
  start_halo_positions();
  finish();
}

void Domain::apply_displacements() {
  for (std::size_t s = 0; s < displacement_.size(); ++s) state_.position[s] = state_.position[s] + displacement_[s];
  displacement_ = {};
  start_halo_positions();
  finish();
}

/// Fetches values of halo slots from their owners.
template <class Value>
void Domain::start_halo(std::vector<Value>& values, int tag) {
  if (is_replicated()) return gather_blocks(std::as_writable_bytes(std::span(values)), sizeof(Value));
  for (std::size_t n = 0; n < neighbours_.size(); ++n) {
    const auto& neighbour = neighbours_[n];
    auto& buffer = send_buffers_[n];
    buffer.clear();
    for (const auto c : neighbour.send) {
      const auto first = at(cell_begin_[at(c)]) * cluster_size, last = at(cell_begin_[at(c) + 1]) * cluster_size;
      const auto cell_values = std::as_bytes(std::span(values).subspan(first, last - first));
      buffer.insert(buffer.end(), cell_values.begin(), cell_values.end());
    }
    const auto begin = at(cell_begin_[at(neighbour.first_receive_cell)]) * cluster_size;
    const auto end = at(cell_begin_[at(neighbour.first_receive_cell + neighbour.n_receive_cells)]) * cluster_size;
    requests_.push_back(comm_.start_receive(std::as_writable_bytes(std::span(values).subspan(begin, end - begin)),
                                            neighbour.rank, tag));
    requests_.push_back(comm_.start_send(buffer, neighbour.rank, tag));
  }
}

void Domain::finish() {
  comm_.wait_all(requests_);
  requests_.clear();
}

void Domain::start_halo_positions() { start_halo(state_.position, position_tag); }

void Domain::finish_halo_positions() { finish(); }

void Domain::start_return_of_forces(std::span<const std::int64_t> force) {
  if (is_replicated()) return sum_blocks(force);
  for (std::size_t n = 0; n < neighbours_.size(); ++n) {
    const auto& neighbour = neighbours_[n];
    std::size_t expected = 0;
    for (const auto c : neighbour.send) expected += at(cell_begin_[at(c) + 1] - cell_begin_[at(c)]);
    receive_forces_[n].resize(3 * cluster_size * expected);
    const auto begin = at(cell_begin_[at(neighbour.first_receive_cell)]) * 3 * cluster_size;
    const auto end = at(cell_begin_[at(neighbour.first_receive_cell + neighbour.n_receive_cells)]) * 3 * cluster_size;
    requests_.push_back(comm_.start_receive(comm::writable_bytes_of(receive_forces_[n]), neighbour.rank, force_tag));
    requests_.push_back(comm_.start_send(std::as_bytes(force.subspan(begin, end - begin)), neighbour.rank, force_tag));
  }
}

void Domain::finish_return_of_forces(std::span<std::int64_t> force) {
  finish();
  if (is_replicated()) {
    for (std::size_t i = 0; i < receive_forces_.front().size(); ++i) add_fixed(force[i], receive_forces_.front()[i]);
  } else {
    for (std::size_t n = 0; n < neighbours_.size(); ++n) {
      const std::int64_t* next = receive_forces_[n].data();
      for (const auto c : neighbours_[n].send)
        for (auto i = at(cell_begin_[at(c)]) * 3 * cluster_size; i < at(cell_begin_[at(c) + 1]) * 3 * cluster_size; ++i)
          add_fixed(force[i], *next++);
    }
  }
  std::fill(force.begin() + std::ptrdiff_t{3} * n_owned_slots_, force.end(), 0);
}

double Domain::greatest_displacement2() {
  const auto to_length = state_.box.unit_vectors();
  std::vector<double> greatest(at(threads_.size()), 0);
  threads_.run([&](int thread) {
    const std::int64_t n = n_owned_slots_;
    double most = 0;
    for (auto s = n * thread / threads_.size(); s < n * (thread + 1) / threads_.size(); ++s) {
      const auto moved = state_.position[at(s)] - state_.reference[at(s)];
      most = std::max(most, norm2(to_length * moved.units()));
    }
    greatest[at(thread)] = most;
  });
  return *std::max_element(greatest.begin(), greatest.end());
}

}  // namespace tessera::md::domain
