// What writing to a file system takes, as `tessera io bench` has measured it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tessera::machine {

/// One configuration, written by a method of `io`.
struct WriteTrial {
  std::string method, format;
  std::string order;  // of the atoms in the file: "sorted" or "owned"
  int n_ranks = 1, n_hosts = 1;
  int n_writers = 1, n_files = 1;
  std::int64_t batch = 0;   // atoms that a writer collects at a time
  std::int64_t buffer = 0;  // bytes of a write
  std::int64_t bytes = 0;   // of all files
  double seconds = 0;       // median, until all is on the disk

  friend bool operator==(const WriteTrial&, const WriteTrial&) = default;
};

struct FileSystem {
  std::string folder;       // in which was measured, absolute
  std::string kind;         // "ext4", "lustre" …
  double raw = 0;           // bytes/s of one writer with large buffers, until all is on the disk
  double file_seconds = 0;  // that one more file takes
  int most_files = 1;       // that are written at once in no more time than fewer
  std::vector<WriteTrial> trials;

  friend bool operator==(const FileSystem&, const FileSystem&) = default;
};

nlohmann::json to_json(const FileSystem& system);
/// Throws InputError that names the member, what was found and what was expected; `where` stands for the object.
FileSystem file_system_from_json(const nlohmann::json& json, const std::string& where);

}  // namespace tessera::machine
