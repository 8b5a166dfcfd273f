#include "tessera/md/blow_up.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "tessera/base/index.h"
#include "tessera/md/bonded/bonded.h"

namespace tessera::md {

namespace {

/// Returns the names of all sources: what reports call the kinds of bonded terms, then the others.
std::vector<std::string> names_of_sources() {
  std::vector<std::string> names;
  model::for_each_kind([&](auto kind) {
    std::vector<std::string_view> terms;
    for (const auto term : bonded::Kernel<decltype(kind)>::reported_as)
      terms.push_back(term_names[static_cast<std::size_t>(term)]);
    names.push_back(fmt::format("{}", fmt::join(terms, " and ")));
  });
  for (const auto* name : {"lj", "coulomb_real", "external", "restraint"}) names.emplace_back(name);
  return names;
}

/// Adds the terms of a kind that act on a slot, one by one.
template <class Kind>
void add_terms(const ForceSources& sources, Kind kind, std::int32_t slot, std::vector<std::int64_t>& force,
               PartOfForce& part) {
  const auto& state = sources.domain.state();
  const bonded::Atoms atoms{state.box, state.position, sources.pair.charge()};
  const auto& list = sources.terms[kind];
  Accumulator accumulator{force, nullptr};
  for (std::int64_t i = 0; i < list.size(); ++i) {
    const auto& slots = list.slots[at(i)];
    if (std::find(slots.begin(), slots.end(), slot) == slots.end()) continue;
    bonded::Kernel<Kind>::add(atoms, list, i, i + 1, sources.tables[kind], accumulator);
    double square = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      const double component = from_fixed(force[3 * at(slot) + d], force_unit);
      part.force[d] += component;
      square += component * component;
    }
    if (!(std::sqrt(square) <= part.strongest)) {
      part.strongest = std::sqrt(square);
      part.atoms.fill(-1);
      for (std::size_t a = 0; a < std::min(slots.size(), part.atoms.size()); ++a)
        part.atoms[a] = state.id[at(slots[a])];
    }
    for (const auto s : slots) std::fill_n(force.begin() + 3 * std::ptrdiff_t{s}, 3, 0);
  }
}

/// Returns whether the molecule of a slot excludes the pair of its atom with another one.
bool is_excluded(const domain::Domain& domain, std::int32_t slot, std::int64_t other_id) {
  const auto local = domain.state().local[at(slot)];
  const auto other = other_id - (domain.state().id[at(slot)] - local);
  const auto& exclusions = domain.molecule_of(slot).exclusions;
  return std::any_of(exclusions.begin(), exclusions.end(), [&](const auto& e) {
    return (e[0] == local && e[1] == other) || (e[1] == local && e[0] == other);
  });
}

}  // namespace

PartOfForce part_of(OtherSource source, const Vec3& force) {
  std::int32_t n_kinds = 0;
  model::for_each_kind([&](auto) { ++n_kinds; });
  return {n_kinds + static_cast<std::int32_t>(source), {force.x, force.y, force.z}};
}

std::vector<PartOfForce> parts_of_force(const ForceSources& sources, const AtomInQuestion& atom, bool owned_alone) {
  const auto& [domain, terms, tables, pair] = sources;
  const auto& state = domain.state();
  std::vector<PartOfForce> parts;

  const auto slot = domain.slot_of(atom.id);
  std::vector<std::int64_t> force(3 * at(domain.n_slots()));
  model::for_each_kind([&](auto kind) {
    parts.push_back({static_cast<std::int32_t>(parts.size()), {}});
    if (slot >= 0) add_terms(sources, kind, slot, force, parts.back());
  });

  // Every atom counts, whether the pair is listed or not.
  const auto& settings = pair.settings();
  Vec3 lj_sum, coulomb_sum;
  auto lj = part_of(OtherSource::lj, {}), coulomb = part_of(OtherSource::coulomb_real, {});
  const auto offer = [](PartOfForce& part, const Vec3& exerted, std::int64_t partner, double r2) {
    if (!(norm(exerted) <= part.strongest))
      part.strongest = norm(exerted), part.partner = partner, part.partner_distance2 = r2;
  };
  double nearest2 = 1e30;
  std::int64_t nearest = -1;
  const auto n_slots = owned_alone ? domain.n_owned_slots() : domain.n_slots();
  for (std::int32_t s = 0; s < n_slots; ++s) {
    if (domain.is_padding(s) || state.id[at(s)] == atom.id) continue;
    const Vec3 d = state.box.displacement(state.position[at(s)], atom.position);
    const double r2 = norm2(d);
    if (r2 >= settings.range() * settings.range() || is_excluded(domain, s, atom.id)) continue;
    if (r2 < nearest2) nearest2 = r2, nearest = state.id[at(s)];
    const double safe2 = std::max(r2, 1e-8);
    const auto of_lj = pair.data().short_range(atom.type, pair.type()[at(s)], safe2).force_over_r * d;
    const auto of_coulomb = settings.coulomb_constant * atom.charge * pair.charge()[at(s)] *
                            pair::coulomb(settings, safe2).force_over_r * d;
    lj_sum += of_lj, coulomb_sum += of_coulomb;
    offer(lj, of_lj, state.id[at(s)], r2);
    offer(coulomb, of_coulomb, state.id[at(s)], r2);
  }
  lj.force = {lj_sum.x, lj_sum.y, lj_sum.z}, coulomb.force = {coulomb_sum.x, coulomb_sum.y, coulomb_sum.z};
  for (auto* part : {&lj, &coulomb}) {
    part->distance2 = nearest2, part->nearest = nearest;
    parts.push_back(*part);
  }
  return parts;
}

StrongestForce strongest_of(const std::vector<PartOfForce>& parts) {
  struct Sum {
    Vec3 force;
    const PartOfForce* strongest = nullptr;
  };
  const auto names = names_of_sources();
  std::vector<std::pair<std::string, Sum>> of_terms;  // kinds of one name together
  StrongestForce found;
  double nearest2 = 1e30;
  for (const auto& part : parts) {
    const auto& name = names[at(part.source)];
    auto one = std::find_if(of_terms.begin(), of_terms.end(), [&](const auto& other) { return other.first == name; });
    if (one == of_terms.end()) one = of_terms.insert(one, {name, {}});
    one->second.force += Vec3{part.force[0], part.force[1], part.force[2]};
    auto& strongest = one->second.strongest;
    if (!strongest || part.strongest > strongest->strongest) strongest = &part;
    if (part.distance2 < nearest2) nearest2 = part.distance2, found.nearest = part.nearest;
  }
  found.distance = std::sqrt(nearest2);
  for (const auto& [name, sum] : of_terms) {
    const double magnitude = norm(sum.force);
    if (!std::isnan(magnitude) && magnitude <= found.force) continue;
    found.term = name, found.force = magnitude;
    found.atoms.clear();
    const auto& atoms = sum.strongest->atoms;
    std::copy_if(atoms.begin(), atoms.end(), std::back_inserter(found.atoms), [](auto id) { return id >= 0; });
    found.partner = sum.strongest->partner;
    found.distance_to_partner = std::sqrt(sum.strongest->partner_distance2);
  }
  return found;
}

std::string StrongestForce::describe(const model::System& system) const {
  auto text = fmt::format("the strongest force on it is {}, {:.3g} kcal/mol/Å", term, force);
  if (!atoms.empty()) {
    std::vector<std::string> names;
    for (const auto atom : atoms) names.push_back(system.describe(atom));
    return text + fmt::format(" (the strongest of {})", fmt::join(names, ", "));
  }
  std::string of_pair;
  if (partner >= 0 && partner != nearest)
    of_pair = fmt::format("most of it by {} at {:.3f} Å; ", system.describe(partner), distance_to_partner);
  if (nearest >= 0)
    text += fmt::format(" ({}nearest non-bonded: {} at {:.3f} Å)", of_pair, system.describe(nearest), distance);
  return text;
}

}  // namespace tessera::md
