// Replacing a file so that its name always holds either the whole old content or the whole new one, even if the machine
// stops in the middle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tessera/base/files/descriptor.h"

namespace tessera {

/// Writes to a temporary beside `path`, brings it and the folder to the disk, renames it. A symbolic link stays: what
/// it points to is replaced. Throws RunError (full disk, unwritable folder …), InputError as check_place_of_file does;
/// the old file then stands and the temporary is gone.
void write_atomically(const std::string& path, std::span<const std::byte> content);
void write_atomically(const std::string& path, std::string_view text);

/// The same piece by piece. Without commit() the old file stands.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void append(std::span<const std::byte> content);
  /// Returns the temporary, for a caller that writes at places of its own, perhaps with others by the path, who must
  /// have brought what they wrote to the disk before commit().
  const Descriptor& file() const { return file_; }
  void commit();
  /// Renames only, for a caller that brings the file and its folder to the disk itself.
  void place();

 private:
  std::string path_;
  Descriptor file_;
  bool is_open_ = true;  // neither committed nor given up
  std::int64_t size_ = 0;
};

/// Throws InputError where no file can be made or replaced at `path`: its folder is not there, or a folder, a device or
/// a pipe has the name. For files that are written only after long work.
void check_place_of_file(const std::string& path);

/// Returns the path beside `place` of temporary `number` of this process.
std::string temporary_beside(const std::string& place, int number);

/// Removes the temporaries in a folder that processes of this host left behind when they were killed.
void remove_abandoned_temporaries(const std::string& folder);

/// Writes a folder's entries (new names, renames) to the disk.
void synchronize_folder(const std::string& folder);

/// Makes a folder and the ones above it. Throws InputError where the path can't be one (a file is in the way, links in
/// a circle, too long a name), RunError where the system refuses it.
void make_folder(const std::string& folder);

/// Returns the name that the system has for this host, or "unknown".
std::string host_name();

}  // namespace tessera
