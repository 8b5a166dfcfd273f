// Molecules that are chains of units.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/model/system.h"

namespace tessera::model {

namespace {

/// Calls visit(list) for every vector of a template.
template <class Visit>
void for_each_list(const Template& molecule, Visit&& visit) {
  visit(molecule.atom_name);
  visit(molecule.type);
  visit(molecule.charge);
  visit(molecule.mass);
  visit(molecule.atomic_number);
  visit(molecule.residue);
  visit(molecule.residue_name);
  visit(molecule.segment_name);
  visit(molecule.residue_number);
  visit(molecule.group);
  for_each_kind([&](auto kind) {
    visit(molecule.terms[kind].atoms);
    visit(molecule.terms[kind].parameter);
  });
  visit(molecule.exclusions);
  visit(molecule.virtual_sites);
}

template <class Value>
std::int64_t bytes_of(const std::vector<Value>& list) {
  return static_cast<std::int64_t>(list.capacity() * sizeof(Value));
}

template <class Value>
void append(std::vector<Value>& to, const std::vector<Value>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

std::array<std::int64_t, 2> Template::reach() const {
  std::array<std::int64_t, 2> range = {0, n_atoms() - 1};
  const auto add = [&](const auto& rows) {
    for (const auto& row : rows)
      for (const std::int64_t atom : row) range = {std::min(range[0], atom), std::max(range[1], atom)};
  };
  for_each_kind([&](auto kind) { add(terms[kind].atoms); });
  add(exclusions);
  return range;
}

void System::set_chains(const std::vector<Chain>& chains) {
  chains_.clear();
  for (auto& run : instances_) run.is_in_chain = false;
  std::int64_t end = 0;
  for (auto chain : chains) {
    if (chain.first_run < end || chain.n_runs < 1 || chain.n_runs > std::ssize(instances_) - chain.first_run)
      throw InputError(
          fmt::format("a chain consists of {} runs of instances from {}, expected chains in order within {}",
                      chain.n_runs, chain.first_run, instances_.size()));
    end = chain.first_run + chain.n_runs;
    chain.first_id = instances_[at(chain.first_run)].first_id;
    chain.n_atoms = (end < std::ssize(instances_) ? instances_[at(end)].first_id : n_atoms_) - chain.first_id;
    for (auto r = chain.first_run; r < end; ++r) instances_[at(r)].is_in_chain = true;
    chains_.push_back(chain);
  }
  std::vector<std::array<std::int64_t, 2>> reach;
  for (const auto& molecule : templates) reach.push_back(molecule.reach());
  for (const auto& run : instances_) {
    if (run.count == 0) continue;
    const auto size = templates[at(run.molecule)].n_atoms();
    const auto [lowest, highest] = reach[at(run.molecule)];
    const auto last_id = run.first_id + (run.count - 1) * size;
    const auto molecule = molecule_of(run.first_id);
    const auto molecule_end = run.is_in_chain ? molecule.first_id + molecule.n_atoms : last_id + size;
    const bool is_within = run.is_in_chain
                               ? run.first_id + lowest >= molecule.first_id && last_id + highest < molecule_end
                               : lowest >= 0 && highest < size;
    if (!is_within)
      throw InputError(
          fmt::format("template {} ({}) has terms or exclusions with the atoms {} to {} from its first, "
                      "some of which are outside the molecule of atom {}",
                      run.molecule, templates[at(run.molecule)].name, lowest, highest, run.first_id));
  }
}

Molecule System::molecule_of(std::int64_t id) const {
  const auto& run = run_of(id);
  if (run.is_in_chain) {
    const auto after = std::upper_bound(chains_.begin(), chains_.end(), id,
                                        [](std::int64_t value, const Chain& chain) { return value < chain.first_id; });
    const auto& chain = *std::prev(after);
    return {chain.first_id, chain.n_atoms, 1, templates.size() + at(std::distance(chains_.begin(), after) - 1)};
  }
  const auto size = templates[at(run.molecule)].n_atoms();
  const auto number = (id - run.first_id) / size;
  return {run.first_id + number * size, size, run.count - number, at(run.molecule)};
}

Template System::joined(std::int64_t first_instance, std::int64_t count) const {
  Template whole;
  std::vector<std::array<std::int32_t, 2>> first_and_unit;
  auto run = std::prev(
      std::upper_bound(instances_.begin(), instances_.end(), first_instance,
                       [](std::int64_t value, const InstanceRun& one) { return value < one.first_instance; }));
  std::int64_t n_atoms = 0;
  for (auto i = first_instance; i < first_instance + count; ++i) {
    while (i > run->last_instance()) ++run;
    first_and_unit.push_back({static_cast<std::int32_t>(n_atoms), run->molecule});
    n_atoms += templates[at(run->molecule)].n_atoms();
  }
  for (const auto& [first, unit_index] : first_and_unit) {
    const auto& unit = templates[at(unit_index)];
    if (first == 0) whole.name = unit.name;
    const auto first_residue = static_cast<std::int32_t>(whole.residue_name.size());
    append(whole.atom_name, unit.atom_name);
    append(whole.type, unit.type);
    append(whole.charge, unit.charge);
    append(whole.mass, unit.mass);
    append(whole.atomic_number, unit.atomic_number);
    append(whole.residue_name, unit.residue_name);
    append(whole.segment_name, unit.segment_name);
    append(whole.residue_number, unit.residue_number);
    for (const auto residue : unit.residue) whole.residue.push_back(first_residue + residue);
    for (const auto key : unit.group) whole.group.push_back(first + key);
    const auto is_within = [&](const auto& row) {
      return std::all_of(row.begin(), row.end(),
                         [&, from = first](std::int64_t atom) { return from + atom >= 0 && from + atom < n_atoms; });
    };
    const auto moved = [from = first](auto row) {
      for (auto& atom : row) atom += from;
      return row;
    };
    for_each_kind([&](auto kind) {
      const auto& terms = unit.terms[kind];
      for (std::size_t t = 0; t < terms.atoms.size(); ++t)
        if (is_within(terms.atoms[t])) {
          whole.terms[kind].atoms.push_back(moved(terms.atoms[t]));
          whole.terms[kind].parameter.push_back(terms.parameter[t]);
        }
    });
    for (const auto& pair : unit.exclusions)
      if (is_within(pair) && unit.has(pair[0])) whole.exclusions.push_back(moved(pair));
    for (auto site : unit.virtual_sites) {
      site.atom += first;
      for (auto& parent : site.parents) parent.atom += first;
      whole.virtual_sites.push_back(std::move(site));
    }
  }
  return whole;
}

std::int64_t System::bytes() const {
  std::int64_t sum = bytes_of(instances_) + bytes_of(chains_) + bytes_of(residue_numbers) + bytes_of(templates);
  for (const auto& molecule : templates) {
    for_each_list(molecule, [&](const auto& list) { sum += bytes_of(list); });
    for (const auto& site : molecule.virtual_sites) sum += bytes_of(site.parents);
  }
  return sum;
}

}  // namespace tessera::model
