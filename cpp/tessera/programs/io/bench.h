// Times write methods side by side, in turn, with a writer that does nothing but write.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tessera/comm/communicator.h"

namespace tessera::programs {

struct BenchRequest {
  std::string folder;  // which exists
  std::int64_t atoms = 1'000'000;
  std::vector<std::string> candidates;  // candidates.h
  std::vector<std::string> formats{"text", "binary", "xdr", "netcdf"};
  std::string order = "sorted";  // or "owned"
  int repeats = 3;
  int files = 64;  // at most, in the measurement of many files at once; 0: none
};

/// Returns {library, ranks, hosts, raw: {bytes, seconds: […]}, files: [{files, seconds: […]}], left_out: {candidate:
/// why}, trials: [{candidate, method, format, order, writers, files, batch, buffer, bytes, seconds: […]}]} on the root.
/// Times are those of the slowest rank until all is on the disk. Nothing is left in the folder. Throws InputError and
/// RunError, the same on all ranks. Collective.
nlohmann::json bench(const BenchRequest& request, const comm::Communicator& comm);

struct FileRequest {
  std::string path;
  std::int64_t atoms = 1'000'000;
  std::string candidate = "pdaw", format = "text", order = "sorted";
};

/// Writes the configuration of a bench to a file or folder, which stays. Returns {bytes, writers, files}. Collective.
nlohmann::json write_file(const FileRequest& request, const comm::Communicator& comm);

}  // namespace tessera::programs
