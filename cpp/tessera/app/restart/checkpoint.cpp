#include "tessera/app/restart/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tessera/app/config/schema.h"
#include "tessera/app/restart/fingerprint.h"
#include "tessera/base/error.h"

namespace tessera::app {

namespace {

constexpr const char* magic = "tessera-checkpoint ";
constexpr int version = 2;
constexpr const char* system_key = "input.system";

std::string newest(const std::string& folder) { return folder + "/checkpoint.tck"; }
std::string previous(const std::string& folder) { return folder + "/checkpoint.previous.tck"; }
std::string unplaced(const std::string& folder) { return folder + "/checkpoint.next.tck"; }

// Id, place, velocity, displacement of an atom.
constexpr std::size_t record_bytes = 44;

Checkpoint read_one(const std::string& path) {
  const auto refuse = [&](const std::string& problem) { throw InputError(fmt::format("{} {}", path, problem)); };
  std::error_code error;
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  std::ifstream file(path, std::ios::binary);
  if (error || !file) refuse("can't be opened");
  std::string line, header;
  std::getline(file, line);
  std::getline(file, header);
  if (line != fmt::format("{}{}", magic, version)) {
    int found = 0;
    const auto digits = std::string_view(line).substr(std::min(line.size(), std::strlen(magic)));
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), found);
    if (!line.starts_with(magic) || parsed.ec != std::errc()) refuse("is no checkpoint, or is damaged");
    refuse(fmt::format(
        "is a checkpoint of version {}, this tessera reads version {}: go on with the tessera that wrote it, "
        "or begin the run anew",
        found, version));
  }
  try {
    const auto json = nlohmann::json::parse(header);
    Checkpoint checkpoint;
    checkpoint.step = json.at("step");
    checkpoint.last_search = json.at("last_search");
    checkpoint.energy_rows = json.at("energy_rows");
    checkpoint.trajectory_frames = json.at("trajectory_frames");
    checkpoint.averages = json.at("averages").get<Averages::State>();
    checkpoint.simd = json.at("simd");
    checkpoint.settings = json.at("settings");
    checkpoint.start = json.at("start");
    const auto n = json.at("atoms").get<std::size_t>();
    constexpr std::int64_t checksum_bytes = 64;
    const auto records = size - static_cast<std::int64_t>(file.tellg()) - checksum_bytes;
    if (records < 0 || static_cast<std::size_t>(records) / record_bytes != n) refuse("is truncated");
    std::vector<char> data(n * record_bytes);
    file.read(data.data(), static_cast<std::streamsize>(data.size()));
    const auto sum = io::Checksum().add(comm::bytes_of(header)).add(comm::bytes_of(data)).finish();
    std::string stored(sum.size(), ' ');
    file.read(stored.data(), static_cast<std::streamsize>(stored.size()));
    if (stored != sum) refuse("is damaged: its checksum does not match");
    checkpoint.particles.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      auto& p = checkpoint.particles[i];
      const char* at = data.data() + i * record_bytes;
      std::memcpy(&p.id, at, 8);
      std::memcpy(&p.position, at + 8, 12);
      std::memcpy(&p.velocity, at + 20, 12);
      std::memcpy(&p.displacement, at + 32, 12);
    }
    return checkpoint;
  } catch (const nlohmann::json::exception&) {
    throw InputError(fmt::format("{} has a damaged header", path));
  }
}

}  // namespace

nlohmann::json bit_settings(const md::EngineSettings& settings, const nlohmann::json& fingerprint) {
  return {{system_key, fingerprint},
          {"interactions.cutoff", settings.pair.cutoff},
          {"interactions.switch", settings.pair.switch_distance},
          {"interactions.lj", static_cast<int>(settings.pair.lj)},
          {"interactions.lj_tail", settings.lj_tail},
          {"interactions.electrostatics", static_cast<int>(settings.pair.electrostatics)},
          {"interactions.coulomb_switch", settings.pair.coulomb_switch},
          {"interactions.pair_function is table", settings.pair.function == md::pair::PairFunction::table},
          {"interactions.table_density", settings.pair.table_density},
          {"pme.cutoff", settings.pair.direct_cutoff},
          {"pme.alpha", settings.pair.alpha},
          {"pme.order", settings.pme_order},
          {"pme.grid", settings.pme_grid},
          {"parallel.buffer", settings.buffer},
          {"parallel.pair_search_every", settings.search_every},
          {"parallel.precision is double", settings.double_precision},
          {"parallel.pair_scheme", settings.pair_scheme},
          {"dynamics.constraints", static_cast<int>(settings.constraints)},
          {"dynamics.constraint_tolerance", settings.constraint_tolerance},
          {"dynamics.timestep (ps)", settings.timestep},
          {"dynamics.com_removal_every", settings.com_removal_every}};
}

nlohmann::json start_settings(const DynamicsConfig& dynamics) {
  return {{"dynamics.temperature", dynamics.temperature},
          {"dynamics.seed", dynamics.seed},
          {"dynamics.velocities", static_cast<int>(dynamics.velocities)}};
}

namespace {

/// A setting as a run file writes it: bit_settings() holds a choice as its number in the schema.
std::string text_of(const std::string& key, const nlohmann::json& value) {
  for (const auto& known : schema())
    if (known.full_name() == key && value.is_number_integer() && value.get<std::size_t>() < known.allowed.size())
      return nlohmann::json(known.allowed[value.get<std::size_t>()]).dump();
  return value.dump();
}

}  // namespace

std::string describe_differences(const nlohmann::json& checkpoint, const nlohmann::json& run) {
  std::string direct, derived;
  for (const auto& [key, value] : run.items()) {
    const auto before = checkpoint.value(key, nlohmann::json());
    if (before == value) continue;
    if (key == system_key) {
      direct += fmt::format("{}{} (its content: {}) has changed", direct.empty() ? "" : "; ", key,
                            fmt::join(changed_parts(before, value), ", "));
      continue;
    }
    auto& text = key == "pme.alpha" || key == "pme.grid" ? derived : direct;
    text += fmt::format("{}{} was {}, is {}", text.empty() ? "" : "; ", key, text_of(key, before), text_of(key, value));
  }
  return direct.empty() ? derived : direct;  // α and mesh follow from the others
}

CheckpointWriter::CheckpointWriter(const std::string& folder, const Checkpoint& checkpoint, std::int64_t n_atoms)
    : folder_(folder), file_(unplaced(folder)) {
  const nlohmann::json json = {{"step", checkpoint.step},
                               {"last_search", checkpoint.last_search},
                               {"energy_rows", checkpoint.energy_rows},
                               {"trajectory_frames", checkpoint.trajectory_frames},
                               {"averages", checkpoint.averages},
                               {"simd", checkpoint.simd},
                               {"settings", checkpoint.settings},
                               {"start", checkpoint.start},
                               {"atoms", n_atoms}};
  const std::string header = json.dump();
  file_.append(comm::bytes_of(fmt::format("{}{}\n{}\n", magic, version, header)));
  sum_.add(comm::bytes_of(header));
}

void CheckpointWriter::append(std::span<const md::domain::Particle> particles) {
  std::vector<char> records(particles.size() * record_bytes);
  char* at = records.data();
  for (const auto& p : particles) {
    std::memcpy(at, &p.id, 8);
    std::memcpy(at + 8, &p.position, 12);
    std::memcpy(at + 20, &p.velocity, 12);
    std::memcpy(at + 32, &p.displacement, 12);
    at += record_bytes;
  }
  file_.append(comm::bytes_of(records));
  sum_.add(comm::bytes_of(records));
}

void CheckpointWriter::finish() {
  file_.append(comm::bytes_of(sum_.finish()));
  // The old newest becomes the previous only when the new one is safe beside it: write, then rename twice.
  file_.commit();
  std::error_code ignored;
  std::filesystem::rename(newest(folder_), previous(folder_), ignored);  // none yet: fine
  std::error_code failed;
  std::filesystem::rename(unplaced(folder_), newest(folder_), failed);
  if (failed)
    throw RunError(fmt::format("{} can't be renamed to checkpoint.tck: {}", unplaced(folder_), failed.message()));
  synchronize_folder(folder_);
}

Checkpoint read_checkpoint(const std::string& folder, std::string& note) {
  std::string problems;
  // A kill between the two renames leaves the newest under its first name.
  for (const auto& path : {newest(folder), unplaced(folder), previous(folder)}) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) continue;
    try {
      auto checkpoint = read_one(path);
      if (path != newest(folder))
        note = fmt::format("continuing from {}{}", path, problems.empty() ? "" : " since " + problems);
      return checkpoint;
    } catch (const InputError& error) {
      problems += fmt::format("{}{}", problems.empty() ? "" : "; ", error.what());
    }
  }
  if (problems.empty())
    throw InputError(fmt::format("{} holds no checkpoint to restart from; run without --restart first", folder));
  throw InputError(fmt::format("no good checkpoint in {}: {}", folder, problems));
}

void add_state(std::span<const md::domain::Particle> particles, io::Checksum& hash) {
  struct State {
    Fraction position;
    md::domain::Velocity velocity;
  };
  std::vector<State> states;
  states.reserve(particles.size());
  for (const auto& p : particles) states.push_back({p.position + p.displacement, p.velocity});
  hash.add(comm::bytes_of(states));
}

}  // namespace tessera::app
