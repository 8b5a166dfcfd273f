#include "tessera/app/restart/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "tessera/app/config/schema.h"
#include "tessera/app/engine_settings.h"
#include "tessera/app/restart/fingerprint.h"
#include "tessera/base/error.h"

namespace tessera::app {

namespace {

constexpr const char* magic = "tessera-checkpoint ";
constexpr int version = 3;
constexpr std::int64_t checksum_bytes = 64;  // at the end of the file
constexpr const char* system_key = "input.system";
constexpr const char* kind_key = "stage.kind";

std::string newest(const std::string& folder) { return folder + "/checkpoint.tck"; }
std::string previous(const std::string& folder) { return folder + "/checkpoint.previous.tck"; }
std::string unplaced(const std::string& folder) { return folder + "/checkpoint.next.tck"; }

/// The files that may be the newest checkpoint, the newest first. A process that was killed between two renames left it
/// under its first name.
std::vector<std::string> candidates(const std::string& folder_or_file) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& path : {folder_or_file, newest(folder_or_file), unplaced(folder_or_file), previous(folder_or_file)})
    if (std::filesystem::is_regular_file(path, ignored)) found.push_back(path);
  return found;
}

/// Id, place, velocity and displacement of an atom, then the values of each field.
std::size_t record_bytes(const md::Snapshot& state) {
  std::size_t n = 44;
  for (const auto& field : state.fields) n += field.width * sizeof(double);
  return n;
}

nlohmann::json to_json(const Box& box) {
  const auto &a = box.a(), &b = box.b(), &c = box.c();
  return {a.x, b.x, b.y, c.x, c.y, c.z};  // Å
}

Box box_from(const nlohmann::json& json) {
  const auto v = json.get<std::array<double, 6>>();
  return Box({v[0], 0, 0}, {v[1], v[2], 0}, {v[3], v[4], v[5]});
}

/// All of a state but its atoms. Doubles go there and back to the last bit.
nlohmann::json globals_to_json(const md::Snapshot& state) {
  nlohmann::json fields = nlohmann::json::array();
  for (const auto& field : state.fields) fields.push_back({{"name", field.name}, {"width", field.width}});
  return {{"step", state.step},
          {"last_search", state.last_search},
          {"box", to_json(state.box)},
          {"search_box", to_json(state.search_box)},
          {"velocity_time", static_cast<int>(state.velocity_time)},
          {"coupling", state.coupling},
          {"fields", fields}};
}

md::Snapshot globals_from(const nlohmann::json& json) {
  md::Snapshot state;
  state.step = json.at("step");
  state.last_search = json.at("last_search");
  state.box = box_from(json.at("box"));
  state.search_box = box_from(json.at("search_box"));
  state.velocity_time = static_cast<md::VelocityTime>(json.at("velocity_time").get<int>());
  state.coupling = json.at("coupling").get<decltype(state.coupling)>();
  for (const auto& field : json.at("fields")) state.fields.push_back({field.at("name"), field.at("width"), {}});
  return state;
}

[[noreturn]] void refuse(const std::string& path, const std::string& problem) {
  throw InputError(fmt::format("{} {}", path, problem));
}

/// Reads the two lines before the atoms into a checkpoint and its number of atoms.
std::pair<Checkpoint, std::size_t> read_header(std::ifstream& file, const std::string& path, std::string& header) {
  std::string line;
  std::getline(file, line);
  std::getline(file, header);
  if (line != fmt::format("{}{}", magic, version)) {
    int found = 0;
    const auto digits = std::string_view(line).substr(std::min(line.size(), std::strlen(magic)));
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), found);
    if (!line.starts_with(magic) || parsed.ec != std::errc()) refuse(path, "is no checkpoint, or is damaged");
    refuse(path, fmt::format("is a checkpoint of version {}, this tessera reads version {}: go on with the tessera "
                             "that wrote it, or begin the run anew",
                             found, version));
  }
  try {
    const auto json = nlohmann::json::parse(header);
    Checkpoint checkpoint;
    checkpoint.state = globals_from(json.at("state"));
    checkpoint.energy_rows = json.at("energy_rows");
    checkpoint.trajectory_frames = json.at("trajectory_frames");
    checkpoint.averages = json.at("averages").get<Averages::State>();
    checkpoint.simd = json.at("simd");
    checkpoint.settings = json.at("settings");
    checkpoint.start = json.at("start");
    if (const auto origin = json.find("origin"); origin != json.end() && !origin->is_null())
      checkpoint.origin = Origin{box_from(origin->at("box")), origin->at("checksum")};
    return {std::move(checkpoint), json.at("atoms").get<std::size_t>()};
  } catch (const nlohmann::json::exception&) {
    refuse(path, "has a damaged header");
  }
}

Checkpoint read_one(const std::string& path) {
  std::error_code error;
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  std::ifstream file(path, std::ios::binary);
  if (error || !file) refuse(path, "can't be opened");
  std::string header;
  auto [checkpoint, n] = read_header(file, path, header);
  const auto records = size - static_cast<std::int64_t>(file.tellg()) - checksum_bytes;
  const auto bytes_of_atom = record_bytes(checkpoint.state);
  if (records < 0 || static_cast<std::size_t>(records) / bytes_of_atom != n) refuse(path, "is truncated");
  std::vector<char> data(n * bytes_of_atom);
  file.read(data.data(), static_cast<std::streamsize>(data.size()));
  const auto sum = io::Checksum().add(comm::bytes_of(header)).add(comm::bytes_of(data)).finish();
  std::string stored(sum.size(), ' ');
  file.read(stored.data(), static_cast<std::streamsize>(stored.size()));
  if (stored != sum) refuse(path, "is damaged: its checksum does not match");
  checkpoint.checksum = sum;
  checkpoint.state.atoms.resize(n);
  const char* at = data.data();
  const auto take = [&](void* to, std::size_t n_bytes) {
    std::memcpy(to, at, n_bytes);
    at += n_bytes;
  };
  for (auto& p : checkpoint.state.atoms) {
    take(&p.id, 8);
    take(&p.position, 12);
    take(&p.velocity, 12);
    take(&p.displacement, 12);
    for (auto& field : checkpoint.state.fields) {
      field.values.resize(field.values.size() + field.width);
      take(field.values.data() + field.values.size() - field.width, field.width * sizeof(double));
    }
  }
  return std::move(checkpoint);
}

}  // namespace

namespace {

/// The keys that decide this, with their values in a configuration.
nlohmann::json settings_that_decide(Decides what, const RunConfig& config) {
  auto settings = nlohmann::json::object();
  for (const auto& section : run_schema().sections)
    for (std::size_t row = 0; row < section.n_rows(config); ++row)
      for (const auto& key : section.keys) {
        if (key.decides_with(config) != what || key.is_path || (key.has_effect && !key.has_effect(config))) continue;
        std::visit([&](const auto& value) { settings[section.name_of(row, key)] = value; }, key.load(config, row));
      }
  return settings;
}

}  // namespace

nlohmann::json bit_settings(const RunConfig& config, const md::EngineSettings& settings,
                            const nlohmann::json& fingerprint) {
  auto effective = in_effect(config, settings);
  effective.parallel.buffer = settings.buffer;  // as wide as the cells allow; in_effect() keeps what was asked for
  auto json = settings_that_decide(Decides::bits, effective);
  json[system_key] = fingerprint;
  json[kind_key] = names_of(config.kind)[static_cast<std::size_t>(config.kind)];
  const auto sums = config.selections.checksums();
  for (const auto& [key, text, decides_bits] : selections_of(config))
    if (const auto sum = sums.find(text); decides_bits && sum != sums.end())
      json[fmt::format("atoms of {}", json_text(text))] = sum->second;
  return json;
}

StageKind kind_of(const Checkpoint& checkpoint) {
  const auto& minimize = names_of(StageKind::minimize)[static_cast<std::size_t>(StageKind::minimize)];
  return checkpoint.settings.value(kind_key, "") == minimize ? StageKind::minimize : StageKind::dynamics;
}

nlohmann::json start_settings(const RunConfig& config) { return settings_that_decide(Decides::start, config); }

namespace {

/// "section.0.key".
bool is_of_record(const std::string& key) {
  const auto dot = key.find('.');
  return dot != std::string::npos && dot + 1 < key.size() && std::isdigit(static_cast<unsigned char>(key[dot + 1]));
}

}  // namespace

std::string describe_differences(const nlohmann::json& checkpoint, const nlohmann::json& run) {
  std::string direct, derived;
  // A record of a repeated section that the run does not have any more.
  for (const auto& [key, value] : checkpoint.items())
    if (is_of_record(key) && !run.contains(key))
      direct += fmt::format("{}{} was {}, is missing", direct.empty() ? "" : "; ", key, value.dump());
  for (const auto& [key, value] : run.items()) {
    // Checkpoints of earlier versions name no kind: all were of dynamics.
    const auto before = checkpoint.value(key, key == kind_key ? nlohmann::json("dynamics") : nlohmann::json());
    if (before == value) continue;
    if (key == system_key) {
      direct += fmt::format("{}{} (its content: {}) has changed", direct.empty() ? "" : "; ", key,
                            fmt::join(changed_parts(before, value), ", "));
      continue;
    }
    // A key that the checkpoint lacks had no effect in its run.
    auto& text = (before.is_null() && !is_of_record(key)) || key == "pme.alpha" || key == "pme.grid" ? derived : direct;
    text += fmt::format("{}{} was {}, is {}", text.empty() ? "" : "; ", key, before.dump(), value.dump());
  }
  return direct.empty() ? derived : direct;  // α and mesh follow from the others
}

CheckpointWriter::CheckpointWriter(const std::string& folder, const Checkpoint& checkpoint, std::int64_t n_atoms)
    : folder_(folder), file_(unplaced(folder)) {
  nlohmann::json origin;
  if (checkpoint.origin) origin = {{"box", to_json(checkpoint.origin->box)}, {"checksum", checkpoint.origin->checksum}};
  const nlohmann::json json = {{"state", globals_to_json(checkpoint.state)},
                               {"energy_rows", checkpoint.energy_rows},
                               {"trajectory_frames", checkpoint.trajectory_frames},
                               {"averages", checkpoint.averages},
                               {"simd", checkpoint.simd},
                               {"settings", checkpoint.settings},
                               {"start", checkpoint.start},
                               {"origin", origin},
                               {"atoms", n_atoms}};
  const std::string header = json.dump();
  file_.append(comm::bytes_of(fmt::format("{}{}\n{}\n", magic, version, header)));
  sum_.add(comm::bytes_of(header));
}

void CheckpointWriter::append(const md::Particles& atoms) {
  std::vector<char> records;
  const auto add = [&](const void* from, std::size_t n_bytes) {
    const auto* bytes = static_cast<const char*>(from);
    records.insert(records.end(), bytes, bytes + n_bytes);
  };
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    const auto& p = atoms.atoms[i];
    add(&p.id, 8);
    add(&p.position, 12);
    add(&p.velocity, 12);
    add(&p.displacement, 12);
    for (const auto& field : atoms.fields) add(&field.values[i * field.width], field.width * sizeof(double));
  }
  file_.append(comm::bytes_of(records));
  sum_.add(comm::bytes_of(records));
}

void CheckpointWriter::finish() {
  file_.append(comm::bytes_of(sum_.finish()));
  // The newest becomes the previous one only when the new one is on the disk: write, then rename twice.
  file_.commit();
  std::error_code ignored;
  std::filesystem::rename(newest(folder_), previous(folder_), ignored);  // none yet: fine
  std::error_code failed;
  std::filesystem::rename(unplaced(folder_), newest(folder_), failed);
  if (failed)
    throw RunError(fmt::format("{} can't be renamed to checkpoint.tck: {}", unplaced(folder_), failed.message()));
  synchronize_folder(folder_);
}

std::optional<Checkpoint> find_checkpoint(const std::string& folder_or_file, std::string& path, std::string& note) {
  std::string problems;
  for (const auto& candidate : candidates(folder_or_file)) {
    try {
      auto checkpoint = read_one(candidate);
      if (!problems.empty() || (candidate != folder_or_file && candidate != newest(folder_or_file)))
        note = fmt::format("continuing from {}{}", candidate, problems.empty() ? "" : " since " + problems);
      path = candidate;
      return checkpoint;
    } catch (const InputError& error) {
      problems += fmt::format("{}{}", problems.empty() ? "" : "; ", error.what());
    }
  }
  if (problems.empty()) return std::nullopt;
  throw InputError(fmt::format("no good checkpoint in {}: {}", folder_or_file, problems));
}

Checkpoint read_checkpoint(const std::string& folder, std::string& note) {
  std::string path;
  if (auto found = find_checkpoint(folder, path, note)) return std::move(*found);
  throw InputError(fmt::format("{} holds no checkpoint to restart from; run without --restart first", folder));
}

std::optional<Checkpoint> find_checkpoint_header(const std::string& folder_or_file) {
  for (const auto& path : candidates(folder_or_file)) {
    std::ifstream file(path, std::ios::binary);
    std::string header;
    try {
      auto checkpoint = read_header(file, path, header).first;
      checkpoint.checksum.resize(checksum_bytes);
      file.seekg(-checksum_bytes, std::ios::end);
      file.read(checkpoint.checksum.data(), checksum_bytes);
      return checkpoint;
    } catch (const InputError&) {  // find_checkpoint() tells of it
    }
  }
  return std::nullopt;
}

void share_globals(const comm::Communicator& comm, md::Snapshot& state) {
  std::string text;
  if (comm.is_root()) text = globals_to_json(state).dump();
  comm::broadcast_resized(comm, text);
  if (!comm.is_root()) state = globals_from(nlohmann::json::parse(text));
}

}  // namespace tessera::app
