#include "tessera/app/system/system_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tessera/app/system/block_index.h"
#include "tessera/app/system/reader.h"
#include "tessera/app/system/system_layout.h"
#include "tessera/base/error.h"
#include "tessera/base/math/elementary.h"
#include "tessera/io/hdf5.h"
#include "tessera/io/large_pages.h"
#include "tessera/md/bonded/tables.h"

namespace tessera::app {
namespace {

/// A visitor that reads what it is shown, and checks every index.
class Filler {
 public:
  Filler(const Reader& reader, std::string group) : reader_(reader), file_(reader.file()), group_(std::move(group)) {}

  /// Reads rows of numbers alone.
  template <class Row>
  void operator()(std::string_view name, std::vector<Row>& rows, layout::AnyRows) const {
    static_assert(std::is_trivially_copyable_v<Row> && sizeof(Row) % sizeof(double) == 0);
    constexpr std::size_t columns = sizeof(Row) / sizeof(double);
    const auto flat = reader_.numbers(dataset(name), columns);
    rows.resize(flat.size() / columns);
    if (!rows.empty()) std::memcpy(rows.data(), flat.data(), rows.size() * sizeof(Row));
  }
  void operator()(std::string_view name, std::vector<std::int32_t>& values, layout::AnyRows) const {
    values = reader_.table<std::int32_t>(dataset(name), {});
  }
  /// Reads square maps, all of one size.
  void operator()(std::string_view name, std::vector<model::CmapParameter>& maps, layout::AnyRows) const {
    if (!reader_.has(dataset(name))) return;
    const auto shape = file_.shape(dataset(name));
    if (shape.size() != 3 || shape[1] != shape[2] || (shape[0] > 0 && shape[1] < 4))
      reader_.fail_in(dataset(name), "is not a list of square maps of 4 × 4 points or more");
    const auto values = file_.read<double>(dataset(name));
    reader_.check_finite(dataset(name), values);
    maps.resize(static_cast<std::size_t>(shape[0]));
    const std::int64_t points = shape[1] * shape[2];
    for (std::size_t m = 0; m < maps.size(); ++m) {
      maps[m].n = static_cast<int>(shape[1]);
      const auto begin = values.begin() + static_cast<std::int64_t>(m) * points;
      maps[m].energy.assign(begin, begin + points);
    }
  }
  void operator()(std::string_view name, Box& box, layout::AnyRows) const {
    const auto rows = reader_.numbers(dataset(name), 3);
    reader_.check_rows(dataset(name), rows.size() / 3, 3);
    if (rows[1] != 0 || rows[2] != 0 || rows[5] != 0 || !(rows[0] > 0) || !(rows[4] > 0) || !(rows[8] > 0))
      reader_.fail_in(dataset(name), "is not lower triangular with a positive diagonal (a along x, b in the xy plane)");
    box = {{rows[0], 0, 0}, {rows[3], rows[4], 0}, {rows[6], rows[7], rows[8]}};
  }
  /// Reads rows of first, count, number, step.
  void operator()(std::string_view name, std::vector<model::ResidueNumbers>& rows, layout::AnyRows) const {
    const auto flat = reader_.table<std::int64_t>(dataset(name), {4});
    for (std::size_t i = 0; i < flat.size(); i += 4) rows.push_back({flat[i], flat[i + 1], flat[i + 2], flat[i + 3]});
  }
  template <class Value>
  void operator()(std::string_view name, std::vector<Value>& values, layout::Scalars scalars) const {
    values = reader_.column<Value>(dataset(name), scalars.rows);
    if constexpr (std::is_same_v<Value, double>) reader_.check_finite(dataset(name), values);
  }
  void operator()(std::string_view name, std::vector<std::string>& texts, layout::Scalars scalars) const {
    texts = reader_.text(dataset(name), scalars.rows);
  }
  void operator()(std::string_view name, std::vector<std::int32_t>& values, layout::FirstColumn column) const {
    values = reader_.table<std::int32_t>(dataset(name), {});
    if (values.empty()) reader_.fail_in(dataset(name), "has no rows, expected one an atom");
    reader_.check_indices(dataset(name), values, column.bound);
  }
  void operator()(std::string_view name, std::vector<std::int32_t>& values, layout::Indices indices) const {
    values = reader_.column<std::int32_t>(dataset(name), indices.rows);
    reader_.check_indices(dataset(name), values, indices.bound);
  }
  void operator()(std::string_view name, std::vector<std::array<std::int32_t, 2>>& pairs,
                  layout::AtomPairs table) const {
    pairs = reader_.atoms<2>(dataset(name), table.n_atoms);
  }
  template <int Arity>
  void operator()(std::string_view name, model::Terms<Arity>& terms, layout::TermTable table) const {
    terms.atoms = reader_.atoms<Arity>(dataset(name) + "/atoms", table.n_atoms);
    terms.parameter = reader_.column<std::int32_t>(dataset(name) + "/parameter", terms.atoms.size());
    reader_.check_indices(dataset(name) + "/parameter", terms.parameter, table.n_parameters);
  }
  void operator()(std::string_view name, std::vector<model::VirtualSite>& sites, layout::SiteTable table) const {
    const auto root = dataset(name);
    const auto atom = reader_.table<std::int32_t>(root + "/atom", {});
    reader_.check_indices(root + "/atom", atom, table.n_atoms);
    const auto frame = reader_.column<std::int32_t>(root + "/frame", atom.size());
    reader_.check_indices(root + "/frame", frame, 3);
    const auto position = reader_.numbers(root + "/position", 3);
    reader_.check_rows(root + "/position", position.size() / 3, atom.size());
    for (std::size_t i = 0; i < atom.size(); ++i)
      sites.push_back({.atom = atom[i],
                       .frame = static_cast<model::SiteFrame>(frame[i]),
                       .position = {position[3 * i], position[3 * i + 1], position[3 * i + 2]},
                       .parents = {}});
    const auto parents = reader_.table<std::int32_t>(root + "/parents", {2});
    const auto weights = reader_.numbers(root + "/weights", 3);
    reader_.check_rows(root + "/weights", weights.size() / 3, parents.size() / 2);
    for (std::size_t i = 0; i < parents.size() / 2; ++i) {
      reader_.check_indices(root + "/parents", std::array{parents[2 * i]}, sites.size());
      reader_.check_indices(root + "/parents", std::array{parents[2 * i + 1]}, table.n_atoms);
      sites[static_cast<std::size_t>(parents[2 * i])].parents.push_back(
          {parents[2 * i + 1], weights[3 * i], weights[3 * i + 1], weights[3 * i + 2]});
    }
  }
  void operator()(std::string_view name, std::vector<model::NbfixPair>& pairs, layout::TypePairs table) const {
    const auto types = reader_.tuples<2>(dataset(name) + "_types", table.n_types);
    const bool has_ab = reader_.has(dataset(name) + "_ab");
    const std::string numbers = dataset(name) + (has_ab ? "_ab" : "_lj");
    const auto values = reader_.numbers(numbers, 2);
    reader_.check_rows(numbers, values.size() / 2, types.size());
    for (std::size_t i = 0; i < types.size(); ++i) {
      model::LennardJonesAB ab{values[2 * i], values[2 * i + 1]};
      if (!has_ab) {
        const double sigma6 = math::pow(values[2 * i], 6), epsilon = values[2 * i + 1];
        ab = {4 * epsilon * sigma6 * sigma6, 4 * epsilon * sigma6};
      }
      pairs.push_back({types[i][0], types[i][1], ab});
    }
  }
  void operator()(std::string_view name, std::vector<model::PairPotential>& pairs, layout::PotentialPairs table) const {
    const auto types = reader_.tuples<2>(dataset(name) + "_types", table.n_types);
    const auto kinds = reader_.text(dataset(name) + "_kind", types.size());
    const auto values = reader_.numbers(dataset(name) + "_parameter", model::PairPotential::most_parameters);
    reader_.check_rows(dataset(name) + "_parameter", values.size() / model::PairPotential::most_parameters,
                       types.size());
    std::set<std::pair<std::int32_t, std::int32_t>> seen;
    for (std::size_t i = 0; i < types.size(); ++i) {
      const auto& known = model::pair_potential_names;
      const auto found = std::find(known.begin(), known.end(), kinds[i]);
      if (found == known.end())
        reader_.fail(fmt::format("dataset {}_kind holds \"{}\", expected one of \"{}\"", dataset(name), kinds[i],
                                 fmt::join(known, "\", \"")));
      if (!seen.insert(std::minmax(types[i][0], types[i][1])).second)
        reader_.fail_in(dataset(name) + "_types",
                        fmt::format("names the types {} and {} twice", types[i][0], types[i][1]));
      auto& pair = pairs.emplace_back();
      pair.type_a = types[i][0];
      pair.type_b = types[i][1];
      pair.kind = static_cast<model::PairPotentialKind>(found - known.begin());
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i * pair.parameter.size()), pair.parameter.size(),
                  pair.parameter.begin());
    }
  }
  /// Reads tables of energies and forces, all with the same number of points.
  void operator()(std::string_view name, std::vector<model::TabulatedPotential>& tables, layout::AnyRows) const {
    if (!reader_.has(dataset(name))) return;
    const auto shape = file_.shape(dataset(name));
    if (shape.size() != 3 || shape[2] != 2) reader_.fail_in(dataset(name), "is not of shape (tables, points, 2)");
    const auto values = file_.read<double>(dataset(name));
    reader_.check_finite(dataset(name), values);
    tables.resize(static_cast<std::size_t>(shape[0]));
    const auto n = static_cast<std::size_t>(shape[1]);
    for (std::size_t t = 0; t < tables.size(); ++t)
      for (std::size_t i = 0; i < n; ++i)
        tables[t].points.push_back({values[2 * (t * n + i)], values[2 * (t * n + i) + 1]});
  }
  /// Reads the instances, in runs of one template.
  void operator()(std::string_view name, model::System& system, layout::Runs) const {
    const auto flat = reader_.table<std::int64_t>(dataset(name), {2});
    std::vector<std::pair<std::int32_t, std::int64_t>> runs;
    for (std::size_t i = 0; i < flat.size(); i += 2) {
      reader_.check_indices(dataset(name), std::array{flat[i]}, system.templates.size());
      if (flat[i + 1] <= 0) reader_.fail_in(dataset(name), fmt::format("counts {} molecules in a run", flat[i + 1]));
      runs.emplace_back(static_cast<std::int32_t>(flat[i]), flat[i + 1]);
    }
    system.set_instances(runs);
  }
  /// Reads rows of the first run and their number.
  void operator()(std::string_view name, model::System& system, layout::Chains) const {
    const auto flat = reader_.table<std::int64_t>(dataset(name), {2});
    std::vector<model::Chain> chains;
    for (std::size_t i = 0; i < flat.size(); i += 2) chains.push_back({flat[i], flat[i + 1]});
    try {
      system.set_chains(chains);
    } catch (const InputError& error) {
      reader_.fail_in(dataset(name), fmt::format("does not fit the templates: {}", error.what()));
    }
  }

  void operator()(std::string_view name, std::string& text, layout::Attribute attribute) const {
    if (is_there(name, attribute)) text = file_.text_attribute(object(), std::string(name));
  }
  void operator()(std::string_view name, bool& flag, layout::Attribute attribute) const {
    if (is_there(name, attribute)) flag = file_.attribute<std::int64_t>(object(), std::string(name)).at(0) != 0;
  }
  void operator()(std::string_view name, bool& flag, layout::Mark) const {
    flag = file_.has_attribute(object(), std::string(name)) &&
           file_.attribute<std::int64_t>(object(), std::string(name)).at(0) != 0;
  }
  void operator()(std::string_view name, Vec3& place, layout::Origin) const {
    if (!file_.has_attribute(object(), std::string(name))) return;
    const auto values = file_.attribute<double>(object(), std::string(name));
    if (values.size() != 3) reader_.fail(fmt::format("attribute {} has {} numbers, expected 3", name, values.size()));
    reader_.check_finite(std::string(name), values);
    place = {values[0], values[1], values[2]};
  }
  void operator()(std::string_view name, double& number, layout::Attribute) const {
    number = file_.attribute<double>(object(), std::string(name)).at(0);
  }
  void operator()(std::string_view name, model::LjRule& rule, layout::Attribute) const {
    const auto text = file_.text_attribute(object(), std::string(name));
    if (text != "lorentz-berthelot" && text != "geometric")
      reader_.fail(fmt::format("attribute {} is \"{}\", expected \"lorentz-berthelot\" or \"geometric\"", name, text));
    rule = text == "geometric" ? model::LjRule::geometric : model::LjRule::lorentz_berthelot;
  }
  void operator()(std::string_view name, model::Template& molecule, layout::SettleLengths) const {
    if (!molecule.rigid_water) return;
    const auto settle = file_.attribute<double>(object(), std::string(name));
    if (molecule.n_atoms() < 3 || settle.size() != 2 || !(settle[0] > 0) || !(settle[1] > 0) ||
        !(settle[1] < 2 * settle[0]))
      reader_.fail(fmt::format("{} is a rigid water without three atoms and two lengths (attribute {}: O–H, H–H, Å)",
                               object(), name));
    molecule.water_oh = settle[0];
    molecule.water_hh = settle[1];
  }

 private:
  std::string dataset(std::string_view name) const { return group_ + std::string(name); }
  /// Returns the group itself: "/" of the root.
  std::string object() const { return group_.size() > 1 ? group_.substr(0, group_.size() - 1) : group_; }
  /// Returns false only where the attribute need not be there.
  bool is_there(std::string_view name, layout::Attribute attribute) const {
    return !attribute.may_be_absent || file_.has_attribute(object(), std::string(name));
  }

  const Reader& reader_;
  const io::Hdf5File& file_;
  std::string group_;  // ends with a slash
};

/// Checks that keys are keys of themselves and stand in the same molecule, so that a group never reaches out of it.
void check_groups(const Reader& reader, const std::string& dataset, const std::vector<std::int32_t>& group) {
  for (std::size_t a = 0; a < group.size(); ++a) {
    const auto key = static_cast<std::size_t>(group[a]);
    if (group[key] != group[a])
      reader.fail_in(dataset,
                     fmt::format("gives atom {} the key {}, which is in the group of atom {}", a, key, group[key]));
  }
}

/// Checks that sites are atoms without mass, each in the hydrogen group of its parents, which are atoms with mass.
void check_virtual_sites(const Reader& reader, const std::string& root, const model::Template& molecule) {
  constexpr double rounding = 1e-9;
  const auto name = [&](std::int32_t atom) {
    return fmt::format("{} ({})", atom + 1, molecule.atom_name[static_cast<std::size_t>(atom)]);
  };
  const auto group = [&](std::int32_t atom) { return molecule.group[static_cast<std::size_t>(atom)]; };
  const auto dataset = root + "/virtual_site";
  std::int32_t last = -1;
  for (const auto& site : molecule.virtual_sites) {
    if (site.atom <= last) reader.fail_in(dataset, "does not list sites by ascending atom, each once");
    last = site.atom;
    if (molecule.mass[static_cast<std::size_t>(site.atom)] != 0)
      reader.fail_in(dataset, fmt::format("makes atom {} a virtual site, but its mass is not 0", name(site.atom)));
    if (site.parents.empty()) reader.fail_in(dataset, fmt::format("gives the site {} no parents", name(site.atom)));
    double origin = 0, x = 0, y = 0;
    for (const auto& parent : site.parents) {
      origin += parent.origin, x += parent.x, y += parent.y;
      if (molecule.is_virtual_site(parent.atom))
        reader.fail_in(dataset, fmt::format("gives the site {} the parent {}, which is a virtual site itself",
                                            name(site.atom), name(parent.atom)));
      if (group(parent.atom) != group(site.atom))
        reader.fail_in(dataset, fmt::format("gives the site {} the parent {} of another hydrogen group",
                                            name(site.atom), name(parent.atom)));
    }
    if (!(std::abs(origin - 1) < rounding && std::abs(x) < rounding && std::abs(y) < rounding))
      reader.fail_in(dataset,
                     fmt::format("gives the parents of the site {} weights that sum to {}, {} and {}, expected "
                                 "1, 0 and 0",
                                 name(site.atom), origin, x, y));
  }
}

model::Template read_template(const Reader& reader, std::int64_t index, const model::ForceField& field) {
  const std::string root = fmt::format("/templates/{}", index);
  if (!reader.has(root)) reader.fail(fmt::format("there is no group {}; templates count from 0 without gaps", root));
  model::Template molecule;
  layout::visit_template(molecule, field, Filler(reader, root + "/"));
  std::set<std::int32_t> sites;
  for (const auto& site : molecule.virtual_sites) sites.insert(site.atom);
  for (std::size_t a = 0; a < molecule.mass.size(); ++a)
    if (!(molecule.mass[a] > 0) && !(molecule.mass[a] == 0 && sites.contains(static_cast<std::int32_t>(a))))
      reader.fail(
          fmt::format("dataset {}/mass gives atom {} ({}) the mass {}; every atom that is not a virtual site "
                      "moves, so give it a mass",
                      root, a + 1, molecule.atom_name[a], molecule.mass[a]));
  check_groups(reader, root + "/group", molecule.group);
  check_virtual_sites(reader, root, molecule);
  model::for_each_kind([&](auto kind) {
    constexpr auto key = md::bonded::Kernel<decltype(kind)>::key_atom;
    for (const auto& atoms : molecule.terms[kind].atoms)
      if (!molecule.has(atoms[key]))
        reader.fail_in(fmt::format("{}/{}/atoms", root, kind.name),
                       fmt::format("names atom {} in column {}, expected one of the template's own", atoms[key], key));
  });
  for (const auto& [i, j] : molecule.exclusions)
    if (!molecule.has(i) && !molecule.has(j))
      reader.fail_in(root + "/exclusions", fmt::format("holds the pair {}, {} of other templates' atoms", i, j));
  for (const auto& [i, j] : molecule.exclusions)
    if (i >= j) reader.fail_in(root + "/exclusions", fmt::format("holds the pair {}, {}, expected i < j", i, j));
  return molecule;
}

/// Checks that rows stand in order, without overlap, within the instances.
void check_residue_numbers(const Reader& reader, const model::System& system) {
  std::int64_t n_instances = 0, end = 0;
  for (const auto& run : system.instances()) n_instances += run.count;
  for (const auto& row : system.residue_numbers) {
    if (row.first < end || row.count <= 0 || row.count > n_instances - row.first)
      reader.fail_in("/instances/residue_numbers",
                     fmt::format("numbers {} molecules from {}, expected rows in order within {} molecules", row.count,
                                 row.first, n_instances));
    end = row.first + row.count;
  }
}

std::string optional_text(const io::Hdf5File& file, const std::string& name) {
  return file.has_attribute("/", name) ? file.text_attribute("/", name) : "";
}

/// Reads how the source ends Lennard-Jones.
model::LjTruncation read_lj_truncation(const Reader& reader) {
  const auto& file = reader.file();
  const auto& names = model::lj_modifier_names;
  const auto name = file.text_attribute("/", "lj_modifier");
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    reader.fail(
        fmt::format("attribute lj_modifier is \"{}\", expected one of \"{}\"", name, fmt::join(names, "\", \"")));
  model::LjTruncation truncation;
  truncation.modifier = static_cast<model::LjModifier>(found - names.begin());
  truncation.cutoff = file.attribute<double>("/", "lj_cutoff").at(0);
  if (!(truncation.cutoff > 0 && std::isfinite(truncation.cutoff)))
    reader.fail(fmt::format("attribute lj_cutoff is {}, expected a distance above 0 (Å)", truncation.cutoff));
  truncation.switch_distance = file.attribute<double>("/", "lj_switch").at(0);
  if (model::has_switch(truncation.modifier) &&
      !(truncation.switch_distance >= 0 && truncation.switch_distance < truncation.cutoff))
    reader.fail(fmt::format("attribute lj_switch is {}, expected a distance from 0 to below lj_cutoff = {} (Å)",
                            truncation.switch_distance, truncation.cutoff));
  truncation.has_tail = file.attribute<std::int64_t>("/", "lj_tail").at(0) != 0;
  return truncation;
}

}  // namespace

model::System read_system(const SystemSource& source) {
  const Reader reader(source);
  const auto& file = reader.file();
  model::System system;
  layout::visit_root(system, Filler(reader, "/"));
  if (!system.is_periodic && !system.box.is_orthorhombic())
    reader.fail("dataset box has edges that are not along the axes, expected the frame of a vacuum (periodic = 0)");
  if (system.is_periodic && norm2(system.origin) > 0)
    reader.fail("attribute origin is that of a vacuum, and the box repeats (periodic = 1)");
  if (const double c = system.force_field.coulomb_constant; !(c > 0 && c < 1000))
    reader.fail(fmt::format("attribute coulomb_constant is {}, expected about 332 kcal Å mol⁻¹ e⁻²", c));
  system.coulomb_source = optional_text(file, "coulomb_source");
  system.lj_truncation = read_lj_truncation(reader);
  system.source = optional_text(file, "source");
  layout::visit_force_field(system.force_field, Filler(reader, "/forcefield/"));
  try {
    for (const auto& pair : system.force_field.pair_potentials)
      (void)model::PairPotentialFunction(pair, system.force_field.pair_tables);
  } catch (const InputError& error) {
    reader.fail(error.what());
  }
  for (std::int64_t index = 0; index < reader.n_templates(); ++index)
    system.templates.push_back(read_template(reader, index, system.force_field));
  layout::visit_instances(system, Filler(reader, "/instances/"));
  check_residue_numbers(reader, system);

  const auto rows = file.shape("/coordinates/id").at(0);
  const auto n_atoms = file.attribute<std::int64_t>("/", "n_atoms").at(0);
  if (system.n_atoms() == 0) reader.fail("holds no atoms; there is nothing to simulate");
  if (rows != system.n_atoms() || n_atoms != system.n_atoms())
    reader.fail(
        fmt::format("its instances make {} atoms, but n_atoms is {} and there are coordinates of {}; the file is "
                    "incomplete: make it again",
                    system.n_atoms(), n_atoms, rows));
  return system;
}

namespace {

/// Appends the rows from `begin` to `end`.
void append_rows(const Reader& reader, std::int64_t n_atoms, std::int64_t begin, std::int64_t end,
                 CoordinateBlock& block) {
  const auto& file = reader.file();
  const std::int64_t count = end - begin;
  const auto before = block.id.size();
  // Row by row as they come, while they are in the processor's caches.
  const auto append = [&](const std::string& dataset, auto value, auto& to) {
    file.for_rows<decltype(value)>(dataset, begin, count, [&](std::span<const std::byte> rows) {
      const auto at = to.size();
      if (at == before) io::reserve_in_large_pages(to, before + static_cast<std::size_t>(count));
      to.resize(at + rows.size() / sizeof(to[0]));
      std::memcpy(to.data() + at, rows.data(), rows.size());
    });
  };
  const auto append_triples = [&](const std::string& dataset, auto value, auto& to) {
    static_assert(sizeof(to[0]) == 3 * sizeof(value));
    const auto shape = file.shape(dataset);
    if (shape.size() != 2 || shape[1] != 3 || shape[0] != n_atoms)
      reader.fail_in(dataset, fmt::format("is not of shape ({}, 3)", n_atoms));
    append(dataset, value, to);
  };
  append("/coordinates/id", std::int64_t{}, block.id);
  for (auto i = before; i < block.id.size(); ++i)
    if (block.id[i] < 0 || block.id[i] >= n_atoms)
      reader.fail_in("/coordinates/id", fmt::format("names atom {} of {}", block.id[i], n_atoms));
  append_triples("/coordinates/fraction", std::int32_t{}, block.fraction);
  if (reader.has("/coordinates/velocity")) {
    append_triples("/coordinates/velocity", double{}, block.velocity);
    const auto* values = &block.velocity.data()->x;
    for (auto i = 3 * before; i < 3 * block.velocity.size(); ++i)
      if (!std::isfinite(values[i]))
        reader.fail_in("/coordinates/velocity", fmt::format("holds {} at element {}", values[i], i - 3 * before));
  }
}

}  // namespace

CoordinateBlock read_coordinates(const SystemSource& source, int rank, int size) {
  const Reader reader(source);
  const auto n_atoms = reader.file().attribute<std::int64_t>("/", "n_atoms").at(0);
  const auto grid = reader.column<std::int32_t>("/coordinates/block_grid", 3);
  const auto [begin, end] = own_rows(reader.file(), "/coordinates/block_offset", grid, n_atoms, rank, size);
  CoordinateBlock block;
  append_rows(reader, n_atoms, begin, end, block);
  return block;
}

Brick read_brick(const SystemSource& source, std::int64_t n_atoms_wanted) {
  const Reader reader(source);
  const auto n_atoms = reader.file().attribute<std::int64_t>("/", "n_atoms").at(0);
  const auto grid = reader.column<std::int32_t>("/coordinates/block_grid", 3);
  Brick brick;
  std::copy(grid.begin(), grid.end(), brick.grid.begin());
  const double all_blocks = static_cast<double>(grid[0]) * grid[1] * grid[2];
  const double wanted = all_blocks * static_cast<double>(n_atoms_wanted) / static_cast<double>(n_atoms);
  std::int32_t edge = 1;
  while (static_cast<double>(edge) * edge * edge < wanted) ++edge;
  for (std::size_t d = 0; d < 3; ++d) brick.n[d] = std::min(brick.grid[d], edge);
  for (std::int64_t x = 0; x < brick.n[0]; ++x)
    for (std::int64_t y = 0; y < brick.n[1]; ++y) {
      const auto first = (x * brick.grid[1] + y) * brick.grid[2];
      const auto offset = reader.file().read_rows<std::int64_t>("/coordinates/block_offset", first, brick.n[2] + 1);
      append_rows(reader, n_atoms, offset.front(), offset.back(), brick.block);
    }
  return brick;
}

}  // namespace tessera::app
