#include "tessera/app/system_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/io/hdf5.h"

namespace tessera::app {
namespace {

constexpr std::int32_t supported_version = 1;

/// Whether a group or dataset may stand in a system file.
bool is_known_name(const std::string& name) {
  static const std::set<std::string, std::less<>> others = {"/box",
                                                            "/forcefield",
                                                            "/templates",
                                                            "/instances",
                                                            "/instances/runs",
                                                            "/instances/residue_numbers",
                                                            "/coordinates",
                                                            "/coordinates/id",
                                                            "/coordinates/fraction",
                                                            "/coordinates/velocity",
                                                            "/coordinates/block_grid",
                                                            "/coordinates/block_offset"};
  static const std::set<std::string, std::less<>> terms = {
      "bond", "angle",  "urey_bradley", "dihedral", "dihedral_rb", "improper_harmonic", "improper_periodic",
      "cmap", "pair_14"};
  static const std::set<std::string, std::less<>> types = {"type_name", "type_lj", "nbfix_types", "nbfix_lj",
                                                           "nbfix_ab"};
  static const std::set<std::string, std::less<>> of_template = {
      "atom_name",    "type",         "charge",         "mass",  "atomic_number", "residue",
      "residue_name", "segment_name", "residue_number", "group", "exclusions"};
  if (others.contains(name)) return true;
  const std::string_view force_field = "/forcefield/", templates = "/templates/";
  if (name.starts_with(force_field)) {
    const auto leaf = name.substr(force_field.size());
    return terms.contains(leaf) || types.contains(leaf);
  }
  if (!name.starts_with(templates)) return false;
  const auto inside = std::string_view(name).substr(templates.size());
  const auto slash = inside.find('/');
  const auto index = inside.substr(0, slash);
  if (index.empty() || index.find_first_not_of("0123456789") != std::string_view::npos) return false;
  if (slash == std::string_view::npos) return true;
  const auto leaf = inside.substr(slash + 1);
  const auto group = leaf.substr(0, leaf.find('/'));
  if (group == leaf) return of_template.contains(leaf) || terms.contains(leaf);
  const auto column = leaf.substr(group.size() + 1);
  return terms.contains(group) && (column == "atoms" || column == "parameter");
}

/// One system file being read; its messages name the file and the dataset.
class Reader {
 public:
  explicit Reader(const std::string& path) : file_(io::Hdf5File::open(path)) {
    if (!file_.has_attribute("/", "format") || file_.text_attribute("/", "format") != "tessera-system")
      fail("is an HDF5 file but not a system file; make one with `tessera prepare` or `tessera make`");
    const auto version = file_.attribute<std::int64_t>("/", "version").at(0);
    if (version != supported_version)
      fail(fmt::format("is a system file of version {}, this tessera reads version {}; {}", version, supported_version,
                       version > supported_version ? "use a newer tessera" : "write it again with `tessera prepare`"));
    names_ = file_.names();
    std::sort(names_.begin(), names_.end());
    check_names();
  }

  const io::Hdf5File& file() const { return file_; }
  bool has(const std::string& name) const { return std::binary_search(names_.begin(), names_.end(), name); }
  std::int64_t n_templates() const {
    return std::count_if(names_.begin(), names_.end(), [](const std::string& name) {
      return name.starts_with("/templates/") && name.find('/', std::strlen("/templates/")) == std::string::npos;
    });
  }

  [[noreturn]] void fail(const std::string& what) const { throw InputError(fmt::format("{}: {}", file_.path(), what)); }

  [[noreturn]] void fail_in(const std::string& dataset, const std::string& what) const {
    fail(fmt::format("dataset {} {}; the file is damaged or was not written by tessera: make it again", dataset, what));
  }

  /// The rows of a dataset with these inner dimensions; none where it is absent.
  template <class Value>
  std::vector<Value> table(const std::string& dataset, const std::vector<std::int64_t>& inner) const {
    if (!has(dataset)) return {};
    const auto shape = file_.shape(dataset);
    if (shape.size() != inner.size() + 1 || !std::equal(inner.begin(), inner.end(), shape.begin() + 1)) {
      std::string expected = "(·";
      for (const auto extent : inner) expected += fmt::format(",{}", extent);
      fail_in(dataset, fmt::format("has {} dimensions of {} elements in all, expected {})", shape.size(),
                                   file_.read<Value>(dataset).size(), expected));
    }
    return file_.read<Value>(dataset);
  }

  /// Finite numbers in rows of `columns`.
  std::vector<double> numbers(const std::string& dataset, std::int64_t columns) const {
    auto values = table<double>(dataset, {columns});
    check_finite(dataset, values);
    return values;
  }

  void check_finite(const std::string& dataset, const std::vector<double>& values) const {
    const auto bad = std::find_if(values.begin(), values.end(), [](double v) { return !std::isfinite(v); });
    if (bad != values.end()) fail_in(dataset, fmt::format("holds {} at element {}", *bad, bad - values.begin()));
  }

  template <class Value>
  std::vector<Value> column(const std::string& dataset, std::size_t rows) const {
    auto values = table<Value>(dataset, {});
    check_rows(dataset, values.size(), rows);
    return values;
  }

  std::vector<std::string> text(const std::string& dataset, std::size_t rows) const {
    std::vector<std::string> values;
    if (has(dataset)) values = file_.read_text(dataset);
    check_rows(dataset, values.size(), rows);
    return values;
  }

  void check_rows(const std::string& dataset, std::size_t found, std::size_t expected) const {
    if (found != expected) fail_in(dataset, fmt::format("has {} rows, expected {}", found, expected));
  }

  template <class Values>
  void check_indices(const std::string& dataset, const Values& values, std::size_t bound) const {
    for (const auto value : values)
      if (value < 0 || static_cast<std::size_t>(value) >= bound)
        fail_in(dataset, fmt::format("names row {}, expected 0 to {}", value, static_cast<std::int64_t>(bound) - 1));
  }

  template <std::size_t Columns>
  std::vector<std::array<std::int32_t, Columns>> tuples(const std::string& dataset, std::size_t bound) const {
    const auto flat = table<std::int32_t>(dataset, {static_cast<std::int64_t>(Columns)});
    check_indices(dataset, flat, bound);
    std::vector<std::array<std::int32_t, Columns>> rows(flat.size() / Columns);
    for (std::size_t i = 0; i < flat.size(); ++i) rows[i / Columns][i % Columns] = flat[i];
    return rows;
  }

 private:
  /// What is not known is refused, and where something known is missing, its number shows it.
  void check_names() const {
    for (const auto& name : names_)
      if (!is_known_name(name))
        fail(fmt::format("holds {}, which this tessera does not know; use a newer one, or make the file again", name));
    if (!file_.has_attribute("/", "n_names")) return;
    const auto expected = file_.attribute<std::int64_t>("/", "n_names").at(0);
    if (expected != std::ssize(names_))
      fail(fmt::format("holds {} groups and datasets, expected {}; the file is damaged: copy it again or make it again",
                       names_.size(), expected));
  }

  io::Hdf5File file_;
  std::vector<std::string> names_;  // of groups and datasets, sorted
};

/// Calls make(row) for every `columns` consecutive numbers.
template <class Record, class Make>
std::vector<Record> records(const std::vector<double>& flat, std::size_t columns, Make&& make) {
  std::vector<Record> rows;
  rows.reserve(flat.size() / columns);
  for (std::size_t i = 0; i + columns <= flat.size(); i += columns) rows.push_back(make(flat.data() + i));
  return rows;
}

template <class Record>
std::vector<Record> pairs(const Reader& reader, const std::string& dataset) {
  return records<Record>(reader.numbers(dataset, 2), 2, [](const double* v) { return Record{v[0], v[1]}; });
}

template <class Record>
std::vector<Record> triples(const Reader& reader, const std::string& dataset) {
  return records<Record>(reader.numbers(dataset, 3), 3, [](const double* v) { return Record{v[0], v[1], v[2]}; });
}

std::vector<model::NbfixPair> read_nbfix(const Reader& reader, std::size_t n_types) {
  const auto types = reader.tuples<2>("/forcefield/nbfix_types", n_types);
  const bool has_ab = reader.has("/forcefield/nbfix_ab");
  const std::string dataset = has_ab ? "/forcefield/nbfix_ab" : "/forcefield/nbfix_lj";
  const auto values = reader.numbers(dataset, 2);
  reader.check_rows(dataset, values.size() / 2, types.size());
  std::vector<model::NbfixPair> rows;
  for (std::size_t i = 0; i < types.size(); ++i) {
    model::LennardJonesAB ab{values[2 * i], values[2 * i + 1]};
    if (!has_ab) {
      const double sigma6 = std::pow(values[2 * i], 6), epsilon = values[2 * i + 1];
      ab = {4 * epsilon * sigma6 * sigma6, 4 * epsilon * sigma6};
    }
    rows.push_back({types[i][0], types[i][1], ab});
  }
  return rows;
}

std::vector<model::CmapParameter> read_cmap(const Reader& reader) {
  const std::string dataset = "/forcefield/cmap";
  if (!reader.has(dataset)) return {};
  const auto shape = reader.file().shape(dataset);
  if (shape.size() != 3 || shape[1] != shape[2] || (shape[0] > 0 && shape[1] < 4))
    reader.fail_in(dataset, "is not a list of square maps of 4 × 4 points or more");
  const auto values = reader.file().read<double>(dataset);
  reader.check_finite(dataset, values);
  std::vector<model::CmapParameter> maps(static_cast<std::size_t>(shape[0]));
  const std::int64_t points = shape[1] * shape[2];
  for (std::size_t m = 0; m < maps.size(); ++m) {
    maps[m].n = static_cast<int>(shape[1]);
    const auto begin = values.begin() + static_cast<std::int64_t>(m) * points;
    maps[m].energy.assign(begin, begin + points);
  }
  return maps;
}

model::ForceField read_force_field(const Reader& reader) {
  const auto& file = reader.file();
  model::ForceField field;
  field.coulomb_constant = file.attribute<double>("/", "coulomb_constant").at(0);
  if (!(field.coulomb_constant > 0 && field.coulomb_constant < 1000))
    reader.fail(
        fmt::format("attribute coulomb_constant is {}, expected about 332 kcal Å mol⁻¹ e⁻²", field.coulomb_constant));
  const std::string rule = file.text_attribute("/", "lj_rule");
  if (rule != "lorentz-berthelot" && rule != "geometric")
    reader.fail(fmt::format("attribute lj_rule is \"{}\", expected \"lorentz-berthelot\" or \"geometric\"", rule));
  field.lj_rule = rule == "geometric" ? model::LjRule::geometric : model::LjRule::lorentz_berthelot;

  field.type_lj = pairs<model::LennardJones>(reader, "/forcefield/type_lj");
  field.type_name = reader.text("/forcefield/type_name", field.type_lj.size());
  field.nbfix = read_nbfix(reader, field.type_lj.size());
  field.bond = pairs<model::BondParameter>(reader, "/forcefield/bond");
  field.angle = pairs<model::AngleParameter>(reader, "/forcefield/angle");
  field.urey_bradley = pairs<model::BondParameter>(reader, "/forcefield/urey_bradley");
  field.dihedral = triples<model::DihedralParameter>(reader, "/forcefield/dihedral");
  field.dihedral_rb =
      records<model::RyckaertBellemansParameter>(reader.numbers("/forcefield/dihedral_rb", 6), 6, [](const double* v) {
        return model::RyckaertBellemansParameter{{v[0], v[1], v[2], v[3], v[4], v[5]}};
      });
  field.improper_harmonic = pairs<model::ImproperParameter>(reader, "/forcefield/improper_harmonic");
  field.improper_periodic = triples<model::DihedralParameter>(reader, "/forcefield/improper_periodic");
  field.cmap = read_cmap(reader);
  field.pair_14 = triples<model::Pair14Parameter>(reader, "/forcefield/pair_14");
  return field;
}

template <int Arity>
model::Terms<Arity> read_terms(const Reader& reader, const std::string& group, std::size_t n_atoms,
                               std::size_t n_parameters) {
  model::Terms<Arity> terms;
  terms.atoms = reader.tuples<Arity>(group + "/atoms", n_atoms);
  terms.parameter = reader.column<std::int32_t>(group + "/parameter", terms.atoms.size());
  reader.check_indices(group + "/parameter", terms.parameter, n_parameters);
  return terms;
}

/// Keys are keys of themselves and stand in the same molecule, so a group never reaches out of it.
void check_groups(const Reader& reader, const std::string& dataset, const std::vector<std::int32_t>& group) {
  reader.check_indices(dataset, group, group.size());
  for (std::size_t a = 0; a < group.size(); ++a) {
    const auto key = static_cast<std::size_t>(group[a]);
    if (group[key] != group[a])
      reader.fail_in(dataset,
                     fmt::format("gives atom {} the key {}, which is in the group of atom {}", a, key, group[key]));
  }
}

bool flag(const io::Hdf5File& file, const std::string& object, const std::string& name) {
  return file.has_attribute(object, name) && file.attribute<std::int64_t>(object, name).at(0) != 0;
}

model::Template read_template(const Reader& reader, std::int64_t index, const model::ForceField& field) {
  const auto& file = reader.file();
  const std::string root = fmt::format("/templates/{}", index);
  if (!reader.has(root)) reader.fail(fmt::format("there is no group {}; templates count from 0 without gaps", root));
  const auto name = [&](const char* leaf) { return root + "/" + leaf; };

  model::Template molecule;
  if (file.has_attribute(root, "name")) molecule.name = file.text_attribute(root, "name");
  molecule.type = reader.table<std::int32_t>(name("type"), {});
  const std::size_t n = molecule.type.size();
  if (n == 0) reader.fail_in(name("type"), "has no rows, expected one an atom");
  reader.check_indices(name("type"), molecule.type, field.type_lj.size());
  molecule.atom_name = reader.text(name("atom_name"), n);
  molecule.charge = reader.column<double>(name("charge"), n);
  reader.check_finite(name("charge"), molecule.charge);
  molecule.mass = reader.column<double>(name("mass"), n);
  reader.check_finite(name("mass"), molecule.mass);
  for (std::size_t a = 0; a < n; ++a)
    if (!(molecule.mass[a] > 0))
      reader.fail(fmt::format("dataset {} gives atom {} ({}) the mass {}; Tessera moves every atom, so give it a mass",
                              name("mass"), a + 1, molecule.atom_name[a], molecule.mass[a]));
  molecule.atomic_number = reader.column<std::int32_t>(name("atomic_number"), n);
  molecule.residue = reader.column<std::int32_t>(name("residue"), n);
  molecule.residue_number = reader.table<std::int32_t>(name("residue_number"), {});
  const std::size_t residues = molecule.residue_number.size();
  reader.check_indices(name("residue"), molecule.residue, residues);
  molecule.residue_name = reader.text(name("residue_name"), residues);
  molecule.segment_name = reader.text(name("segment_name"), residues);
  molecule.group = reader.column<std::int32_t>(name("group"), n);
  check_groups(reader, name("group"), molecule.group);

  molecule.bond = read_terms<2>(reader, name("bond"), n, field.bond.size());
  molecule.angle = read_terms<3>(reader, name("angle"), n, field.angle.size());
  molecule.urey_bradley = read_terms<2>(reader, name("urey_bradley"), n, field.urey_bradley.size());
  molecule.dihedral = read_terms<4>(reader, name("dihedral"), n, field.dihedral.size());
  molecule.dihedral_rb = read_terms<4>(reader, name("dihedral_rb"), n, field.dihedral_rb.size());
  molecule.improper_harmonic = read_terms<4>(reader, name("improper_harmonic"), n, field.improper_harmonic.size());
  molecule.improper_periodic = read_terms<4>(reader, name("improper_periodic"), n, field.improper_periodic.size());
  molecule.cmap = read_terms<8>(reader, name("cmap"), n, field.cmap.size());
  molecule.pair_14 = read_terms<2>(reader, name("pair_14"), n, field.pair_14.size());
  molecule.exclusions = reader.tuples<2>(name("exclusions"), n);
  for (const auto& [i, j] : molecule.exclusions)
    if (i >= j) reader.fail_in(name("exclusions"), fmt::format("holds the pair {}, {}, expected i < j", i, j));

  molecule.rigid_water = flag(file, root, "rigid_water");
  molecule.always_rigid = flag(file, root, "always_rigid");
  if (molecule.rigid_water) {
    const auto settle = file.attribute<double>(root, "settle");
    if (n < 3 || settle.size() != 2 || !(settle[0] > 0) || !(settle[1] > 0) || !(settle[1] < 2 * settle[0]))
      reader.fail(
          fmt::format("{} is a rigid water without three atoms and two lengths (attribute settle: O–H, H–H, Å)", root));
    molecule.water_oh = settle[0];
    molecule.water_hh = settle[1];
  }
  return molecule;
}

Lattice read_box(const Reader& reader) {
  const auto box = reader.numbers("/box", 3);
  reader.check_rows("/box", box.size() / 3, 3);
  if (box[1] != 0 || box[2] != 0 || box[5] != 0 || !(box[0] > 0) || !(box[4] > 0) || !(box[8] > 0))
    reader.fail_in("/box", "is not lower triangular with a positive diagonal (a along x, b in the xy plane)");
  return {{box[0], 0, 0}, {box[3], box[4], 0}, {box[6], box[7], box[8]}};
}

/// Rows of first, count, number, step: in order, without overlap, within the instances.
std::vector<model::ResidueNumbers> read_residue_numbers(const Reader& reader, std::int64_t n_instances) {
  const std::string dataset = "/instances/residue_numbers";
  const auto flat = reader.table<std::int64_t>(dataset, {4});
  std::vector<model::ResidueNumbers> rows;
  std::int64_t end = 0;
  for (std::size_t i = 0; i < flat.size(); i += 4) {
    const model::ResidueNumbers row{flat[i], flat[i + 1], flat[i + 2], flat[i + 3]};
    if (row.first < end || row.count <= 0 || row.count > n_instances - row.first)
      reader.fail_in(dataset, fmt::format("numbers {} molecules from {}, expected rows in order within {} molecules",
                                          row.count, row.first, n_instances));
    end = row.first + row.count;
    rows.push_back(row);
  }
  return rows;
}

std::string optional_text(const io::Hdf5File& file, const std::string& name) {
  return file.has_attribute("/", name) ? file.text_attribute("/", name) : "";
}

/// How the source ends Lennard-Jones; files from before these attributes were written have that of its program.
model::LjTruncation read_lj_truncation(const Reader& reader, const std::string& coulomb_source) {
  const auto& file = reader.file();
  if (!file.has_attribute("/", "lj_cutoff")) {
    if (const auto* program = model::find_source_program(coulomb_source)) return program->usual;
    std::string known;
    for (const auto& program : model::source_programs)
      known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", program.name);
    reader.fail(
        fmt::format("attribute coulomb_source is \"{}\" and there is no lj_cutoff, so nothing says how Lennard-Jones "
                    "ends; expected one of {}: make the file again",
                    coulomb_source, known));
  }
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
  if (truncation.modifier != model::LjModifier::cut &&
      !(truncation.switch_distance >= 0 && truncation.switch_distance < truncation.cutoff))
    reader.fail(fmt::format("attribute lj_switch is {}, expected a distance from 0 to below lj_cutoff = {} (Å)",
                            truncation.switch_distance, truncation.cutoff));
  truncation.has_tail = file.attribute<std::int64_t>("/", "lj_tail").at(0) != 0;
  return truncation;
}

}  // namespace

model::System read_system(const std::string& path) {
  const Reader reader(path);
  const auto& file = reader.file();
  model::System system;
  system.lattice = read_box(reader);
  system.is_periodic = file.attribute<std::int64_t>("/", "periodic").at(0) != 0;
  system.coulomb_source = optional_text(file, "coulomb_source");
  system.lj_truncation = read_lj_truncation(reader, system.coulomb_source);
  system.source = optional_text(file, "source");
  system.force_field = read_force_field(reader);

  for (std::int64_t index = 0; index < reader.n_templates(); ++index)
    system.templates.push_back(read_template(reader, index, system.force_field));

  const auto flat = reader.table<std::int64_t>("/instances/runs", {2});
  std::vector<std::pair<std::int32_t, std::int64_t>> runs;
  for (std::size_t i = 0; i < flat.size(); i += 2) {
    reader.check_indices("/instances/runs", std::array{flat[i]}, system.templates.size());
    if (flat[i + 1] <= 0) reader.fail_in("/instances/runs", fmt::format("counts {} molecules in a run", flat[i + 1]));
    runs.emplace_back(static_cast<std::int32_t>(flat[i]), flat[i + 1]);
  }
  system.set_instances(runs);
  std::int64_t n_instances = 0;
  for (const auto& run : runs) n_instances += run.second;
  system.residue_numbers = read_residue_numbers(reader, n_instances);

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

std::pair<std::int64_t, std::int64_t> share_of_rows(const std::vector<std::int64_t>& block_offset, int rank, int size) {
  // A rank's first row is the block boundary nearest to rank/size of the rows: monotonic, and the same on every rank.
  const auto boundary = [&](std::int64_t r) {
    const std::int64_t rows = block_offset.back();
    const std::int64_t ideal = rows / size * r + rows % size * r / size;
    const auto above = std::lower_bound(block_offset.begin(), block_offset.end(), ideal);
    if (above == block_offset.begin()) return *above;
    const std::int64_t below = *std::prev(above);
    return ideal - below < *above - ideal ? below : *above;
  };
  return {boundary(rank), boundary(rank + 1)};
}

CoordinateBlock read_coordinates(const std::string& path, int rank, int size) {
  const Reader reader(path);
  const auto& file = reader.file();
  const auto n_atoms = file.attribute<std::int64_t>("/", "n_atoms").at(0);
  const auto grid = reader.column<std::int32_t>("/coordinates/block_grid", 3);
  for (const auto n : grid)
    if (n < 1) reader.fail_in("/coordinates/block_grid", fmt::format("holds {}, expected 1 or more", n));
  const std::size_t n_blocks =
      static_cast<std::size_t>(grid[0]) * static_cast<std::size_t>(grid[1]) * static_cast<std::size_t>(grid[2]);
  const auto offset = reader.column<std::int64_t>("/coordinates/block_offset", n_blocks + 1);
  if (offset.front() != 0 || offset.back() != n_atoms || !std::is_sorted(offset.begin(), offset.end()))
    reader.fail_in("/coordinates/block_offset", fmt::format("does not rise from 0 to {} atoms", n_atoms));

  const auto [begin, end] = share_of_rows(offset, rank, size);
  const std::int64_t count = end - begin;
  CoordinateBlock block;
  block.id = file.read_rows<std::int64_t>("/coordinates/id", begin, count);
  for (const auto id : block.id)
    if (id < 0 || id >= n_atoms) reader.fail_in("/coordinates/id", fmt::format("names atom {} of {}", id, n_atoms));

  const auto read_triples = [&](const std::string& dataset, auto zero) {
    const auto shape = file.shape(dataset);
    if (shape.size() != 2 || shape[1] != 3 || shape[0] != n_atoms)
      reader.fail_in(dataset, fmt::format("is not of shape ({}, 3)", n_atoms));
    return file.read_rows<decltype(zero)>(dataset, begin, count);
  };
  const auto fraction = read_triples("/coordinates/fraction", std::int32_t{});
  block.fraction.reserve(fraction.size() / 3);
  for (std::size_t i = 0; i < fraction.size(); i += 3)
    block.fraction.push_back({fraction[i], fraction[i + 1], fraction[i + 2]});
  if (reader.has("/coordinates/velocity")) {
    const auto velocity = read_triples("/coordinates/velocity", double{});
    reader.check_finite("/coordinates/velocity", velocity);
    block.velocity.reserve(velocity.size() / 3);
    for (std::size_t i = 0; i < velocity.size(); i += 3)
      block.velocity.push_back({velocity[i], velocity[i + 1], velocity[i + 2]});
  }
  return block;
}

}  // namespace tessera::app
