#include "tessera/app/system/reader.h"

#include <initializer_list>
#include <set>
#include <string_view>
#include <type_traits>

#include "tessera/app/system/system_layout.h"

namespace tessera::app {
namespace {

/// 3 where there are chains of units, 4 where segments are named by instance.
constexpr std::int32_t oldest_version = 2, newest_version = 4;

/// A visitor that collects the names of datasets.
class DatasetNames {
 public:
  /// Sets the group of what is visited next.
  DatasetNames& in(std::string group) {
    group_ = std::move(group);
    return *this;
  }
  template <class Member, class Layout>
  void operator()(std::string_view name, const Member&, Layout) {
    using namespace layout;
    if constexpr (std::is_same_v<Layout, TypePairs>)
      add(name, {"_types", "_lj", "_ab"});
    else if constexpr (std::is_same_v<Layout, PotentialPairs>)
      add(name, {"_types", "_kind", "_parameter"});
    else if constexpr (std::is_same_v<Layout, TermTable>)
      add(name, {"", "/atoms", "/parameter"});
    else if constexpr (std::is_same_v<Layout, SiteTable>)
      add(name, {"", "/atom", "/frame", "/position", "/parents", "/weights"});
    else if constexpr (!std::is_same_v<Layout, Attribute> && !std::is_same_v<Layout, Mark> &&
                       !std::is_same_v<Layout, Origin> && !std::is_same_v<Layout, SettleLengths>)
      add(name, {""});
  }
  bool contains(const std::string& name) const { return names_.contains(name); }

 private:
  void add(std::string_view name, std::initializer_list<const char*> endings) {
    for (const auto* ending : endings) names_.insert(fmt::format("{}{}{}", group_, name, ending));
  }

  std::string group_;
  std::set<std::string> names_;
};

/// Returns whether a group or dataset may stand in a system file.
bool is_known_name(const std::string& name) {
  static const std::set<std::string> others = {
      "/forcefield", "/templates", "/instances",
      // for programs that show molecules by name
      "/instances/chain_name", "/instances/segments", "/instances/segment_name", "/coordinates", "/coordinates/id",
      "/coordinates/fraction", "/coordinates/velocity", "/coordinates/block_grid", "/coordinates/block_offset"};
  static const DatasetNames datasets = [] {
    model::System system;
    model::Template molecule;
    DatasetNames names;
    layout::visit_root(system, names.in("/"));
    layout::visit_force_field(system.force_field, names.in("/forcefield/"));
    layout::visit_template(molecule, system.force_field, names.in("/templates/"));
    layout::visit_instances(system, names.in("/instances/"));
    return names;
  }();
  if (others.contains(name) || datasets.contains(name)) return true;
  const std::string_view templates = "/templates/";
  if (!name.starts_with(templates)) return false;
  const auto slash = name.find('/', templates.size());
  const auto index = std::string_view(name).substr(0, slash).substr(templates.size());
  if (index.empty() || index.find_first_not_of("0123456789") != std::string_view::npos) return false;
  return slash == std::string::npos || datasets.contains(std::string(templates) + name.substr(slash + 1));
}

}  // namespace

Reader::Reader(const SystemSource& source)
    : file_(source.image.empty() ? io::Hdf5File::open(source.name)
                                 : io::Hdf5File::open_image(source.name, source.image)) {
  if (!file_.has_attribute("/", "format") || file_.text_attribute("/", "format") != "tessera-system")
    fail("is an HDF5 file but not a system file; make one with `tessera prepare` or `tessera make`");
  const auto version = file_.attribute<std::int64_t>("/", "version").at(0);
  if (version < oldest_version || version > newest_version)
    fail(fmt::format("is a system file of version {}, this tessera reads versions {} to {}: {}", version,
                     oldest_version, newest_version,
                     version > newest_version ? "use a newer tessera" : "make it again with `tessera prepare`"));
  if (!file_.is_checked()) fail("is damaged: its checksums are missing; copy it again or make it again");
  names_ = file_.names();
  std::sort(names_.begin(), names_.end());
  check_names();
}

/// Refuses names that are not known; where something known is missing, the number of names shows it.
void Reader::check_names() const {
  for (const auto& name : names_)
    if (!is_known_name(name))
      fail(fmt::format("holds {}, which this tessera does not know; use a newer one, or make the file again", name));
  if (!file_.has_attribute("/", "n_names")) return;
  const auto expected = file_.attribute<std::int64_t>("/", "n_names").at(0);
  if (expected != std::ssize(names_))
    fail(fmt::format("holds {} groups and datasets, expected {}; the file is damaged: copy it again or make it again",
                     names_.size(), expected));
}

}  // namespace tessera::app
