#include "tessera/app/trajectory/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "tessera/base/error.h"
#include "tessera/base/math/elementary.h"
#include "tessera/io/dcd.h"
#include "tessera/io/text/records.h"
#include "tessera/io/write/method.h"

namespace tessera::app {

namespace {

constexpr std::int64_t most_history_number = 9'999'999'999;
constexpr std::int64_t usual_bytes_of_atom_in_xtc = 4;  // water at 0.01 Å takes a third of 12 bytes
constexpr std::int64_t bytes_of_empty_h5md = 150'000;   // room for the first thousand steps, times and boxes

/// Estimates the bytes of an atom in a frame of segments, as they are for proteins in water.
double bytes_of_atom(const TrajectorySettings& settings) {
  constexpr double of_vector = 12, lossless_positions = 9.1, lossless_others = 10.5, at_hundredth = 3.25;
  const auto& contents = settings.contents;
  if (contents.compression == Compression::none || settings.moved > 0)
    return of_vector * static_cast<double>(contents.n_quantities());
  // A digit more of each coordinate takes a byte of the three.
  const double positions =
      contents.compression == Compression::rounded
          ? std::clamp(at_hundredth - math::log(contents.precision / 0.01) / math::log(10), 1.0, of_vector)
          : lossless_positions;
  return positions + lossless_others * static_cast<double>(contents.n_quantities() - 1);
}

std::string format_name(TrajectoryFormat format) {
  return std::string(names_of(format).at(static_cast<std::size_t>(format)));
}

/// Returns whether a method of io::write is how frames in a format are written.
bool is_taken(TrajectoryFormat format, const io::write::Method& method) {
  switch (format) {
    case TrajectoryFormat::segments:
      return false;  // segments are no file
    case TrajectoryFormat::dcd:
    case TrajectoryFormat::h5md:
      return method.name == std::string_view(io::write::pdaw.name);
    case TrajectoryFormat::xtc:
      return method.name == std::string_view(io::write::sdaw.name);
    default:
      return method.can(io::write::history);
  }
}

/// Checks that the method, the number of writers, the batch and the order are those of the format, whether frames are
/// written or not.
void check_method(const OutputConfig& output) {
  const auto name = format_name(output.trajectory);
  if (output.trajectory == TrajectoryFormat::none) {
    if (output.method != "auto" || output.batch > 0 || output.order != AtomOrder::sorted)
      throw InputError(
          "output.method, batch and order are of a trajectory, and output.trajectory = \"none\": leave them out, or "
          "set a format");
    return;
  }
  if (output.method != "auto") {
    std::vector<std::string_view> taken;
    if (output.trajectory == TrajectoryFormat::segments) taken.emplace_back("segments");
    for (const auto& one : io::write::methods())
      if (is_taken(output.trajectory, one)) taken.emplace_back(one.name);
    if (std::find(taken.begin(), taken.end(), output.method) == taken.end())
      throw InputError(fmt::format(
          "output.method = \"{}\", and output.trajectory = \"{}\" is written by {} alone: set that, or \"auto\"",
          output.method, name, fmt::join(taken, ", ")));
    if (output.writers > 1 && output.trajectory == TrajectoryFormat::history && output.method == io::write::sdaw.name)
      throw InputError(fmt::format("output.writers = {}, but output.method = \"{}\" has one: leave one of them out",
                                   output.writers, output.method));
  }
  if (output.batch > 0 && output.trajectory != TrajectoryFormat::history)
    throw InputError(
        fmt::format("output.batch = {}, but ranks write their rows of output.trajectory = \"{}\" at once: "
                    "leave it out, or write a \"history\"",
                    output.batch, name));
  if (output.order == AtomOrder::sorted) return;
  if (output.trajectory != TrajectoryFormat::history)
    throw InputError(fmt::format(
        "output.order = \"owned\", but output.trajectory = \"{}\" has no numbers of atoms: leave it out, or "
        "write a \"history\"",
        name));
  if (output.wrap)
    throw InputError(
        "output.order = \"owned\" leaves atoms where ranks have them, and output.wrap = true puts molecules together: "
        "set output.wrap = false, or output.order = \"sorted\"");
}

/// Checks what formats of one file hold: positions, H5MD and HISTORY velocities too, and HISTORY forces.
void check_single_file(const TrajectorySettings& settings, std::int64_t n_atoms) {
  const auto& contents = settings.contents;
  const auto refuse = [&](const char* setting, const char* formats) {
    throw InputError(fmt::format("{}, but output.trajectory = \"{}\", which can't: set that to {}, or leave it out",
                                 setting, format_name(settings.format), formats));
  };
  if (contents.velocities && settings.format != TrajectoryFormat::h5md && settings.format != TrajectoryFormat::history)
    refuse("output.velocities = true", "\"segments\", \"h5md\" or \"history\"");
  if (contents.forces && settings.format != TrajectoryFormat::history)
    refuse("output.forces = true", "\"segments\" or \"history\"");
  if (contents.forces && !contents.velocities)
    throw InputError(
        "output.forces = true, and a HISTORY holds forces beside velocities alone: set output.velocities = true");
  if (contents.compression == Compression::lossless) refuse("output.compression = \"lossless\"", "\"segments\"");
  if (contents.compression == Compression::rounded)
    refuse("output.compression = \"rounded\"", "\"segments\" or \"xtc\"");
  if (settings.format == TrajectoryFormat::dcd && n_atoms > io::most_dcd_atoms)
    throw InputError(fmt::format("a DCD holds at most {} atoms, there are {}: set output.trajectory to \"segments\"",
                                 io::most_dcd_atoms, n_atoms));
}

/// Checks that names of atoms fit the eight columns of a HISTORY.
void check_names(const model::System& system) {
  const auto is_hidden = [](char c) { return c <= ' ' || c > '~'; };
  for (const auto& one : system.templates)
    for (auto name : one.atom_name) {
      if (!name.empty() && name.size() <= std::tuple_size_v<io::text::Name> && !std::ranges::any_of(name, is_hidden))
        continue;
      std::ranges::replace_if(name, is_hidden, '?');
      throw InputError(
          fmt::format("an atom has the name \"{}\", and a HISTORY holds one to eight letters of ASCII without blanks: "
                      "set output.trajectory to another format",
                      name));
    }
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
  if (output.trajectory_every > 0 && output.trajectory != TrajectoryFormat::none)
    found.push_back({.name = std::string(main_trajectory),
                     .path = fmt::format("{}/{}.{}", output.folder, main_trajectory, format_name(output.trajectory)),
                     .format = output.trajectory,
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
                     .format = TrajectoryFormat::segments,
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
    if (one.format == TrajectoryFormat::history) check_names(system);
    if (one.format == TrajectoryFormat::history && config.dynamics.steps > most_history_number)
      throw InputError(
          fmt::format("a HISTORY has ten digits for steps, dynamics.steps = {}: set output.trajectory to "
                      "\"segments\"",
                      config.dynamics.steps));
    if (one.format != TrajectoryFormat::segments) check_single_file(one, atoms);
  }
  if (!config.output.select.empty()) (void)config.selections.find(config.output.select, "output.select", n_atoms);
}

std::int64_t frame_bytes(const TrajectorySettings& settings, std::int64_t atoms_of_frame) {
  if (settings.format == TrajectoryFormat::xtc) return usual_bytes_of_atom_in_xtc * atoms_of_frame;
  if (settings.format == TrajectoryFormat::history)
    return (1 + settings.contents.n_quantities()) * io::text::record_bytes * atoms_of_frame;
  return 12 * settings.contents.n_quantities() * atoms_of_frame;
}

std::int64_t bytes_in_file(const TrajectorySettings& settings, std::int64_t atoms_of_frame, bool is_periodic) {
  const auto& contents = settings.contents;
  const auto n = contents.n_quantities();
  switch (settings.format) {
    case TrajectoryFormat::segments:
      return std::llround(bytes_of_atom(settings) * static_cast<double>(atoms_of_frame)) + 104 + 24 * n;
    case TrajectoryFormat::dcd:
      return 12 * atoms_of_frame + 80;
    case TrajectoryFormat::xtc:
      return usual_bytes_of_atom_in_xtc * atoms_of_frame + 92;
    case TrajectoryFormat::h5md:
      return 12 * n * atoms_of_frame + 136;
    case TrajectoryFormat::history:
      return io::text::record_bytes * ((1 + n) * atoms_of_frame + (is_periodic ? 4 : 1));
    case TrajectoryFormat::none:
      break;
  }
  return 0;
}

std::int64_t file_header_bytes(const TrajectorySettings& settings) {
  return settings.format == TrajectoryFormat::h5md ? bytes_of_empty_h5md : 0;
}

}  // namespace tessera::app
