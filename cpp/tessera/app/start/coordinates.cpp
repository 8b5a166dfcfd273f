#include "tessera/app/start/coordinates.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "tessera/base/error.h"

namespace tessera::app {

void check_every_atom_once(const comm::Communicator& comm, const CoordinateBlock& block, const model::System& system,
                           const std::string& path) {
  // Number, sum and sum of squares of the ids (modulo 2⁶⁴): what one id twice and another missing must change.
  const auto sums = [](auto&& ids) {
    std::array<std::uint64_t, 3> s{};
    ids([&](std::int64_t id) {
      const auto v = static_cast<std::uint64_t>(id);
      s[0] += 1;
      s[1] += v;
      s[2] += v * v;
    });
    return s;
  };
  const auto found = sums([&](auto&& add) {
    for (const auto id : block.id) add(id);
  });
  const auto wanted = sums([&](auto&& add) {
    for (std::int64_t id = comm.rank(); id < system.n_atoms(); id += comm.size()) add(id);
  });
  std::array<std::int64_t, 3> difference;
  for (std::size_t i = 0; i < 3; ++i) difference[i] = static_cast<std::int64_t>(found[i] - wanted[i]);
  comm.all_reduce_sum(difference);
  if (difference != std::array<std::int64_t, 3>{})
    throw InputError(
        fmt::format("{}: /coordinates/id does not hold each of {} atoms once: the file is damaged, prepare "
                    "it again",
                    path, system.n_atoms()));
}

md::Velocity rounded_velocity(const model::System& system, std::int64_t atom, const Vec3& velocity) {
  constexpr double range = 2147483648 * md::velocity_unit;
  const double speed = norm(velocity);
  if (!(speed < range - md::velocity_unit))
    throw InputError(fmt::format("{} moves at {:.6g} Å/ps, expected less than {:.0f}; give it another velocity",
                                 system.describe(atom), speed, range));
  const auto rounded = [](double v) { return static_cast<std::int32_t>(std::lrint(v / md::velocity_unit)); };
  return {rounded(velocity.x), rounded(velocity.y), rounded(velocity.z)};
}

Fraction wrapped_position(const model::System& system, std::int64_t atom, const Vec3& position, const Box& box) {
  constexpr double most = 1048576;  // farther away, doubles are coarser than fractions
  const auto units = inverse(box.unit_vectors()) * position;
  for (const double along : {units.x, units.y, units.z})
    if (!(std::abs(along) * fraction_unit <= most))
      throw InputError(
          fmt::format("{} is at ({:.6g} {:.6g} {:.6g}) Å, more than {:.0f} boxes away; give it a place near the box",
                      system.describe(atom), position.x, position.y, position.z, most));
  return box.fraction(position);
}

md::Snapshot make_start(const model::System& system, const CoordinateBlock& block) {
  md::Snapshot start;
  start.box = start.search_box = system.box;
  start.atoms.resize(block.id.size());
  start.fields = block.fields;
  for (std::size_t i = 0; i < start.atoms.size(); ++i) {
    start.atoms[i].id = block.id[i];
    start.atoms[i].position = block.fraction[i];
    if (!block.velocity.empty()) start.atoms[i].velocity = rounded_velocity(system, block.id[i], block.velocity[i]);
  }
  return start;
}

}  // namespace tessera::app
