#include "tessera/base/files/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include "tessera/base/error.h"

namespace tessera {

namespace fs = std::filesystem;

namespace {

// Returns what the names of this host's temporaries begin with: ".tessera.HOST.PROCESS.NUMBER.part" is short whatever
// the file is called, and lets anyone on HOST find out whether PROCESS still lives.
std::string temporary_prefix() { return fmt::format(".tessera.{}.", host_name()); }
constexpr std::string_view temporary_ending = ".part";

Descriptor create_temporary(const std::string& place, const std::string& path) {
  for (int number = 0;; ++number)
    if (auto file = Descriptor::create_if_absent(temporary_beside(place, number), path)) return std::move(*file);
}

/// Returns the process that a temporary belongs to, if it is a process of this host.
std::optional<pid_t> process_of(std::string_view name) {
  const auto prefix = temporary_prefix();
  if (!name.starts_with(prefix) || !name.ends_with(temporary_ending)) return std::nullopt;
  name = name.substr(prefix.size(), name.size() - prefix.size() - temporary_ending.size());
  pid_t process = 0;
  int number = 0;
  const char* const end = name.data() + name.size();
  const auto first = std::from_chars(name.data(), end, process);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, number);
  if (second.ec != std::errc() || second.ptr != end || process <= 0) return std::nullopt;
  return process;
}

/// Returns whether a process of this host runs. A process that has ended does not, even where its parent has not yet
/// asked for its status.
bool is_alive(pid_t process) {
  if (::kill(process, 0) != 0) return errno != ESRCH;
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const auto name_end = text.rfind(") ");
  return name_end == std::string::npos || name_end + 2 >= text.size() || text[name_end + 2] != 'Z';
}

/// Returns the place of the content of a file called `path`, which may be a symbolic link. Throws as
/// check_place_of_file.
std::string place_of_file(const std::string& path) {
  const auto refuse = [&](const std::string& reason) { throw InputError(fmt::format("{}: {}", path, reason)); };
  constexpr int most_links = 40;
  std::error_code error;
  fs::path place = path;
  for (int links = 0; fs::is_symlink(fs::symlink_status(place, error)); ++links) {
    if (links == most_links) refuse("its symbolic links lead in a circle; choose another name");
    const auto next = fs::read_symlink(place, error);
    if (error) refuse(fmt::format("can't follow the symbolic link: {}", system_error_text(error.value())));
    place = place.parent_path() / next;
  }
  // "/dev/stdout" is a link to a name that says "pipe", so the kernel is asked, not the name.
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    if (errno != ENOENT) refuse(fmt::format("can't be written: {}", system_error_text(errno)));
  } else if (S_ISDIR(found.st_mode)) {
    refuse("is a folder; choose the name of a file");
  } else if (!S_ISREG(found.st_mode)) {
    refuse("is no regular file but a device, a pipe or the like, which is not replaced; choose another name");
  }
  const auto folder = place.parent_path();
  if (!folder.empty() && !fs::is_directory(folder, error))
    refuse(fmt::format("there is no folder {}; make it, or choose another place", folder.string()));
  return place.string();
}

}  // namespace

std::string temporary_beside(const std::string& place, int number) {
  const auto name = fmt::format("{}{}.{}{}", temporary_prefix(), ::getpid(), number, temporary_ending);
  return (fs::path(place).parent_path() / name).string();
}

AtomicFile::AtomicFile(const std::string& path) : path_(place_of_file(path)), file_(create_temporary(path_, path)) {}

AtomicFile::~AtomicFile() {
  if (is_open_) std::remove(file_.path().c_str());
}

void AtomicFile::append(std::span<const std::byte> content) {
  file_.write_at(content.data(), content.size(), size_);
  size_ += std::ssize(content);
}

void AtomicFile::commit() {
  file_.synchronize();
  place();
  synchronize_folder(fs::path(path_).parent_path().string());
}

void AtomicFile::place() {
  if (std::rename(file_.path().c_str(), path_.c_str()) != 0)
    throw RunError(fmt::format("{}: can't replace the file: {}", path_, system_error_text(errno)));
  is_open_ = false;
}

void write_atomically(const std::string& path, std::span<const std::byte> content) {
  AtomicFile file(path);
  file.append(content);
  file.commit();
}

void write_atomically(const std::string& path, std::string_view text) {
  write_atomically(path, std::as_bytes(std::span(text.data(), text.size())));
}

void synchronize_folder(const std::string& folder) {
  const std::string name = folder.empty() ? "." : folder;
  const int handle = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) throw RunError(fmt::format("{}: can't open the folder: {}", name, system_error_text(errno)));
  ::fsync(handle);  // file systems that can't are left as they are
  ::close(handle);
}

void check_place_of_file(const std::string& path) { place_of_file(path); }

void remove_abandoned_temporaries(const std::string& folder) {
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    const auto process = process_of(entry->path().filename().string());
    if (process && !is_alive(*process) && fs::is_regular_file(entry->symlink_status(ignored)))
      fs::remove(entry->path(), ignored);
    if (ignored) return;
  }
}

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder.empty() ? "." : folder, error);
  if (!error && !folder.empty() && !fs::is_directory(folder, error) && !error)
    error = std::make_error_code(std::errc::not_a_directory);
  if (!error) return;
  const auto message = fmt::format("{}: can't make the folder: {}", folder, system_error_text(error.value()));
  for (const auto name : {std::errc::file_exists, std::errc::not_a_directory, std::errc::filename_too_long,
                          std::errc::too_many_symbolic_link_levels, std::errc::invalid_argument})
    if (error == name) throw InputError(message + "; choose another output folder");
  throw RunError(message);
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "unknown";
}

}  // namespace tessera
