// A folder that one process at a time may write into.
#pragma once

#include <string>

namespace tessera::app {

/// Locks the folder until the process ends, however it ends. Locks nothing where the file system has no locks.
class FolderLock {
 public:
  /// Throws InputError that names host and process where another process has locked the folder, and still has so many
  /// seconds later.
  explicit FolderLock(const std::string& folder, double patience = 0);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

 private:
  std::string path_;
  int handle_ = -1;
};

}  // namespace tessera::app
