#include "tessera/app/gather.h"

#include <optional>
#include <span>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/io/npy.h"

namespace tessera::app {

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

/// Returns the values of n atoms with ids from `first` on, (n,3).
std::vector<double> by_id(const std::vector<std::vector<std::byte>>& received, std::int64_t first, std::int64_t n) {
  std::vector<double> values(3 * at(n));
  for (const auto& block : received)
    for (const auto& [id, value] : comm::values_of<AtomVector>(block)) {
      const auto to = 3 * at(id - first);
      values[to] = value.x;
      values[to + 1] = value.y;
      values[to + 2] = value.z;
    }
  return values;
}

}  // namespace

std::vector<AtomVector> own_vectors(const md::Engine& engine, Quantity quantity) {
  const auto& groups = engine.settings().force_groups;
  const auto source = quantity == Quantity::bonded_force   ? std::optional(md::ForceSource::bonded)
                      : quantity == Quantity::direct_force ? std::optional(md::ForceSource::direct)
                      : quantity == Quantity::mesh_force   ? std::optional(md::ForceSource::mesh)
                                                           : std::nullopt;
  const auto* forces = source ? &engine.forces() : nullptr;  // which brings atoms here that a device moves
  const auto atoms = engine.atoms();
  const auto& box = engine.global().box;
  const auto value_of = [&](std::size_t slot) -> Vec3 {
    const auto& [x, y, z] = atoms.velocity[slot];
    if (source) return forces->on(static_cast<std::int32_t>(slot), groups[*source]);
    switch (quantity) {
      case Quantity::position:
        return box.cartesian(atoms.position[slot]) + engine.system().origin;
      case Quantity::fraction: {
        const auto place = atoms.position[slot].units();
        const auto scale = md::vacuum::scale_between(box, engine.system().box);
        return engine.system().is_periodic ? place : Vec3{scale[0] * place.x, scale[1] * place.y, scale[2] * place.z};
      }
      case Quantity::velocity:
        return {md::velocity_unit * x, md::velocity_unit * y, md::velocity_unit * z};
      default:
        return atoms.force_on(slot);
    }
  };
  std::vector<AtomVector> own;
  own.reserve(at(atoms.n_atoms));
  for (std::size_t slot = 0; slot < atoms.id.size(); ++slot)
    if (atoms.id[slot] >= 0) own.push_back({atoms.id[slot], value_of(slot)});
  return own;
}

std::vector<double> all_vectors(const md::Engine& engine, const comm::Communicator& comm, Quantity quantity) {
  return by_id(comm.all_gather(comm::bytes_of(own_vectors(engine, quantity))), 0, engine.system().n_atoms());
}

void write_vectors(const std::string& path, const md::Engine& engine, const comm::Communicator& comm,
                   Quantity quantity) {
  const auto n = engine.system().n_atoms();
  const auto first_of = [&](std::int64_t rank) { return (n * rank + comm.size() - 1) / comm.size(); };
  std::vector<std::vector<std::byte>> outgoing(at(comm.size()));
  for (const auto& atom : own_vectors(engine, quantity)) {
    const auto bytes = std::as_bytes(std::span(&atom, 1));
    auto& to = outgoing[at(atom.id * comm.size() / n)];
    to.insert(to.end(), bytes.begin(), bytes.end());
  }
  const auto first = first_of(comm.rank());
  const auto rows = by_id(comm.all_to_all(outgoing), first, first_of(comm.rank() + 1) - first);
  io::write_npy(comm, path, rows, first, n, 3);
}

}  // namespace tessera::app
