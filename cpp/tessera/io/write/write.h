// Writes one configuration that is distributed over ranks, by a method of the registry.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tessera/comm/communicator.h"
#include "tessera/io/write/format.h"
#include "tessera/io/write/method.h"

namespace tessera::io::write {

struct WriteReport {
  std::int64_t bytes = 0;
  int n_writers = 0, n_files = 0;
};

/// Writes a file, or a folder of pieces where the method makes one, at `path`; it appears whole or not at all.
/// `atoms` are this rank's, in any order. Sorted atoms are numbered 1, 2, … over all ranks, once each. Throws, the same
/// on all ranks, InputError for atoms, options or a path that can't be, RunError where the system refuses (a full
/// disk): what was at `path` then stands and nothing else is left. Collective.
WriteReport write_frame(const comm::Communicator& comm, const std::string& path, const Frame& frame, const Atoms& atoms,
                        const Format& format, const Method& method, const WriteOptions& options);

/// Returns why a method can't write a format with these options; empty where it can.
std::string problem_with_options(const Format& format, const Method& method, const WriteOptions& options);

/// Returns the problem that these ranks have together. Collective.
WriteProblem problem_of(const comm::Communicator& comm, const Frame& frame, std::int64_t n_own, const Format& format);

}  // namespace tessera::io::write
