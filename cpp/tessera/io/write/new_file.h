// Files that ranks write together, and that appear whole or not at all.
#pragma once

#include <optional>
#include <string>

#include "tessera/base/files/atomic_file.h"
#include "tessera/base/files/descriptor.h"
#include "tessera/io/write/job.h"

namespace tessera::io::write {

/// A temporary beside the file, made by the root. Without commit() the old file stands. Where a job's bytes are a part
/// of a file that is there, it is that file.
class NewFile {
 public:
  /// Throws on all ranks where no file can be made. Collective.
  explicit NewFile(WriteJob& job);

  const std::string& temporary_path() const { return temporary_; }
  /// Opens the temporary on this rank.
  Descriptor open() const { return Descriptor::open_to_change(temporary_, job_.path()); }
  /// Writes a new file to the disk by something that can synchronize().
  template <class File>
  void synchronize(File& file) const {
    if (!job_.is_part_of_file()) job_.attempt([&] { file.synchronize(); });
  }
  /// Gives the file its name, once all ranks have written their parts to the disk without a failure; else all throw.
  /// Collective.
  void commit();

 private:
  WriteJob& job_;
  std::optional<AtomicFile> file_;  // of the root
  std::string temporary_;
};

/// Writes one file directly (pwrite) on the ranks to which `hand_over`, a member of WriteJob, hands bytes. Collective.
template <void (WriteJob::*hand_over)(const TakeBytes&)>
void write_directly(WriteJob& job) {
  NewFile file(job);
  std::optional<Descriptor> open;
  if (job.mine()) job.attempt([&] { open.emplace(file.open()); });
  (job.*hand_over)([&](std::span<const std::byte> bytes, std::int64_t offset) {
    if (bytes.empty()) return;
    job.attempt([&] {
      open->write_at(bytes.data(), bytes.size(), offset);
      open->start_synchronizing(offset, std::ssize(bytes));
    });
  });
  if (open) file.synchronize(*open);
  file.commit();
}

}  // namespace tessera::io::write
