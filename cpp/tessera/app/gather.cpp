#include "tessera/app/gather.h"

#include "tessera/base/error.h"

namespace tessera::app {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

md::Snapshot gather_state(const md::Engine& engine, const comm::Communicator& comm) {
  auto all = engine.snapshot(0, 0);
  if (comm.is_root()) all.atoms.reserve(at(engine.system().n_atoms()));
  for_id_ranges(engine.system().n_atoms(), [&](std::int64_t begin, std::int64_t end) {
    const auto some = gather_state(engine, comm, begin, end);
    all.atoms.insert(all.atoms.end(), some.atoms.begin(), some.atoms.end());
    for (std::size_t f = 0; f < all.fields.size(); ++f)
      all.fields[f].values.insert(all.fields[f].values.end(), some.fields[f].values.begin(),
                                  some.fields[f].values.end());
  });
  return all;
}

md::Snapshot gather_state(const md::Engine& engine, const comm::Communicator& comm, std::int64_t begin,
                          std::int64_t end) {
  auto own = engine.snapshot(begin, end);
  const auto atoms = comm.gather(comm::bytes_of(own.atoms), 0);
  std::vector<std::vector<std::vector<std::byte>>> fields;
  for (const auto& field : own.fields) fields.push_back(comm.gather(comm::bytes_of(field.values), 0));
  own.atoms.clear();
  for (auto& field : own.fields) field.values.clear();
  if (!comm.is_root()) return own;
  own.atoms.resize(at(end - begin));
  for (auto& field : own.fields) field.values.resize(at(end - begin) * field.width);
  std::int64_t n = 0;
  for (std::size_t rank = 0; rank < atoms.size(); ++rank) {
    const auto of_rank = comm::values_of<md::Particle>(atoms[rank]);
    for (const auto& atom : of_rank) own.atoms[at(atom.id - begin)] = atom;
    n += std::ssize(of_rank);
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const auto values = comm::values_of<double>(fields[f][rank]);
      const auto width = own.fields[f].width;
      for (std::size_t i = 0; i < of_rank.size(); ++i)
        for (std::size_t k = 0; k < width; ++k)
          own.fields[f].values[at(of_rank[i].id - begin) * width + k] = values[i * width + k];
    }
  }
  TESSERA_CHECK(n == end - begin);
  return own;
}

namespace {

/// (n,3).
std::vector<double> by_id(const std::vector<std::vector<std::byte>>& gathered, std::int64_t n_atoms) {
  std::vector<double> values(3 * at(n_atoms));
  for (const auto& block : gathered)
    for (const auto& [id, value] : comm::values_of<AtomVector>(block)) {
      const auto first = 3 * at(id);
      values[first] = value.x;
      values[first + 1] = value.y;
      values[first + 2] = value.z;
    }
  return values;
}

}  // namespace

std::vector<AtomVector> own_vectors(const md::Engine& engine, Quantity quantity) {
  const auto& domain = engine.domain();
  const auto& state = engine.state();
  const auto value_of = [&](std::int32_t slot) -> Vec3 {
    const auto& [x, y, z] = state.velocity[at(slot)];
    const auto& groups = engine.settings().force_groups;
    switch (quantity) {
      case Quantity::position:
        return state.box.cartesian(state.position[at(slot)]);
      case Quantity::velocity:
        return {md::velocity_unit * x, md::velocity_unit * y, md::velocity_unit * z};
      case Quantity::force:
        return engine.force(slot);
      case Quantity::bonded_force:
        return engine.forces().on(slot, groups[md::ForceSource::bonded]);
      case Quantity::direct_force:
        return engine.forces().on(slot, groups[md::ForceSource::direct]);
      case Quantity::mesh_force:
        return engine.forces().on(slot, groups[md::ForceSource::mesh]);
    }
    return {};
  };
  std::vector<AtomVector> own;
  own.reserve(static_cast<std::size_t>(domain.n_owned_atoms()));
  for (std::int32_t slot = 0; slot < domain.n_owned_slots(); ++slot) {
    if (domain.is_padding(slot)) continue;
    own.push_back({state.id[at(slot)], value_of(slot)});
  }
  return own;
}

std::vector<double> all_vectors(const md::Engine& engine, const comm::Communicator& comm, Quantity quantity) {
  return by_id(comm.all_gather(comm::bytes_of(own_vectors(engine, quantity))), engine.system().n_atoms());
}

std::vector<double> gather_forces(const md::Engine& engine, const comm::Communicator& comm) {
  const auto gathered = comm.gather(comm::bytes_of(own_vectors(engine, Quantity::force)), 0);
  return comm.is_root() ? by_id(gathered, engine.system().n_atoms()) : std::vector<double>{};
}

}  // namespace tessera::app
