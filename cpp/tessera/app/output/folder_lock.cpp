// flock(2) on the file ".lock", which names the process that has locked it. The system releases the lock when the
// process ends, however it ends, and NFS forwards the lock to its server.
#include "tessera/app/output/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

#include "tessera/base/error.h"
#include "tessera/base/files/atomic_file.h"

namespace tessera::app {

namespace {

/// Returns " (process 4711 on node3)", or nothing where the file does not say.
std::string holder(int handle) {
  std::array<char, 400> text{};
  const auto n = ::pread(handle, text.data(), text.size(), 0);
  const std::string line(text.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  return line.ends_with('\n') ? fmt::format(" ({})", line.substr(0, line.find('\n'))) : "";
}

/// Returns whether the open file still has its name: the process before removes it when it ends, perhaps after we
/// opened it.
bool is_named(int handle, const std::string& path) {
  struct stat ours {
  }, named{};
  return ::fstat(handle, &ours) == 0 && ::stat(path.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
         ours.st_dev == named.st_dev;
}

}  // namespace

FolderLock::FolderLock(const std::string& folder, double patience) : path_(folder + "/.lock") {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    handle_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (handle_ < 0) throw RunError(fmt::format("{}: can't make the file: {}", path_, system_error_text(errno)));
    if (::flock(handle_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return;
      const auto who = holder(handle_);
      ::close(handle_);
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
      if (waited.count() < patience) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        continue;
      }
      throw InputError(fmt::format(
          "another run writes into {}{}: wait for its end, stop it, or choose another output.folder", folder, who));
    }
    if (is_named(handle_, path_)) break;
    ::close(handle_);
  }
  const auto text = fmt::format("process {} on {}\n", ::getpid(), host_name());
  if (::ftruncate(handle_, 0) != 0 || ::pwrite(handle_, text.data(), text.size(), 0) < 0) {
    // The folder is locked even where the name of the process can't be written.
  }
}

FolderLock::~FolderLock() {
  if (is_named(handle_, path_)) ::unlink(path_.c_str());
  ::close(handle_);
}

}  // namespace tessera::app
