#include "tessera/app/gather.h"

#include "tessera/base/error.h"

namespace tessera::app {

std::vector<md::domain::Particle> gather_particles(const md::Engine& engine, const comm::Communicator& comm) {
  std::vector<md::domain::Particle> all;
  if (comm.is_root()) all.reserve(static_cast<std::size_t>(engine.system().n_atoms()));
  for_id_ranges(engine.system().n_atoms(), [&](std::int64_t begin, std::int64_t end) {
    const auto some = gather_particles(engine, comm, begin, end);
    all.insert(all.end(), some.begin(), some.end());
  });
  return all;
}

std::vector<md::domain::Particle> gather_particles(const md::Engine& engine, const comm::Communicator& comm,
                                                   std::int64_t begin, std::int64_t end) {
  const auto gathered = comm.gather(comm::bytes_of(engine.owned_particles(begin, end)), 0);
  if (!comm.is_root()) return {};
  std::vector<md::domain::Particle> particles(static_cast<std::size_t>(end - begin));
  std::int64_t n = 0;
  for (const auto& block : gathered)
    for (const auto& particle : comm::values_of<md::domain::Particle>(block)) {
      particles[static_cast<std::size_t>(particle.id - begin)] = particle;
      ++n;
    }
  TESSERA_CHECK(n == end - begin);
  return particles;
}

std::vector<double> gather_forces(const md::Engine& engine, const comm::Communicator& comm) {
  struct AtomForce {
    std::int64_t id;
    Vec3 force;
  };
  std::vector<AtomForce> own;
  for (std::int32_t s = 0; s < engine.domain().n_owned_slots(); ++s)
    if (!engine.domain().is_padding(s))
      own.push_back({engine.domain().id[static_cast<std::size_t>(s)], engine.force(s)});
  const auto gathered = comm.gather(comm::bytes_of(own), 0);
  if (!comm.is_root()) return {};
  std::vector<double> forces(3 * static_cast<std::size_t>(engine.system().n_atoms()));
  for (const auto& block : gathered)
    for (const auto& atom : comm::values_of<AtomForce>(block)) {
      const auto at = 3 * static_cast<std::size_t>(atom.id);
      forces[at] = atom.force.x;
      forces[at + 1] = atom.force.y;
      forces[at + 2] = atom.force.z;
    }
  return forces;
}

}  // namespace tessera::app
