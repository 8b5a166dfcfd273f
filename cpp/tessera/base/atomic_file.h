// Replacing a file so that its name always holds either the whole old content or the whole new one, even if the machine
// stops in the middle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "tessera/base/descriptor.h"

namespace tessera {

/// Writes to a temporary beside `path`, brings it and the folder to the disk, renames it.
/// Throws RunError (full disk, unwritable folder …); the old file then stands and the temporary is gone.
void write_atomically(const std::string& path, std::span<const std::byte> content);
void write_atomically(const std::string& path, std::string_view text);

/// The same piece by piece. Without commit() the old file stands.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void append(std::span<const std::byte> content);
  void commit();

 private:
  std::string path_, temporary_;
  Descriptor file_;
  std::int64_t size_ = 0;
};

/// The same where another library writes: `write(temporary)` makes the file of that name.
void write_atomically(const std::string& path, const std::function<void(const std::string& temporary)>& write);

/// For what is written only after long work. Throws InputError where no file can be made at `path`: its folder is not
/// there, or it is a folder itself.
void check_place_of_file(const std::string& path);

/// Brings a folder's entries (new names, renames) to the disk.
void synchronize_folder(const std::string& folder);

/// Makes a folder and the ones above it. Throws InputError where no folder can be called so, else RunError.
void make_folder(const std::string& folder);

}  // namespace tessera
