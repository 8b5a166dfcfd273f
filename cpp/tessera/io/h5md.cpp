#include "tessera/io/h5md.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/units.h"

namespace tessera::io {
namespace {

const std::string root = "/particles/all";
const std::string position = root + "/position", velocity = root + "/velocity", edges = root + "/box/edges";

// Frames share a chunk, so that HDF5, which goes through all chunks to tell where one is, does so rarely. No more bytes
// than these are taken at once for frames to come, but for small ones.
constexpr std::int64_t least_chunk_bytes = 64 << 10, most_chunk_bytes = 4 << 20, frames_per_chunk = 4;
constexpr std::int64_t numbers_per_chunk = 1024;  // steps, times, boxes

/// Writes `unit`, which is H5MD's attribute, and `units`, which is mdtraj's.
void set_unit(Hdf5File& file, const std::string& dataset, const std::string& unit, const std::string& units) {
  file.write_text_attribute(dataset, "unit", unit);
  file.write_text_attribute(dataset, "units", units);
}

void make_frames(Hdf5File& file, const std::string& dataset, std::int64_t n_atoms) {
  const auto chunk_bytes = std::clamp(12 * n_atoms * frames_per_chunk, least_chunk_bytes, most_chunk_bytes);
  file.make_extendible<float>(dataset, {n_atoms, 3}, std::max<std::int64_t>(1, chunk_bytes / (12 * n_atoms)));
}

/// Returns the datasets that grow by a row each frame.
std::vector<std::string> growing(const H5mdHeader& header) {
  std::vector<std::string> names = {position + "/value", edges + "/value",   "/cell_lengths",
                                    "/cell_angles",      position + "/time", position + "/step"};
  if (header.has_velocities) names.push_back(velocity + "/value");
  return names;
}

}  // namespace

H5mdWriter H5mdWriter::create(const std::string& path, const H5mdHeader& header) {
  TESSERA_CHECK(header.n_atoms > 0);
  H5mdWriter writer(Hdf5File::create(path), header);
  auto& file = writer.file_;
  file.make_group("/h5md/author");
  file.make_group("/h5md/creator");
  const std::array<std::int32_t, 2> version = {1, 1};
  file.write_attribute<std::int32_t>("/h5md", "version", version);
  file.write_text_attribute("/h5md/author", "name", header.author);
  file.write_text_attribute("/h5md/creator", "name", header.creator);
  file.write_text_attribute("/h5md/creator", "version", header.creator_version);

  make_frames(file, position + "/value", header.n_atoms);
  set_unit(file, position + "/value", "Angstrom", "angstroms");
  file.make_extendible<std::int64_t>(position + "/step", {}, numbers_per_chunk);
  file.make_extendible<double>(position + "/time", {}, numbers_per_chunk);
  set_unit(file, position + "/time", "ps", "picoseconds");
  if (header.has_velocities) {
    make_frames(file, velocity + "/value", header.n_atoms);
    set_unit(file, velocity + "/value", "Angstrom ps-1", "angstroms/picosecond");
  }
  file.make_extendible<double>(edges + "/value", {3, 3}, numbers_per_chunk);
  set_unit(file, edges + "/value", "Angstrom", "angstroms");
  const std::int32_t three = 3;
  file.write_attribute<std::int32_t>(root + "/box", "dimension", std::span(&three, 1));
  file.write_text_attribute(root + "/box", "boundary",
                            std::vector<std::string>(3, header.is_periodic ? "periodic" : "none"));
  // Elements sampled together share step and time (H5MD 1.1, "Time-dependent data").
  for (const auto& element : {edges, header.has_velocities ? velocity : std::string()})
    if (!element.empty())
      for (const char* leaf : {"/step", "/time"}) file.link(position + leaf, element + leaf);

  // mdtraj: the same arrays under its names; lengths and angles of the cell beside them.
  file.write_text_attribute("/", "conventions", "Pande");
  file.write_text_attribute("/", "conventionVersion", "1.1");
  file.write_text_attribute("/", "program", header.creator);
  file.link(position + "/value", "/coordinates");
  file.link(position + "/time", "/time");
  if (header.has_velocities) file.link(velocity + "/value", "/velocities");
  file.make_extendible<double>("/cell_lengths", {3}, numbers_per_chunk);
  set_unit(file, "/cell_lengths", "Angstrom", "angstroms");
  file.make_extendible<double>("/cell_angles", {3}, numbers_per_chunk);
  set_unit(file, "/cell_angles", "degree", "degrees");
  if (!header.topology.empty()) file.write_text("/topology", {header.topology});
  file.start_growing();
  return writer;
}

H5mdWriter H5mdWriter::continue_after(const std::string& path, std::int64_t n_frames, const H5mdHeader& header) {
  H5mdWriter writer(Hdf5File::open_to_append(path), header);
  auto& file = writer.file_;
  const bool is_ours = file.has(position + "/value") && file.has("/coordinates");
  if (!is_ours || file.shape(position + "/value").at(1) != header.n_atoms ||
      file.has(velocity) != header.has_velocities)
    throw InputError(
        fmt::format("{}: is not the trajectory of this run ({} atoms, {} velocities); move it away to "
                    "begin another from the checkpoint on",
                    path, header.n_atoms, header.has_velocities ? "with" : "without"));
  for (const auto& dataset : growing(header)) {
    file.check_index(dataset);
    const auto found = file.shape(dataset).at(0);
    if (found < n_frames)
      throw InputError(fmt::format(
          "{}: {} holds {} frames, the checkpoint says {}; put the trajectory back, or move it away to begin "
          "another from the checkpoint on",
          path, dataset, found, n_frames));
  }
  const auto steps = file.read_rows<std::int64_t>(position + "/step", 0, n_frames);
  if (!std::is_sorted(steps.begin(), steps.end(), std::less_equal<>()))
    throw InputError(fmt::format(
        "{}: the steps of its frames do not rise, so it is damaged; put the trajectory back, or move it away "
        "to begin another from the checkpoint on",
        path));
  for (const auto& dataset : growing(header)) file.truncate(dataset, n_frames);
  file.flush();
  writer.n_frames_ = n_frames;
  file.start_growing();
  return writer;
}

void H5mdRows::put(const H5mdPlaces& places, std::int64_t first, std::span<const float> positions,
                   std::span<const float> velocities) const {
  file_.write_at(positions.data(), positions.size_bytes(), places.positions + 12 * first);
  if (!velocities.empty()) file_.write_at(velocities.data(), velocities.size_bytes(), places.velocities + 12 * first);
}

void H5mdWriter::append(std::int64_t step, double time, const Box& box, std::span<const float> positions,
                        std::span<const float> velocities) {
  TESSERA_CHECK(positions.size() == 3 * static_cast<std::size_t>(header_.n_atoms));
  TESSERA_CHECK(velocities.size() == (header_.has_velocities ? positions.size() : 0));
  rows_.put(begin_frame(), 0, positions, velocities);
  finish_frame(step, time, box);
}

H5mdPlaces H5mdWriter::begin_frame() {
  H5mdPlaces places{.positions = file_.add_row(position + "/value")};
  if (header_.has_velocities) places.velocities = file_.add_row(velocity + "/value");
  file_.flush();
  return places;
}

void H5mdWriter::finish_frame(std::int64_t step, double time, const Box& box) {
  const Vec3 &a = box.a(), &b = box.b(), &c = box.c();
  const std::array<double, 9> vectors = {a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z};
  // Step and time last: readers count frames by them, so a frame shows when it is whole.
  file_.append<double>(edges + "/value", vectors);
  file_.append<double>("/cell_lengths", box.edges());
  file_.append<double>("/cell_angles", box.angles());
  file_.append<double>(position + "/time", std::span(&time, 1));
  file_.append<std::int64_t>(position + "/step", std::span(&step, 1));
  file_.flush();
  ++n_frames_;
}

}  // namespace tessera::io
