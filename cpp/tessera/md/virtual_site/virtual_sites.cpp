#include "tessera/md/virtual_site/virtual_sites.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/base/fixed_point.h"
#include "tessera/base/index.h"
#include "tessera/md/virtual_site/formulas.h"

namespace tessera::md::virtual_site {

namespace {

bool is_mean(const model::VirtualSite& site) { return site.frame == model::SiteFrame::none; }

/// Returns a weighted mean of the parents, which needs no conversion to lengths.
Fraction mean_of(const model::VirtualSite& site, std::span<const std::int32_t> slots,
                 std::span<const Fraction> position) {
  const auto first = position[at(slots[0])];
  Vec3 sum;
  for (const auto& parent : site.parents) sum += parent.origin * (position[at(slots[at(parent.atom)])] - first).units();
  const auto rounded = [](double value) { return static_cast<std::int32_t>(std::llrint(value)); };
  return first + Fraction{rounded(sum.x), rounded(sum.y), rounded(sum.z)};
}

/// Calls work(thread, kind, slots, places) for this rank's groups. Places are relative to the first atom, Å, and
/// undefined in groups whose sites are all means, unless `always_places`. The atoms of a group are scattered over their
/// cell, so those of later groups are prefetched, with `force` where it is not null.
template <class Work>
void for_groups(std::span<const SiteList> lists, const Box& box, std::span<const Fraction> position,
                const std::int64_t* force, bool always_places, ThreadPool& threads, Work&& work) {
  constexpr std::int64_t ahead = 8;
  threads.run([&](int thread) {
    std::vector<Vec3> places;
    for (const auto& list : lists) {
      const auto n_atoms = list.kind.atoms.size();
      const bool with_places = always_places || !std::ranges::all_of(list.kind.sites, is_mean);
      const auto n = static_cast<std::int64_t>(list.size()), end = n * (thread + 1) / threads.size();
      places.resize(n_atoms);
      for (auto group = n * thread / threads.size(); group < end; ++group) {
        const std::int32_t* slots = &list.slots[at(group) * n_atoms];
        if (group + ahead < end)
          for (std::size_t k = 0; k < n_atoms; ++k) {
            const auto later = at(slots[at(ahead) * n_atoms + k]);
            __builtin_prefetch(&position[later]);
            if (force != nullptr) __builtin_prefetch(force + 3 * later);
          }
        if (with_places)
          for (std::size_t k = 1; k < n_atoms; ++k)
            places[k] = box.displacement(position[at(slots[0])], position[at(slots[k])]);
        work(thread, list.kind, std::span(slots, n_atoms), std::span(places));
      }
    }
  });
}

void add_force(std::int64_t* force, const std::array<std::int64_t, 3>& more) {
  for (std::size_t d = 0; d < 3; ++d) add_fixed(force[d], more[d]);
}

Vec3 exact(const std::array<std::int64_t, 3>& force) {
  return {from_fixed(force[0], force_unit), from_fixed(force[1], force_unit), from_fixed(force[2], force_unit)};
}

}  // namespace

std::int32_t place_all(std::span<const SiteList> lists, const Box& box, std::span<Fraction> position,
                       ThreadPool& threads) {
  std::vector<std::int32_t> failed(at(threads.size()), -1);
  for_groups(lists, box, position, nullptr, false, threads,
             [&](int thread, const SiteGroup& kind, std::span<const std::int32_t> slots, std::span<const Vec3> places) {
               for (const auto& site : kind.sites) {
                 const auto slot = slots[at(site.atom)];
                 if (is_mean(site)) {
                   position[at(slot)] = mean_of(site, slots, position);
                   continue;
                 }
                 bool is_determined = true;
                 position[at(slot)] = position[at(slots[0])] + box.fraction(place(site, places, is_determined));
                 auto& first = failed[at(thread)];
                 if (!is_determined && (first < 0 || slot < first)) first = slot;
               }
             });
  std::int32_t lowest = -1;
  for (const auto slot : failed)
    if (slot >= 0 && (lowest < 0 || slot < lowest)) lowest = slot;
  return lowest;
}

void spread_all(std::span<const SiteList> lists, const Box& box, std::span<const Fraction> position,
                std::span<std::int64_t> force, std::span<EnergyVirial> virial, ThreadPool& threads) {
  std::size_t room_of_thread = 8;  // at least that far apart, so that threads do not write to one cache line
  for (const auto& list : lists)
    for (const auto& site : list.kind.sites) room_of_thread = std::max(room_of_thread, site.parents.size() + 8);
  std::vector<Vec3> room(room_of_thread * at(threads.size()));
  for_groups(lists, box, position, force.data(), !virial.empty(), threads,
             [&](int thread, const SiteGroup& kind, std::span<const std::int32_t> slots, std::span<const Vec3> places) {
               for (const auto& site : kind.sites) {
                 const auto on_parents = std::span(room).subspan(room_of_thread * at(thread), site.parents.size());
                 auto* on_site = &force[3 * at(slots[at(site.atom)])];
                 std::array<std::int64_t, 3> rest = {on_site[0], on_site[1], on_site[2]};
                 std::fill_n(on_site, 3, 0);
                 spread(site, places, exact(rest), on_parents);
                 for (std::size_t i = 0; i < site.parents.size(); ++i) {
                   const auto& f = on_parents[i];
                   std::array<std::int64_t, 3> part = {to_fixed(f.x, force_unit), to_fixed(f.y, force_unit),
                                                       to_fixed(f.z, force_unit)};
                   if (i + 1 == site.parents.size()) part = rest;  // so that the sum is exact
                   const auto parent = at(site.parents[i].atom);
                   add_force(&force[3 * at(slots[parent])], part);
                   for (std::size_t d = 0; d < 3; ++d) add_fixed(rest[d], -part[d]);
                   if (!virial.empty())
                     virial[at(thread)].add_virial(places[parent] - places[at(site.atom)], exact(part));
                 }
               }
             });
}

}  // namespace tessera::md::virtual_site
