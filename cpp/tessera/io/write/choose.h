// Chooses a write method, its writers and buffers from what `tessera io bench` has measured.
#pragma once

#include <span>
#include <string>

#include "tessera/io/write/method.h"
#include "tessera/machine/storage/file_system.h"

namespace tessera::io::write {

struct Choice {
  const Method* method = nullptr;
  WriteOptions options;
  double seconds = 0;  // expected; 0: unknown
  std::string reason;  // one line
};

/// Chooses for files in one order: the method with the most bytes/s in the measurements with this format and the
/// nearest number of ranks, if that is within a factor of four; else that with the least predicted time; without a file
/// system segments. Methods of several files make at most as many as the file system was measured to bear. With
/// `one_file`, methods that make a folder are left out.
Choice choose(const WriteProblem& problem, const Format& format, Order order, const machine::FileSystem* system,
              bool one_file = false);

/// Returns how many ranks of a job write segments fastest, by the measurement with the nearest number of ranks; where
/// there is none, as many as the file system was measured to bear.
int writers_of_segments(const machine::FileSystem& system, int n_ranks);

/// Returns the file system whose folder holds this absolute path, the innermost one; null where none does.
const machine::FileSystem* file_system_of(std::span<const machine::FileSystem> systems, const std::string& path);

}  // namespace tessera::io::write
