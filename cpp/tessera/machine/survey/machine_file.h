// Reads and writes the machine file: the Machine with its network, the measurements from which the network was derived,
// trials, and what writing to file systems takes. The format is JSON; the schema is docs/reference/machine_file.md.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tessera/machine/machine.h"
#include "tessera/machine/storage/file_system.h"
#include "tessera/machine/survey/measurements.h"
#include "tessera/machine/survey/trial.h"

namespace tessera::machine {

struct MachineFile {
  Machine machine;
  std::optional<Measurements> measurements;
  std::vector<Trial> trials;
  std::vector<FileSystem> file_systems;
  std::vector<MessageOverlap> overlaps;
};

nlohmann::json to_json(const Measurements& measurements);
/// Throws InputError that names `name`, the member, what was found and what was expected.
Measurements measurements_from_json(const nlohmann::json& json, const std::string& name);

/// Returns the text of a machine file, one line per pair of hosts. Write it with AtomicFile.
std::string machine_file_text(const MachineFile& file);
/// Throws InputError if the text is not JSON (with line and column), is truncated, has another format or version, or
/// has invalid members. `name` stands for the file in messages.
MachineFile machine_file_from_text(const std::string& text, const std::string& name);
MachineFile read_machine_file(const std::filesystem::path& path);
/// Reads the network alone. Throws InputError also if the file has none.
Network read_network(const std::filesystem::path& path);
/// Returns the network of a machine file that was read from `path`. Throws InputError where it has none.
const Network& network_of(const MachineFile& file, const std::filesystem::path& path);
/// Returns the trials of one MPI library.
std::vector<Trial> trials_of(MachineFile file, const std::string& library);

}  // namespace tessera::machine
