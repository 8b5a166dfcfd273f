// A folder that one process at a time may write into.
#pragma once

#include <string>

namespace tessera::app {

/// Holds the folder until its end, whatever ends the process. Where the file system knows no locks, nothing is held.
class FolderLock {
 public:
  /// Throws InputError, naming host and process, where another one holds the folder.
  explicit FolderLock(const std::string& folder);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

 private:
  std::string path_;
  int handle_ = -1;
};

}  // namespace tessera::app
