#include "tessera/md/domain/domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/fixed_point.h"

namespace tessera::md::domain {

namespace {

constexpr int position_tag = 11, force_tag = 12, count_tag = 13, structure_tag = 14;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Gives the memory back, which assigning {} would not.
template <class Value>
void release(std::vector<Value>& list) {
  list = std::vector<Value>();
}

std::int32_t component(const Fraction& f, int d) { return d == 0 ? f.x : d == 1 ? f.y : f.z; }

}  // namespace

void sort_cell(std::span<Particle> atoms, const Fraction& centre) {
  const auto n = static_cast<std::int64_t>(atoms.size());
  if (n <= cluster_size) {
    std::sort(atoms.begin(), atoms.end(), [](const Particle& a, const Particle& b) { return a.id < b.id; });
    return;
  }
  int widest = 0;
  std::int64_t width = -1;
  for (int d = 0; d < 3; ++d) {
    const auto offset = [&](const Particle& p) { return component(p.position - centre, d); };
    const auto [low, high] = std::minmax_element(
        atoms.begin(), atoms.end(), [&](const Particle& a, const Particle& b) { return offset(a) < offset(b); });
    const std::int64_t extent = std::int64_t{offset(*high)} - offset(*low);
    if (extent > width) width = extent, widest = d;
  }
  // A whole number of clusters on the left, so that only a cell's last cluster is padded.
  const std::int64_t clusters = (n + cluster_size - 1) / cluster_size;
  const std::int64_t left = (clusters / 2) * cluster_size;
  std::nth_element(atoms.begin(), atoms.begin() + left, atoms.end(), [&](const Particle& a, const Particle& b) {
    const auto p = component(a.position - centre, widest), q = component(b.position - centre, widest);
    return p != q ? p < q : a.id < b.id;
  });
  sort_cell(atoms.first(at(left)), centre);
  sort_cell(atoms.subspan(at(left)), centre);
}

Domain::Domain(const model::System& system, Decomposition decomposition, const comm::Communicator& comm,
               ThreadPool& threads)
    : system_(system), decomposition_(std::move(decomposition)), comm_(comm), threads_(threads) {
  brick_ = decomposition_.brick(comm.rank());
  for (int d = 0; d < 3; ++d) {
    table_lower_[at(d)] = brick_.lower[at(d)] - 1;
    table_extent_[at(d)] = std::min(brick_.extent(d) + 2, grid().n[at(d)]);
  }
  cell_table_.assign(at(table_extent_[0] * table_extent_[1] * table_extent_[2]), -1);
  const auto enter = [&](const Index3& c) {
    std::size_t index = 0;
    for (int d = 0; d < 3; ++d) {
      const std::int64_t n = grid().n[at(d)];
      const std::int64_t relative = ((c[at(d)] - table_lower_[at(d)]) % n + n) % n;
      index = index * at(table_extent_[at(d)]) + at(relative);
    }
    cell_table_[index] = static_cast<std::int32_t>(cell.size());
    cell.push_back(c);
  };
  for (std::int64_t x = brick_.lower[0]; x < brick_.upper[0]; ++x)
    for (std::int64_t y = brick_.lower[1]; y < brick_.upper[1]; ++y)
      for (std::int64_t z = brick_.lower[2]; z < brick_.upper[2]; ++z) enter({x, y, z});
  n_owned_cells_ = n_cells();
  for (const auto& peer : plan_halo(decomposition_, comm.rank()).peers) {
    auto& neighbour = neighbours_.emplace_back();
    neighbour.rank = peer.rank;
    neighbour.first_receive_cell = n_cells();
    neighbour.n_receive_cells = static_cast<std::int32_t>(peer.receive.size());
    for (const auto& c : peer.receive) enter(c);
    for (const auto& c : peer.send) neighbour.send.push_back(local_cell(c));
  }
  send_buffers_.resize(neighbours_.size());
  receive_forces_.resize(neighbours_.size());
}

std::int32_t Domain::local_cell(const Index3& wrapped) const {
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

std::vector<Particle> Domain::collect_owned() const {
  std::vector<Particle> particles;
  particles.reserve(at(n_owned_atoms_));
  for (std::int32_t s = 0; s < n_owned_slots_; ++s)
    if (!is_padding(s)) particles.push_back({id[at(s)], position[at(s)], velocity[at(s)], {}});
  return particles;
}

void Domain::distribute(std::vector<Particle> particles) {
  sort_into_cells(move_to_owners(std::move(particles), false));
}

void Domain::rebuild() { sort_into_cells(move_to_owners(collect_owned(), true)); }

/// Until slots are known again, slots_ finds atoms in a list of particles.
void Domain::index_particles(const std::vector<Particle>& particles) {
  slots_.reset(particles.size());
  for (std::size_t i = 0; i < particles.size(); ++i) slots_.insert(particles[i].id, static_cast<std::int32_t>(i));
}

std::int32_t Domain::find_particle(std::span<const Particle> particles, std::int64_t atom) const {
  return slots_.find(atom, [&](std::int32_t i) { return particles[at(i)].id; });
}

/// Sends whole hydrogen groups to the owner of their key atom's cell. `particles` holds whole groups only.
std::vector<Particle> Domain::move_to_owners(std::vector<Particle> particles, bool neighbours_only) {
  if (comm_.size() == 1) return particles;
  index_particles(particles);
  std::vector<Particle> kept;
  std::vector<std::vector<Particle>> leaving(at(comm_.size()));
  std::string problem;
  for (const auto& particle : particles) {
    const auto key = find_particle(particles, group_key(particle.id));
    TESSERA_CHECK(key >= 0);
    const int owner = decomposition_.owner(grid().cell_of(particles[at(key)].position));
    if (owner == comm_.rank()) {
      kept.push_back(particle);
      continue;
    }
    leaving[at(owner)].push_back(particle);
    if (neighbours_only && problem.empty() &&
        std::none_of(neighbours_.begin(), neighbours_.end(), [&](const auto& n) { return n.rank == owner; }))
      problem = fmt::format("{} moved by more than a cell between two pair searches: the run has blown up",
                            system_.describe(particle.id));
  }
  comm::agree_on_run(comm_, problem);
  if (!neighbours_only) {
    std::vector<std::vector<std::byte>> outgoing(leaving.size());
    for (std::size_t r = 0; r < leaving.size(); ++r) {
      const auto bytes = comm::bytes_of(leaving[r]);
      outgoing[r].assign(bytes.begin(), bytes.end());
    }
    for (const auto& incoming : comm_.all_to_all(outgoing)) {
      const auto values = comm::values_of<Particle>(incoming);
      kept.insert(kept.end(), values.begin(), values.end());
    }
    return kept;
  }
  std::vector<comm::Request> requests;
  std::vector<std::int64_t> send_count(neighbours_.size()), receive_count(neighbours_.size());
  for (std::size_t n = 0; n < neighbours_.size(); ++n) {
    const int peer = neighbours_[n].rank;
    send_count[n] = static_cast<std::int64_t>(leaving[at(peer)].size());
    requests.push_back(comm_.start_receive(std::as_writable_bytes(std::span(&receive_count[n], 1)), peer, count_tag));
    requests.push_back(comm_.start_send(std::as_bytes(std::span(&send_count[n], 1)), peer, count_tag));
  }
  comm_.wait_all(requests);
  requests.clear();
  std::vector<std::vector<Particle>> arriving(neighbours_.size());
  for (std::size_t n = 0; n < neighbours_.size(); ++n) {
    const int peer = neighbours_[n].rank;
    arriving[n].resize(at(receive_count[n]));
    requests.push_back(comm_.start_receive(comm::writable_bytes_of(arriving[n]), peer, structure_tag));
    requests.push_back(comm_.start_send(comm::bytes_of(leaving[at(peer)]), peer, structure_tag));
  }
  comm_.wait_all(requests);
  for (const auto& atoms : arriving) kept.insert(kept.end(), atoms.begin(), atoms.end());
  return kept;
}

void Domain::sort_into_cells(std::vector<Particle> particles) {
  // Several arrays of atoms at once decide the peak of memory: what the particles tell is dropped here.
  release(id);
  release(position);
  release(reference);
  release(velocity);
  release(molecule);
  release(local);
  // Cell of each atom (its group key's), then a counting sort by cell, then the order within each cell.
  index_particles(particles);
  std::vector<std::int32_t> cell_of(particles.size());
  std::vector<std::int32_t> count(at(n_cells()) + 1, 0);
  threads_.parallel_for(static_cast<std::int64_t>(particles.size()), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      const auto key = find_particle(particles, group_key(particles[at(i)].id));
      TESSERA_CHECK(key >= 0);
      cell_of[at(i)] = local_cell(grid().cell_of(particles[at(key)].position));
    }
  });
  for (const auto c : cell_of) {
    TESSERA_CHECK(c >= 0 && c < n_owned_cells_);
    ++count[at(c)];
  }
  cell_begin.assign(at(n_cells()) + 1, 0);
  std::vector<std::int64_t> particle_begin(at(n_owned_cells_) + 1, 0);
  for (std::int32_t c = 0; c < n_owned_cells_; ++c) {
    particle_begin[at(c) + 1] = particle_begin[at(c)] + count[at(c)];
    cell_begin[at(c) + 1] = cell_begin[at(c)] + (count[at(c)] + cluster_size - 1) / cluster_size;
  }
  {
    auto next = particle_begin;
    auto& place = cell_of;
    for (auto& p : place) p = static_cast<std::int32_t>(next[at(p)]++);
    // Swaps until what stands here belongs here: each puts one atom into its place for good.
    for (std::size_t i = 0; i < place.size(); ++i)
      while (at(place[i]) != i) {
        std::swap(particles[i], particles[at(place[i])]);
        std::swap(place[i], place[at(place[i])]);
      }
    release(cell_of);
  }
  n_owned_atoms_ = static_cast<std::int32_t>(particles.size());
  n_owned_slots_ = cell_begin[at(n_owned_cells_)] * cluster_size;
  id.assign(at(n_owned_slots_), -1);
  position.resize(at(n_owned_slots_));
  velocity.assign(at(n_owned_slots_), {});
  // Only a restart brings displacements.
  const bool displaced =
      std::any_of(particles.begin(), particles.end(), [](const Particle& p) { return p.displacement != Fraction{}; });
  displacement_ = std::vector<Fraction>(displaced ? at(n_owned_slots_) : 0);
  threads_.parallel_for(n_owned_cells_, [&](std::int64_t begin, std::int64_t end) {
    for (auto c = begin; c < end; ++c) {
      const std::span atoms(particles.data() + particle_begin[at(c)], at(count[at(c)]));
      const auto centre = grid().centre(cell[at(c)]);
      sort_cell(atoms, centre);
      auto slot = at(cell_begin[at(c)]) * cluster_size;
      for (const auto& atom : atoms) {
        id[slot] = atom.id;
        position[slot] = atom.position;
        velocity[slot] = atom.velocity;
        if (displaced) displacement_[slot] = atom.displacement;
        ++slot;
      }
      for (; slot < at(cell_begin[at(c) + 1]) * cluster_size; ++slot) position[slot] = centre;
    }
  });
  release(particles);
  reference.assign(position.begin(), position.end());
  exchange_halo_structure();
  molecule.resize(id.size());
  local.resize(id.size());
  threads_.parallel_for(n_slots(), [&](std::int64_t begin, std::int64_t end) {
    look_up_atoms(static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end));
  });
  slots_.reset(id.size());
  for (std::int32_t s = 0; s < n_slots(); ++s)
    if (!is_padding(s)) slots_.insert(id[at(s)], s);
}

void Domain::look_up_atoms(std::int32_t begin, std::int32_t end) {
  for (auto s = begin; s < end; ++s) {
    if (is_padding(s)) {
      molecule[at(s)] = local[at(s)] = -1;
      continue;
    }
    const auto reference_to = system_.find(id[at(s)]);
    molecule[at(s)] = reference_to.molecule;
    local[at(s)] = reference_to.local;
  }
}

void Domain::exchange_halo_structure() {
  // First how many clusters each halo cell has, then what whole cells hold.
  std::vector<comm::Request> requests;
  std::vector<std::vector<std::int32_t>> sent(neighbours_.size()), received(neighbours_.size());
  for (std::size_t n = 0; n < neighbours_.size(); ++n) {
    const auto& neighbour = neighbours_[n];
    received[n].resize(at(neighbour.n_receive_cells));
    for (const auto c : neighbour.send) sent[n].push_back(cell_begin[at(c) + 1] - cell_begin[at(c)]);
    requests.push_back(comm_.start_receive(comm::writable_bytes_of(received[n]), neighbour.rank, count_tag));
    requests.push_back(comm_.start_send(comm::bytes_of(sent[n]), neighbour.rank, count_tag));
  }
  comm_.wait_all(requests);
  for (std::size_t n = 0; n < neighbours_.size(); ++n)
    for (std::int32_t k = 0; k < neighbours_[n].n_receive_cells; ++k) {
      const auto c = neighbours_[n].first_receive_cell + k;
      cell_begin[at(c) + 1] = cell_begin[at(c)] + received[n][at(k)];
    }
  const auto slots = at(cell_begin.back()) * cluster_size;
  id.resize(slots);
  position.resize(slots);
  velocity.resize(slots);
  start_halo(id, structure_tag);
  finish();
  start_halo(velocity, structure_tag);
  finish();
  start_halo_positions();
  finish();
}

void Domain::apply_displacements() {
  for (std::size_t s = 0; s < displacement_.size(); ++s) position[s] = position[s] + displacement_[s];
  displacement_ = {};
  start_halo_positions();
  finish();
}

/// Values of halo slots from their owners.
template <class Value>
void Domain::start_halo(std::vector<Value>& values, int tag) {
  for (std::size_t n = 0; n < neighbours_.size(); ++n) {
    const auto& neighbour = neighbours_[n];
    auto& buffer = send_buffers_[n];
    buffer.clear();
    for (const auto c : neighbour.send) {
      const auto first = at(cell_begin[at(c)]) * cluster_size, last = at(cell_begin[at(c) + 1]) * cluster_size;
      const auto cell_values = std::as_bytes(std::span(values).subspan(first, last - first));
      buffer.insert(buffer.end(), cell_values.begin(), cell_values.end());
    }
    const auto begin = at(cell_begin[at(neighbour.first_receive_cell)]) * cluster_size;
    const auto end = at(cell_begin[at(neighbour.first_receive_cell + neighbour.n_receive_cells)]) * cluster_size;
    requests_.push_back(comm_.start_receive(std::as_writable_bytes(std::span(values).subspan(begin, end - begin)),
                                            neighbour.rank, tag));
    requests_.push_back(comm_.start_send(buffer, neighbour.rank, tag));
  }
}

void Domain::finish() {
  comm_.wait_all(requests_);
  requests_.clear();
}

void Domain::start_halo_positions() { start_halo(position, position_tag); }

void Domain::finish_halo_positions() { finish(); }

void Domain::start_return_of_forces(std::span<const std::int64_t> force) {
  for (std::size_t n = 0; n < neighbours_.size(); ++n) {
    const auto& neighbour = neighbours_[n];
    std::size_t expected = 0;
    for (const auto c : neighbour.send) expected += at(cell_begin[at(c) + 1] - cell_begin[at(c)]);
    receive_forces_[n].resize(3 * cluster_size * expected);
    const auto begin = at(cell_begin[at(neighbour.first_receive_cell)]) * 3 * cluster_size;
    const auto end = at(cell_begin[at(neighbour.first_receive_cell + neighbour.n_receive_cells)]) * 3 * cluster_size;
    requests_.push_back(comm_.start_receive(comm::writable_bytes_of(receive_forces_[n]), neighbour.rank, force_tag));
    requests_.push_back(comm_.start_send(std::as_bytes(force.subspan(begin, end - begin)), neighbour.rank, force_tag));
  }
}

void Domain::finish_return_of_forces(std::span<std::int64_t> force) {
  finish();
  for (std::size_t n = 0; n < neighbours_.size(); ++n) {
    const std::int64_t* next = receive_forces_[n].data();
    for (const auto c : neighbours_[n].send)
      for (auto i = at(cell_begin[at(c)]) * 3 * cluster_size; i < at(cell_begin[at(c) + 1]) * 3 * cluster_size; ++i)
        add_fixed(force[i], *next++);
  }
  std::fill(force.begin() + std::ptrdiff_t{3} * n_owned_slots_, force.end(), 0);
}

double Domain::greatest_displacement2() {
  const auto edges = system_.lattice.edges();
  const double sx = edges[0] / 4294967296.0, sy = edges[1] / 4294967296.0, sz = edges[2] / 4294967296.0;
  std::vector<double> greatest(at(threads_.size()), 0);
  threads_.run([&](int thread) {
    const std::int64_t n = n_owned_slots_;
    double most = 0;
    for (auto s = n * thread / threads_.size(); s < n * (thread + 1) / threads_.size(); ++s) {
      const auto moved = position[at(s)] - reference[at(s)];
      const double x = moved.x * sx, y = moved.y * sy, z = moved.z * sz;
      most = std::max(most, x * x + y * y + z * z);
    }
    greatest[at(thread)] = most;
  });
  return *std::max_element(greatest.begin(), greatest.end());
}

std::size_t Domain::bytes() const {
  return id.capacity() * sizeof(id[0]) + position.capacity() * sizeof(position[0]) +
         (molecule.capacity() + local.capacity()) * sizeof(std::int32_t) + velocity.capacity() * sizeof(velocity[0]) +
         reference.capacity() * sizeof(reference[0]) + slots_.bytes();
}

}  // namespace tessera::md::domain
