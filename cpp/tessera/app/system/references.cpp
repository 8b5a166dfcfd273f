#include "tessera/app/system/references.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "tessera/base/error.h"

namespace tessera::app {

namespace {

void put(std::vector<double>& values, std::size_t row, const Fraction& fraction) {
  values[3 * row] = fraction.x;
  values[3 * row + 1] = fraction.y;
  values[3 * row + 2] = fraction.z;
}

/// Reads the places of the block's atoms from another file, in parts: as fractions of its box, or where all are to be
/// near one atom or the system is in a vacuum, as fractions of the system's box that keep distances in Å.
std::vector<double> read_references(const std::string& path, const std::string& key, const CoordinateBlock& block,
                                    const model::System& system, std::optional<std::int64_t> whole_from) {
  constexpr std::int64_t rows_at_once = 1'000'000;
  model::System other;
  try {
    other = read_system(path);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", key, error.what()));
  }
  if (other.n_atoms() != system.n_atoms())
    throw InputError(fmt::format("{}: {} has {} atoms, expected the {} of the system, in the same order", key, path,
                                 other.n_atoms(), system.n_atoms()));
  std::unordered_map<std::int64_t, std::size_t> row_of;
  row_of.reserve(block.id.size());
  for (std::size_t row = 0; row < block.id.size(); ++row) row_of[block.id[row]] = row;
  std::vector<double> values(3 * block.id.size());
  Fraction centre{};
  const auto parts = static_cast<int>(1 + other.n_atoms() / rows_at_once);
  for (int part = 0; part < parts; ++part) {
    const auto some = read_coordinates(path, part, parts);
    for (std::size_t i = 0; i < some.id.size(); ++i) {
      if (const auto row = row_of.find(some.id[i]); row != row_of.end()) put(values, row->second, some.fraction[i]);
      if (whole_from && some.id[i] == *whole_from) centre = some.fraction[i];
    }
  }
  if (!whole_from && system.is_periodic) return values;
  if (!system.is_periodic) centre = {};  // no atom has an image, and both files have coordinates of one origin
  const auto to_length = other.box.unit_vectors(), to_own = inverse(system.box.unit_vectors());
  const std::array<double, 3> origin = {static_cast<double>(centre.x), static_cast<double>(centre.y),
                                        static_cast<double>(centre.z)};
  constexpr double turn = 4294967296.0;  // the box in units of a fraction
  const Vec3 shift = system.is_periodic ? Vec3{} : to_own * (other.origin - system.origin);
  for (std::size_t row = 0; row < block.id.size(); ++row) {
    double* place = &values[3 * row];
    const auto apart = [&](std::size_t d) {
      const double difference = place[d] - origin[d];
      return system.is_periodic ? difference - turn * std::rint(difference / turn) : difference;
    };
    const Vec3 own = to_own * (to_length * Vec3{apart(0), apart(1), apart(2)}) + shift;
    place[0] = origin[0] + own.x, place[1] = origin[1] + own.y, place[2] = origin[2] + own.z;
  }
  return values;
}

}  // namespace

void add_references(CoordinateBlock& block, const RunConfig& config, const md::EngineSettings& settings,
                    const model::System& system) {
  for (std::size_t i = 0; i < settings.restraints.size(); ++i) {
    const auto& name = settings.restraints[i].reference;
    const bool is_there =
        std::any_of(block.fields.begin(), block.fields.end(), [&](const auto& field) { return field.name == name; });
    if (name.empty() || is_there) continue;
    const auto& path = config.restraints[i].reference;
    md::AtomField field{name, 3, {}};
    if (path.empty()) {
      field.values.resize(3 * block.id.size());
      for (std::size_t row = 0; row < block.id.size(); ++row) put(field.values, row, block.fraction[row]);
    } else {
      std::optional<std::int64_t> whole_from;
      if (settings.restraints[i].kind == md::restraint::RestraintKind::rmsd)
        whole_from = settings.restraints[i].atoms.ranges().front().first;
      field.values = read_references(path, fmt::format("restraint.{}.reference", i), block, system, whole_from);
    }
    block.fields.push_back(std::move(field));
  }
}

}  // namespace tessera::app
