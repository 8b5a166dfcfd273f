// Chooses a write method, its writers and buffers from what `tessera io bench` has measured.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "tessera/comm/communicator.h"
#include "tessera/io/write/method.h"
#include "tessera/machine/storage/file_system.h"

namespace tessera::io::write {

struct Choice {
  const Method* method = nullptr;
  WriteOptions options;
  double seconds = 0;  // expected; 0: unknown
  std::string reason;  // one line
};

/// Chooses one of these methods for files in one order: that with the most bytes/s in the measurements with this format
/// and the nearest number of ranks, if that is within a factor of four; else that with the least predicted time; without
/// a file system the first. Methods of several files make at most as many as the file system was measured to bear.
Choice choose(std::span<const Method> methods, const WriteProblem& problem, const Format& format, Order order,
              const machine::FileSystem* system);

/// Returns how many ranks of a job write segments fastest, by the measurement with the nearest number of ranks; where
/// there is none, as many as the file system was measured to bear.
int writers_of_segments(const machine::FileSystem& system, int n_ranks);

/// Returns the file system whose folder holds this absolute path, the innermost one; null where none does.
const machine::FileSystem* file_system_of(std::span<const machine::FileSystem> systems, const std::string& path);

/// Returns what a machine file knows of that file system; nothing where it knows none, or no file is named. Throws
/// InputError as the file's reader does.
std::optional<machine::FileSystem> file_system_of(const std::string& machine_file, const std::string& path);

/// Returns what the root chooses on all ranks: method, writers, batch and buffer. What it throws, all throw.
/// Collective.
Choice agree_on_choice(const comm::Communicator& comm, const std::function<Choice()>& choose_on_root);

}  // namespace tessera::io::write
