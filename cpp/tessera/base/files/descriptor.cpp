#include "tessera/base/files/descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "tessera/base/error.h"

namespace tessera {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw RunError(fmt::format("{}: can't {}: {}", path, what, system_error_text(errno)));
}

/// Returns whether the system gives large pages to those who ask. Without them a request to the disk is of a few
/// hundred pages at most, and direct I/O is slower than through the system's memory.
bool has_large_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string text;
  std::getline(file, text);
  return !text.empty() && text.find("[never]") == std::string::npos;
}

}  // namespace

std::string system_error_text(int error) {
  const char* mend = "";
  switch (error) {
    case ENOSPC:
      mend = "; the disk is full: free some space or choose another folder";
      break;
    case EDQUOT:
      mend = "; your quota is used up: free some space or choose another folder";
      break;
    case EACCES:
    case EPERM:
      mend = "; check the permissions or choose another folder";
      break;
    case EROFS:
      mend = "; choose another folder";
      break;
    case ENOENT:
    case ENOTDIR:
    case EEXIST:
      mend = "; check the path";
      break;
    case ENAMETOOLONG:
      mend = "; choose a shorter name";
      break;
    case ELOOP:
      mend = "; its symbolic links lead in a circle";
      break;
    case EFBIG:
      mend = "; the file system or `ulimit -f` allows no larger file";
      break;
    default:
      break;
  }
  return fmt::format("{}{}", std::strerror(error), mend);
}

std::optional<Descriptor> Descriptor::create_if_absent(const std::string& path, const std::string& shown) {
  const int handle = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (handle < 0 && errno == EEXIST) return std::nullopt;
  if (handle < 0) fail(shown, "make the file");
  Descriptor file(path, handle);
  file.shown_ = shown;
  return file;
}

Descriptor Descriptor::create(const std::string& path) {
  auto file = create_if_absent(path, path);
  if (!file) throw RunError(fmt::format("{}: can't make the file: something has that name; move it away", path));
  return std::move(*file);
}

Descriptor Descriptor::duplicate(const std::string& path, int handle) {
  const int second = ::fcntl(handle, F_DUPFD_CLOEXEC, 0);
  if (second < 0) fail(path, "open the file again");
  return {path, second};
}

std::optional<Descriptor> Descriptor::direct() const {
#ifdef O_DIRECT
  struct stat status {};
  if (::fstat(handle_, &status) != 0) fail(shown(), "look at the file");
  // File systems of the network and those in memory have no device of their own.
  if (major(status.st_dev) == 0 || !has_large_pages()) return std::nullopt;
#ifdef STATX_DIOALIGN
  struct statx more {};
  if (::statx(handle_, "", AT_EMPTY_PATH, STATX_DIOALIGN, &more) == 0 && (more.stx_mask & STATX_DIOALIGN) != 0 &&
      (more.stx_dio_offset_align == 0 || page_bytes % more.stx_dio_offset_align != 0 ||
       page_bytes % more.stx_dio_mem_align != 0))
    return std::nullopt;
#endif
  // By its handle, as its path may name another file by now.
  const int access = ::fcntl(handle_, F_GETFL) & O_ACCMODE;
  const int second = ::open(fmt::format("/proc/self/fd/{}", handle_).c_str(), access | O_DIRECT | O_CLOEXEC);
  if (second < 0) return std::nullopt;
  Descriptor found(path_, second);
  found.shown_ = shown_;
  return found;
#else
  return std::nullopt;
#endif
}

Descriptor Descriptor::open_to_change(const std::string& path, const std::string& shown) {
  const int handle = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (handle < 0) fail(shown.empty() ? path : shown, "open the file for writing");
  Descriptor file(path, handle);
  file.shown_ = shown;
  return file;
}

Descriptor Descriptor::open_to_read(const std::string& path) {
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) throw InputError(fmt::format("{}: can't read the file: {}", path, system_error_text(errno)));
  return {path, handle};
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : path_(std::move(other.path_)), shown_(std::move(other.shown_)), handle_(std::exchange(other.handle_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(shown_, other.shown_);
  std::swap(handle_, other.handle_);
  return *this;
}

Descriptor::~Descriptor() {
  if (handle_ >= 0) ::close(handle_);
}

bool Descriptor::is_in_place() const {
  struct stat ours {
  }, named{};
  if (::fstat(handle_, &ours) != 0) fail(shown(), "look at the file");
  return ::stat(path_.c_str(), &named) == 0 && ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

std::int64_t Descriptor::size() const {
  struct stat status {};
  if (::fstat(handle_, &status) != 0) fail(shown(), "look at the file");
  return status.st_size;
}

std::size_t Descriptor::read_at(void* data, std::size_t bytes, std::int64_t offset) const {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n =
        ::pread(handle_, static_cast<char*>(data) + done, bytes - done, offset + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    // Direct I/O has read up to the end, and refuses to go on from there.
    if (n < 0 && errno == EINVAL && done % page_bytes != 0) break;
    if (n < 0) fail(shown(), "read");
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

std::string Descriptor::read_all() const {
  std::string content(static_cast<std::size_t>(size()), '\0');
  content.resize(read_at(content.data(), content.size(), 0));
  return content;
}

bool Descriptor::is_in_memory(std::int64_t offset, std::int64_t bytes) const {
  const auto length = static_cast<std::size_t>(bytes);
  void* mapped = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, handle_, offset);
  if (mapped == MAP_FAILED) return true;
  // The system says so of each page; to those who may not write the file it says that all are there.
  std::vector<unsigned char> pages(static_cast<std::size_t>(whole_pages(bytes) / page_bytes), 1);
  const bool is_told = ::mincore(mapped, length, pages.data()) == 0;
  ::munmap(mapped, length);
  return !is_told || std::all_of(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; });
}

void Descriptor::write_at(const void* data, std::size_t bytes, std::int64_t offset) const {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n =
        ::pwrite(handle_, static_cast<const char*>(data) + done, bytes - done, offset + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(shown(), "write");
    done += static_cast<std::size_t>(n);
  }
}

void Descriptor::truncate(std::int64_t bytes) const {
  if (::ftruncate(handle_, bytes) != 0) fail(shown(), "cut the file");
}

void Descriptor::reserve(std::int64_t offset, std::int64_t bytes) const {
  // The system's call: where the file system knows none, posix_fallocate would write to every block.
  while (::fallocate(handle_, 0, offset, bytes) != 0) {
    if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) return;
    if (errno != EINTR) fail(shown(), "reserve room");
  }
}

void Descriptor::start_synchronizing(std::int64_t offset, std::int64_t bytes) const {
#ifdef SYNC_FILE_RANGE_WRITE
  ::sync_file_range(handle_, offset, bytes, SYNC_FILE_RANGE_WRITE);  // a hint: synchronize() tells of errors
#else
  (void)offset, (void)bytes;
#endif
}

void Descriptor::synchronize() const {
  // Some file systems know no fsync; what can't be had is not an error.
  if (::fsync(handle_) != 0 && errno != EINVAL && errno != ENOTSUP) fail(shown(), "bring the file to the disk");
}

}  // namespace tessera
