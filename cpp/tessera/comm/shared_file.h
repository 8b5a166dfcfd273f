// One file that all ranks write to: by MPI-IO where there is an MPI, else by the system's own calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/comm/communicator.h"

namespace tessera::comm {

/// Functions throw RunError naming the file and the reason. Every rank destroys it.
class SharedFile {
 public:
  virtual ~SharedFile() = default;

  /// Writes bytes at a place of the file, by this rank alone.
  virtual void write_at(std::span<const std::byte> data, std::int64_t offset) = 0;
  /// Writes pieces of all ranks at once, which MPI may put together; a rank may have none. At most 2 GiB a rank.
  /// Collective.
  virtual void write_at_all(std::span<const std::byte> data, std::int64_t offset) = 0;
  /// Waits until what this rank has written is on the disk. Collective.
  virtual void synchronize() = 0;
};

/// What an MPI may make use of, by its name in MPI 4.0, section 14.2.8, or in ROMIO. It leaves out what it does not
/// know.
struct Hint {
  std::string name, value;
};

/// Opens an existing file for writing, with the same hints on all ranks. If any rank can't, all throw RunError.
/// Collective.
std::unique_ptr<SharedFile> open_shared_file(const Communicator& comm, const std::string& path,
                                             const std::vector<Hint>& hints = {});

/// Opens the file of backends without MPI, in which each rank writes by pwrite.
std::unique_ptr<SharedFile> open_posix_file(const Communicator& comm, const std::string& path);

}  // namespace tessera::comm
