#include "tessera/app/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tessera/app/config/schema.h"
#include "tessera/base/error.h"

namespace tessera::app {

namespace {

constexpr const char* magic = "tessera-checkpoint 1";

std::string newest(const std::string& folder) { return folder + "/checkpoint.tck"; }
std::string previous(const std::string& folder) { return folder + "/checkpoint.previous.tck"; }
std::string unplaced(const std::string& folder) { return folder + "/checkpoint.next.tck"; }

// Id, place, velocity, displacement of an atom.
constexpr std::size_t record_bytes = 44;

Checkpoint read_one(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(fmt::format("{} can't be opened", path));
  std::string line, header;
  std::getline(file, line);
  std::getline(file, header);
  if (line != magic) throw InputError(fmt::format("{} is not a checkpoint of this version", path));
  try {
    const auto json = nlohmann::json::parse(header);
    Checkpoint checkpoint;
    checkpoint.step = json.at("step");
    checkpoint.last_search = json.at("last_search");
    checkpoint.trajectory_frames = json.at("trajectory_frames");
    checkpoint.averages = json.at("averages").get<Averages::State>();
    checkpoint.simd = json.at("simd");
    checkpoint.settings = json.at("settings");
    const auto n = json.at("atoms").get<std::size_t>();
    std::vector<char> data(n * record_bytes);
    file.read(data.data(), static_cast<std::streamsize>(data.size()));
    if (static_cast<std::size_t>(file.gcount()) != data.size()) throw InputError(fmt::format("{} is truncated", path));
    const auto sum = io::Checksum().add(comm::bytes_of(header)).add(comm::bytes_of(data)).finish();
    std::string stored(sum.size(), ' ');
    file.read(stored.data(), static_cast<std::streamsize>(stored.size()));
    if (stored != sum) throw InputError(fmt::format("{} is damaged: its checksum does not match", path));
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

namespace {

/// SHA-256 of what the system is: atoms, molecules, parameters; not where its atoms start.
std::string fingerprint(const model::System& system) {
  io::Checksum sum;
  const auto& field = system.force_field;
  sum.add(comm::bytes_of(field.type_lj)).add(comm::bytes_of(field.nbfix)).add(comm::bytes_of(field.bond));
  sum.add(comm::bytes_of(field.angle)).add(comm::bytes_of(field.urey_bradley)).add(comm::bytes_of(field.dihedral));
  sum.add(comm::bytes_of(field.dihedral_rb)).add(comm::bytes_of(field.improper_harmonic));
  sum.add(comm::bytes_of(field.improper_periodic)).add(comm::bytes_of(field.pair_14));
  for (const auto& cmap : field.cmap) sum.add(comm::bytes_of(cmap.energy));
  for (const auto& molecule : system.templates) {
    sum.add(comm::bytes_of(molecule.type)).add(comm::bytes_of(molecule.charge)).add(comm::bytes_of(molecule.mass));
    sum.add(comm::bytes_of(molecule.bond.atoms)).add(comm::bytes_of(molecule.exclusions));
  }
  std::vector<std::int64_t> runs;
  for (const auto& run : system.instances()) runs.insert(runs.end(), {run.first_id, run.count, run.molecule});
  const auto edges = system.lattice.edges();
  return sum.add(comm::bytes_of(runs)).add(comm::bytes_of(edges)).finish();
}

}  // namespace

nlohmann::json bit_settings(const md::EngineSettings& settings, const model::System& system) {
  return {{"input.system (its content)", fingerprint(system)},
          {"interactions.cutoff", settings.pair.cutoff},
          {"interactions.switch", settings.pair.switch_distance},
          {"interactions.lj", static_cast<int>(settings.pair.lj)},
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
    auto& text = key == "pme.alpha" || key == "pme.grid" ? derived : direct;
    text += fmt::format("{}{} was {}, is {}", text.empty() ? "" : "; ", key, text_of(key, before), text_of(key, value));
  }
  return direct.empty() ? derived : direct;  // α and mesh follow from the others
}

CheckpointWriter::CheckpointWriter(const std::string& folder, const Checkpoint& checkpoint, std::int64_t n_atoms)
    : folder_(folder), file_(unplaced(folder)) {
  const nlohmann::json json = {{"step", checkpoint.step},
                               {"last_search", checkpoint.last_search},
                               {"trajectory_frames", checkpoint.trajectory_frames},
                               {"averages", checkpoint.averages},
                               {"simd", checkpoint.simd},
                               {"settings", checkpoint.settings},
                               {"atoms", n_atoms}};
  const std::string header = json.dump();
  file_.append(comm::bytes_of(fmt::format("{}\n{}\n", magic, header)));
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
    if (std::error_code ignored; !std::filesystem::exists(path, ignored)) continue;
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
