#include "tessera/app/restart/fingerprint.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>

#include "tessera/io/checksum.h"

namespace tessera::app {

namespace {

/// Checksums by part. Every list goes in with its length, so that no two contents look alike.
class Parts {
 public:
  template <class Value>
  void add(const std::string& part, const std::vector<Value>& values) {
    static_assert(std::has_unique_object_representations_v<Value> || std::is_floating_point_v<Value> ||
                      sizeof(Value) % sizeof(double) == 0,
                  "no padding, which holds anything");
    const auto n = static_cast<std::int64_t>(values.size());
    sums_[part].add(std::as_bytes(std::span(&n, 1))).add(std::as_bytes(std::span(values)));
  }
  void add(const std::string& part, const std::vector<std::string>& texts) {
    add(part, std::vector<std::int64_t>{static_cast<std::int64_t>(texts.size())});
    for (const auto& text : texts) add(part, std::vector<char>(text.begin(), text.end()));
  }
  template <int Arity>
  void add(const std::string& part, const model::Terms<Arity>& terms) {
    add(part, terms.atoms);
    add(part, terms.parameter);
  }

  nlohmann::json finish() {
    constexpr std::size_t digits = 16;  // of a checksum: what changed by mistake is not a forgery
    nlohmann::json json;
    for (auto& [part, sum] : sums_) json[part] = sum.finish().substr(0, digits);
    return json;
  }

 private:
  std::map<std::string, io::Checksum> sums_;
};

void add_force_field(Parts& parts, const model::ForceField& field) {
  parts.add("coulomb_constant", std::vector<double>{field.coulomb_constant});
  parts.add("lj_rule", std::vector<int>{static_cast<int>(field.lj_rule)});
  parts.add("forcefield/type_name", field.type_name);
  parts.add("forcefield/type_lj", field.type_lj);
  parts.add("forcefield/nbfix", field.nbfix);
  parts.add("forcefield/bond", field.bond);
  parts.add("forcefield/angle", field.angle);
  parts.add("forcefield/urey_bradley", field.urey_bradley);
  parts.add("forcefield/dihedral", field.dihedral);
  parts.add("forcefield/dihedral_rb", field.dihedral_rb);
  parts.add("forcefield/improper_harmonic", field.improper_harmonic);
  parts.add("forcefield/improper_periodic", field.improper_periodic);
  parts.add("forcefield/pair_14", field.pair_14);
  for (const auto& map : field.cmap) parts.add("forcefield/cmap", map.energy);
}

void add_template(Parts& parts, const model::Template& molecule) {
  parts.add("templates/name", std::vector<std::string>{molecule.name});
  parts.add("templates/rigid_water", std::vector<int>{molecule.rigid_water, molecule.always_rigid});
  parts.add("templates/settle", std::vector<double>{molecule.water_oh, molecule.water_hh});
  parts.add("templates/atom_name", molecule.atom_name);
  parts.add("templates/type", molecule.type);
  parts.add("templates/charge", molecule.charge);
  parts.add("templates/mass", molecule.mass);
  parts.add("templates/atomic_number", molecule.atomic_number);
  parts.add("templates/residue", molecule.residue);
  parts.add("templates/residue_name", molecule.residue_name);
  parts.add("templates/segment_name", molecule.segment_name);
  parts.add("templates/residue_number", molecule.residue_number);
  parts.add("templates/group", molecule.group);
  parts.add("templates/bond", molecule.bond);
  parts.add("templates/angle", molecule.angle);
  parts.add("templates/urey_bradley", molecule.urey_bradley);
  parts.add("templates/dihedral", molecule.dihedral);
  parts.add("templates/dihedral_rb", molecule.dihedral_rb);
  parts.add("templates/improper_harmonic", molecule.improper_harmonic);
  parts.add("templates/improper_periodic", molecule.improper_periodic);
  parts.add("templates/cmap", molecule.cmap);
  parts.add("templates/pair_14", molecule.pair_14);
  parts.add("templates/exclusions", molecule.exclusions);
}

}  // namespace

nlohmann::json fingerprint(const model::System& system) {
  Parts parts;
  const auto &a = system.lattice.a(), &b = system.lattice.b(), &c = system.lattice.c();
  parts.add("box", std::vector<double>{a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z});
  parts.add("periodic", std::vector<int>{system.is_periodic});
  add_force_field(parts, system.force_field);
  for (const auto& molecule : system.templates) add_template(parts, molecule);
  std::vector<std::int64_t> runs;
  for (const auto& run : system.instances()) runs.insert(runs.end(), {run.molecule, run.count});
  parts.add("instances/runs", runs);
  return parts.finish();
}

std::vector<std::string> changed_parts(const nlohmann::json& before, const nlohmann::json& now) {
  std::vector<std::string> changed;
  const auto value = [](const nlohmann::json& all, const std::string& part) {
    return all.is_object() ? all.value(part, std::string()) : std::string();
  };
  for (const auto* all : {&before, &now})
    if (all->is_object())
      for (const auto& [part, sum] : all->items())
        if (value(before, part) != value(now, part) && std::find(changed.begin(), changed.end(), part) == changed.end())
          changed.push_back(part);
  return changed;
}

}  // namespace tessera::app
