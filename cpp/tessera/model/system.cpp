#include "tessera/model/system.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/math/elementary.h"

namespace tessera::model {

LennardJonesAB ForceField::lj(int type_a, int type_b) const {
  for (const auto& pair : nbfix)
    if ((pair.type_a == type_a && pair.type_b == type_b) || (pair.type_a == type_b && pair.type_b == type_a))
      return pair.ab;
  const auto& p = type_lj.at(static_cast<std::size_t>(type_a));
  const auto& q = type_lj.at(static_cast<std::size_t>(type_b));
  const double sigma = lj_rule == LjRule::lorentz_berthelot ? 0.5 * (p.sigma + q.sigma) : std::sqrt(p.sigma * q.sigma);
  const double epsilon = std::sqrt(p.epsilon * q.epsilon);
  const double sigma6 = math::pow(sigma, 6);
  return {4 * epsilon * sigma6 * sigma6, 4 * epsilon * sigma6};
}

void System::set_instances(const std::vector<std::pair<std::int32_t, std::int64_t>>& template_and_count) {
  instances_.clear();
  instances_.reserve(template_and_count.size());
  chains_.clear();
  n_atoms_ = 0;
  std::int64_t instance = 0;
  for (const auto& [molecule, count] : template_and_count) {
    if (molecule < 0 || static_cast<std::size_t>(molecule) >= templates.size() || count < 0)
      throw InputError(fmt::format("instance run names template {} {} times, but there are {} templates", molecule,
                                   count, templates.size()));
    instances_.push_back({n_atoms_, count, molecule, false, instance});
    instance += count;
    n_atoms_ += count * templates[static_cast<std::size_t>(molecule)].n_atoms();
  }
}

const InstanceRun& System::run_of(std::int64_t id) const {
  TESSERA_ASSERT(id >= 0 && id < n_atoms_);
  const auto after = std::upper_bound(instances_.begin(), instances_.end(), id,
                                      [](std::int64_t value, const InstanceRun& run) { return value < run.first_id; });
  return *std::prev(after);
}

AtomReference System::find(std::int64_t id) const {
  const auto& run = run_of(id);
  const std::int64_t n = templates[static_cast<std::size_t>(run.molecule)].n_atoms();
  const std::int64_t offset = id - run.first_id;
  return {run.molecule, static_cast<std::int32_t>(offset % n), id - offset % n, run.first_instance + offset / n};
}

template <class Visit>
void System::for_each_run(Visit&& visit) const {
  for (const auto& run : instances_) {
    const auto& molecule = templates[static_cast<std::size_t>(run.molecule)];
    for (std::int64_t i = 0; i < (run.is_in_chain ? run.count : 1); ++i)
      visit(molecule, run.is_in_chain ? 1 : run.count);
  }
}

double System::total_mass() const {
  double sum = 0;
  for_each_run([&](const Template& molecule, std::int64_t count) {
    for (const double m : molecule.mass) sum += m * static_cast<double>(count);
  });
  return sum;
}

std::int64_t System::n_virtual_sites() const {
  std::int64_t n = 0;
  for (const auto& run : instances_)
    n += run.count * std::ssize(templates[static_cast<std::size_t>(run.molecule)].virtual_sites);
  return n;
}

double System::net_charge() const {
  double sum = 0;
  for_each_run([&](const Template& molecule, std::int64_t count) {
    for (const double q : molecule.charge) sum += q * static_cast<double>(count);
  });
  return sum;
}

double System::sum_of_squared_charges() const {
  double sum = 0;
  for_each_run([&](const Template& molecule, std::int64_t count) {
    for (const double q : molecule.charge) sum += q * q * static_cast<double>(count);
  });
  return sum;
}

std::vector<std::int64_t> System::type_counts() const {
  std::vector<std::int64_t> counts(force_field.type_lj.size());
  for (const auto& run : instances_)
    for (const auto type : templates[static_cast<std::size_t>(run.molecule)].type)
      counts[static_cast<std::size_t>(type)] += run.count;
  return counts;
}

std::string System::describe(std::int64_t id) const {
  const auto reference = find(id);
  const auto& molecule = templates[static_cast<std::size_t>(reference.molecule)];
  const auto local = static_cast<std::size_t>(reference.local);
  const auto residue = static_cast<std::size_t>(molecule.residue[local]);
  const auto& name = molecule.residue_name[residue];
  const auto& atom = molecule.atom_name[local];
  const std::int64_t number = molecule.residue_number[residue];

  const auto after = std::upper_bound(residue_numbers.begin(), residue_numbers.end(), reference.instance,
                                      [](std::int64_t value, const ResidueNumbers& row) { return value < row.first; });
  if (after != residue_numbers.begin()) {
    const auto& row = *std::prev(after);
    const std::int64_t i = reference.instance - row.first;
    if (i < row.count)
      return fmt::format("atom {} ({} {} {})", id + 1, name,
                         row.number + i * row.step + number - molecule.residue_number.front(), atom);
  }
  std::int64_t count = 0;
  for (const auto& run : instances_)
    if (run.molecule == reference.molecule) count += run.count;
  if (count == 1) return fmt::format("atom {} ({} {} {})", id + 1, name, number, atom);
  // The template's number is that of one instance: within a molecule of one residue it says nothing.
  const auto within = molecule.residue_number.size() > 1 ? fmt::format(" {}", number) : std::string();
  return fmt::format("atom {} ({}{} {}, molecule {})", id + 1, name, within, atom, reference.instance + 1);
}

}  // namespace tessera::model
