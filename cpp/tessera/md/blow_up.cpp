#include "tessera/md/blow_up.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/index.h"
#include "tessera/md/bonded/bonded.h"

namespace tessera::md {

namespace {

struct Strongest {
  std::string_view term;
  double force = -1;

  void offer(std::string_view name, double magnitude) {
    if (std::isnan(magnitude) || magnitude > force) term = name, force = magnitude;
  }
};

}  // namespace

std::string find_strongest_force(const domain::Domain& domain, const bonded::LocalTerms& terms,
                                 const bonded::ForceTables& tables, const pair::PairForces& pair, std::int32_t slot,
                                 const Vec3& external) {
  const auto& box = domain.state().box;
  Strongest strongest;

  const bonded::Atoms atoms{box, domain.state().position, pair.charge()};
  std::vector<std::pair<std::string, std::array<std::int64_t, 3>>> of_terms;  // by the names that reports use
  std::vector<std::int64_t> force(3 * at(domain.n_slots()));
  model::for_each_kind([&](auto kind) {
    using Kernel = bonded::Kernel<decltype(kind)>;
    std::fill(force.begin(), force.end(), 0);
    Accumulator accumulator{force, nullptr};
    Kernel::add(atoms, terms[kind], 0, terms[kind].size(), tables[kind], accumulator);
    std::vector<std::string_view> names;
    for (const auto term : Kernel::reported_as) names.push_back(term_names[static_cast<std::size_t>(term)]);
    const auto name = fmt::format("{}", fmt::join(names, " and "));
    auto found = std::find_if(of_terms.begin(), of_terms.end(), [&](const auto& one) { return one.first == name; });
    if (found == of_terms.end()) found = of_terms.insert(found, {name, {}});
    for (std::size_t d = 0; d < 3; ++d) add_fixed(found->second[d], force[3 * at(slot) + d]);
  });
  for (const auto& [name, f] : of_terms)
    strongest.offer(name,
                    norm({from_fixed(f[0], force_unit), from_fixed(f[1], force_unit), from_fixed(f[2], force_unit)}));

  // Every local atom counts, whether the pair is listed or not.
  const auto& settings = pair.settings();
  const auto& molecule = domain.molecule_of(slot);
  const auto local = domain.state().local[at(slot)];
  const auto first_id = domain.state().id[at(slot)] - local;
  const auto is_excluded = [&](std::int64_t id) {
    const auto other = id - first_id;
    return std::any_of(molecule.exclusions.begin(), molecule.exclusions.end(), [&](const auto& e) {
      return (e[0] == local && e[1] == other) || (e[1] == local && e[0] == other);
    });
  };
  Vec3 lj, coulomb;
  double nearest2 = 1e30;
  std::int64_t nearest = -1;
  for (std::int32_t s = 0; s < domain.n_slots(); ++s) {
    if (s == slot || domain.is_padding(s)) continue;
    const Vec3 d = box.displacement(domain.state().position[at(s)], domain.state().position[at(slot)]);
    const double r2 = norm2(d);
    if (r2 >= settings.range() * settings.range() || is_excluded(domain.state().id[at(s)])) continue;
    if (r2 < nearest2) nearest2 = r2, nearest = domain.state().id[at(s)];
    const double safe2 = std::max(r2, 1e-8);
    lj += pair.data().short_range(pair.type()[at(slot)], pair.type()[at(s)], safe2).force_over_r * d;
    coulomb += settings.coulomb_constant * pair.charge()[at(slot)] * pair.charge()[at(s)] *
               pair::coulomb(settings, safe2).force_over_r * d;
  }
  strongest.offer("lj", norm(lj));
  strongest.offer("coulomb_real", norm(coulomb));
  strongest.offer("external", norm(external));
  auto text = fmt::format("the strongest force on it is {}, {:.3g} kcal/mol/Å", strongest.term, strongest.force);
  if (nearest >= 0)
    text +=
        fmt::format(" (nearest non-bonded: {} at {:.3f} Å)", domain.system().describe(nearest), std::sqrt(nearest2));
  return text;
}

}  // namespace tessera::md
