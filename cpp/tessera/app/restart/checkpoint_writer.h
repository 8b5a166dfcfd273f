// Writing checkpoints: all ranks write and bring to the disk what is theirs, the root alone makes a file valid.
#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "tessera/app/restart/checkpoint_file.h"
#include "tessera/base/files/atomic_file.h"
#include "tessera/comm/communicator.h"
#include "tessera/md/engine.h"

namespace tessera::app {

/// All members are collective.
class CheckpointWriter {
 public:
  /// Keeps a reference to `comm`.
  CheckpointWriter(std::string folder, const comm::Communicator& comm) : folder_(std::move(folder)), comm_(comm) {}

  const std::string& folder() const { return folder_; }

  /// Takes room on the disk for the next checkpoint, where the file system can; what is not used is given back at the
  /// end. Throws RunError where there is not enough.
  void reserve(std::int64_t bytes);

  /// Writes a checkpoint completely or not at all, and keeps the one before. `checkpoint` is used on the root alone.
  /// Throws RunError.
  void write(const Checkpoint& checkpoint, const md::Engine& engine);

 private:
  struct PieceSum {
    std::int64_t piece;  // of all regions
    std::uint64_t sum;
  };
  /// Writes the atoms that are this rank's to write, and returns the checksums of their pieces.
  std::vector<PieceSum> write_atoms(const CheckpointLayout& layout, const std::string& path, const md::Engine& engine,
                                    std::string& problem) const;
  /// Takes room as reserve() does, for the file that was begun, on the root alone.
  void take_room(std::int64_t bytes);
  void finish(const CheckpointLayout& layout, const std::string& header, const std::vector<PieceSum>& own);

  std::string folder_;
  const comm::Communicator& comm_;
  std::optional<AtomicFile> next_;  // on the root
  std::future<void> freeing_;       // the room of the checkpoint that had to go, on the root
};

}  // namespace tessera::app
