#include "tessera/app/trajectory/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "tessera/base/error.h"
#include "tessera/io/write/method.h"

namespace tessera::app {

namespace {

/// Lists the formats of which this is true: `"segments", "h5md" or "history"`.
template <class Condition>
std::string formats_where(Condition is_true) {
  std::vector<std::string> names;
  for (const auto& one : trajectory_formats())
    if (is_true(one)) names.push_back(fmt::format("\"{}\"", one.name));
  const auto last = names.back();
  names.pop_back();
  return names.empty() ? last : fmt::format("{} or {}", fmt::join(names, ", "), last);
}

/// Lists the methods by which frames in a format may be written.
std::vector<std::string_view> methods_of(const TrajectoryFormat& format) {
  if (format.method != nullptr) return {format.method};
  std::vector<std::string_view> names;
  for (const auto& one : io::write::methods())
    if (one.can(format.written_as({}))) names.emplace_back(one.name);
  return names;
}

/// Checks that the method, the number of writers, the batch and the order are those of the format, whether frames are
/// written or not.
void check_method(const OutputConfig& output) {
  if (output.trajectory == no_trajectory) {
    if (output.method != "auto" || output.batch > 0 || output.order != AtomOrder::sorted)
      throw InputError(
          "output.method, batch and order are of a trajectory, and output.trajectory = \"none\": leave them out, or "
          "set a format");
    return;
  }
  const auto& format = trajectory_format(output.trajectory);
  const auto is_written_so = [](const TrajectoryFormat& one) { return one.written_as != nullptr; };
  if (output.method != "auto") {
    const auto taken = methods_of(format);
    if (std::find(taken.begin(), taken.end(), output.method) == taken.end())
      throw InputError(fmt::format(
          "output.method = \"{}\", and output.trajectory = \"{}\" is written by {} alone: set that, or \"auto\"",
          output.method, format.name, fmt::join(taken, ", ")));
    if (output.writers > 1 && is_written_so(format) && output.method == io::write::sdaw.name)
      throw InputError(fmt::format("output.writers = {}, but output.method = \"{}\" has one: leave one of them out",
                                   output.writers, output.method));
  }
  if (output.batch > 0 && !is_written_so(format))
    throw InputError(
        fmt::format("output.batch = {}, but ranks write their rows of output.trajectory = \"{}\" at once: "
                    "leave it out, or write a {}",
                    output.batch, format.name, formats_where(is_written_so)));
  if (output.order == AtomOrder::sorted) return;
  if (!is_written_so(format))
    throw InputError(fmt::format(
        "output.order = \"owned\", but output.trajectory = \"{}\" has no numbers of atoms: leave it out, or "
        "write a {}",
        format.name, formats_where(is_written_so)));
  if (output.wrap)
    throw InputError(
        "output.order = \"owned\" leaves atoms where ranks have them, and output.wrap = true puts molecules together: "
        "set output.wrap = false, or output.order = \"sorted\"");
}

/// Checks that frames in the format hold what is asked for.
void check_contents(const TrajectorySettings& settings) {
  const auto& format = *settings.format;
  const auto& contents = settings.contents;
  const auto refuse = [&](const char* setting, auto&& can) {
    throw InputError(fmt::format("{}, but output.trajectory = \"{}\", which can't: set that to {}, or leave it out",
                                 setting, format.name, formats_where(can)));
  };
  const auto compresses = [](const TrajectoryFormat& one) { return one.is_compressed; };
  if (contents.velocities && !format.has_velocities)
    refuse("output.velocities = true", [](const TrajectoryFormat& one) { return one.has_velocities; });
  if (contents.forces && !format.has_forces)
    refuse("output.forces = true", [](const TrajectoryFormat& one) { return one.has_forces; });
  if (contents.compression == Compression::lossless && !format.is_compressed)
    refuse("output.compression = \"lossless\"", compresses);
  if (contents.compression == Compression::rounded && !format.is_compressed)
    refuse("output.compression = \"rounded\"",
           [](const TrajectoryFormat& one) { return one.is_compressed || one.is_rounded; });
}

void check_selections(const OutputConfig& output) {
  std::set<std::string> names = {std::string(main_trajectory)};
  for (std::size_t row = 0; row < output.selections.size(); ++row) {
    const auto& one = output.selections[row];
    const auto key = [&](const char* name) { return fmt::format("output.selection.{}.{}", row, name); };
    const auto is_usual = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_'; };
    if (one.name.empty() || !std::all_of(one.name.begin(), one.name.end(), is_usual))
      throw InputError(
          fmt::format("{} = \"{}\" names a folder: expected letters, digits, - and _", key("name"), one.name));
    if (!names.insert(one.name).second)
      throw InputError(
          fmt::format("{} = \"{}\" is taken by another trajectory: choose another", key("name"), one.name));
    if (one.moved > 0 && (one.velocities || one.forces || one.compression != Compression::none))
      throw InputError(
          fmt::format("{} = {} goes with positions alone, without velocities, forces and compression: leave "
                      "one out",
                      key("moved"), one.moved));
  }
}

}  // namespace

std::vector<TrajectorySettings> trajectories_of(const OutputConfig& output) {
  std::vector<TrajectorySettings> found;
  if (output.trajectory_every > 0 && output.trajectory != no_trajectory)
    found.push_back({.name = std::string(main_trajectory),
                     .path = fmt::format("{}/{}.{}", output.folder, main_trajectory, output.trajectory),
                     .format = &trajectory_format(output.trajectory),
                     .every = output.trajectory_every,
                     .select = output.select,
                     .key = "output.select",
                     .contents = output,
                     .moved = 0,
                     .is_as_owned = output.order == AtomOrder::owned});
  for (std::size_t row = 0; row < output.selections.size(); ++row) {
    const auto& one = output.selections[row];
    found.push_back({.name = one.name,
                     .path = fmt::format("{}/{}.segments", output.folder, one.name),
                     .format = &trajectory_format("segments"),
                     .every = one.every,
                     .select = one.select,
                     .key = fmt::format("output.selection.{}.select", row),
                     .contents = one,
                     .moved = one.moved,
                     .is_as_owned = false});
  }
  return found;
}

model::AtomSet atoms_of(const TrajectorySettings& settings, const RunConfig& config, std::int64_t n_atoms) {
  return config.selections.find(settings.select.empty() ? "all" : settings.select, settings.key, n_atoms);
}

void check_trajectories(const RunConfig& config, const model::System& system) {
  const auto n_atoms = system.n_atoms();
  check_selections(config.output);
  check_method(config.output);
  for (const auto& one : trajectories_of(config.output)) {
    const auto atoms = atoms_of(one, config, n_atoms).size();
    check_contents(one);
    if (one.format->check != nullptr) one.format->check(one, config, system, atoms);
  }
  const auto& output = config.output;
  if (!output.select.empty()) (void)config.selections.find(output.select, "output.select", n_atoms);
  if (!output.imd_select.empty()) (void)config.selections.find(output.imd_select, "output.imd_select", n_atoms);
}

std::int64_t frame_bytes(const TrajectorySettings& settings, std::int64_t atoms_of_frame) {
  const auto atom_bytes = settings.format->atom_bytes;
  return (atom_bytes != nullptr ? atom_bytes(settings.contents) : 12 * settings.contents.n_quantities()) *
         atoms_of_frame;
}

}  // namespace tessera::app
