#include "tessera/app/restart/fingerprint.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <type_traits>

#include "tessera/app/system/system_layout.h"
#include "tessera/io/checksum.h"

namespace tessera::app {

namespace {

/// A visitor that adds each part to a checksum of its own. Every list goes in with its length, so that no two contents
/// look alike.
class Fingerprint {
 public:
  /// Sets the group of the file ("templates/") of the parts that are visited next.
  Fingerprint& in(std::string group) {
    group_ = std::move(group);
    return *this;
  }

  template <class Value, class Layout>
  void operator()(std::string_view part, const std::vector<Value>& values, Layout) {
    add(part, values);
  }
  template <class Layout>
  void operator()(std::string_view part, const std::vector<std::string>& texts, Layout) {
    add(part, std::vector<std::size_t>{texts.size()});
    for (const auto& text : texts) add(part, std::vector<char>(text.begin(), text.end()));
  }
  void operator()(std::string_view part, const std::vector<model::CmapParameter>& maps, layout::AnyRows) {
    for (const auto& map : maps) add(part, map.energy);
  }
  void operator()(std::string_view part, const std::vector<model::TabulatedPotential>& tables, layout::AnyRows) {
    for (const auto& table : tables) add(part, table.points);
  }
  void operator()(std::string_view part, const std::vector<model::PairPotential>& pairs, layout::PotentialPairs) {
    for (const auto& pair : pairs) {
      add(part, std::vector<int>{pair.type_a, pair.type_b, static_cast<int>(pair.kind)});
      add(part, std::vector<double>(pair.parameter.begin(), pair.parameter.end()));
    }
  }
  template <int Arity>
  void operator()(std::string_view part, const model::Terms<Arity>& terms, layout::TermTable) {
    add(part, terms.atoms);
    add(part, terms.parameter);
  }
  /// Adds virtual sites. Systems without any have no such part, as before there were any.
  void operator()(std::string_view part, const std::vector<model::VirtualSite>& sites, layout::SiteTable) {
    for (const auto& site : sites) {
      std::vector<std::int32_t> atoms = {site.atom, static_cast<std::int32_t>(site.frame)};
      std::vector<double> numbers(site.position.begin(), site.position.end());
      for (const auto& parent : site.parents) {
        atoms.push_back(parent.atom);
        numbers.insert(numbers.end(), {parent.origin, parent.x, parent.y});
      }
      add(part, atoms);
      add(part, numbers);
    }
  }
  void operator()(std::string_view part, const Box& box, layout::AnyRows) {
    const auto &a = box.a(), &b = box.b(), &c = box.c();
    add(part, std::vector<double>{a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z});
  }
  void operator()(std::string_view part, const model::Template& molecule, layout::SettleLengths) {
    add(part, std::vector<double>{molecule.water_oh, molecule.water_hh});
  }
  /// Adds chains. Systems without any have no such part, as before there were any.
  void operator()(std::string_view part, const model::System& system, layout::Chains) {
    for (const auto& chain : system.chains()) add(part, std::vector<std::int64_t>{chain.first_run, chain.n_runs});
  }
  void operator()(std::string_view part, const model::System& system, layout::Runs) {
    std::vector<std::int64_t> runs;
    for (const auto& run : system.instances()) runs.insert(runs.end(), {run.molecule, run.count});
    add(part, runs);
  }
  void operator()(std::string_view part, const Vec3& origin, layout::Origin) {
    if (norm2(origin) > 0) add(part, std::vector<double>{origin.x, origin.y, origin.z});
  }
  void operator()(std::string_view part, bool is_marked, layout::Mark) {
    if (is_marked) add(part, std::vector<int>{1});
  }
  template <class Value>
  void operator()(std::string_view name, const Value& value, layout::Attribute attribute) {
    const auto part = attribute.part.empty() ? name : attribute.part;
    if constexpr (std::is_same_v<Value, std::string>)
      (*this)(part, std::vector<std::string>{value}, layout::AnyRows{});
    else if constexpr (std::is_same_v<Value, double>)
      add(part, std::vector<double>{value});
    else
      add(part, std::vector<int>{static_cast<int>(value)});
  }

  nlohmann::json finish() {
    constexpr std::size_t digits = 16;  // of a checksum: what changed by mistake is not a forgery
    nlohmann::json json;
    for (auto& [part, sum] : sums_) json[part] = sum.finish().substr(0, digits);
    return json;
  }

 private:
  template <class Value>
  void add(std::string_view part, const std::vector<Value>& values) {
    static_assert(std::has_unique_object_representations_v<Value> || std::is_floating_point_v<Value> ||
                      sizeof(Value) % sizeof(double) == 0,
                  "no padding, which holds anything");
    const auto n = static_cast<std::int64_t>(values.size());
    sums_[group_ + std::string(part)].add(std::as_bytes(std::span(&n, 1))).add(std::as_bytes(std::span(values)));
  }

  std::string group_;
  std::map<std::string, io::Checksum> sums_;
};

}  // namespace

nlohmann::json fingerprint(const model::System& system) {
  Fingerprint visitor;
  layout::visit_root(system, visitor);
  layout::visit_force_field(system.force_field, visitor.in("forcefield/"));
  for (const auto& molecule : system.templates)
    layout::visit_template(molecule, system.force_field, visitor.in("templates/"));
  layout::visit_instances(system, visitor.in("instances/"));
  return visitor.finish();
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
