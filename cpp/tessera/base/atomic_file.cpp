#include "tessera/base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "tessera/base/error.h"

namespace tessera {

namespace {

std::string temporary_beside(const std::string& path) { return fmt::format("{}.{}.part", path, ::getpid()); }

void replace(const std::string& path, const std::string& temporary) {
  if (std::rename(temporary.c_str(), path.c_str()) != 0)
    throw RunError(fmt::format("{}: can't replace the file: {}", path, system_error_text(errno)));
  synchronize_folder(std::filesystem::path(path).parent_path().string());
}

}  // namespace

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)), temporary_(temporary_beside(path_)), file_(Descriptor::create(temporary_)) {}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) std::remove(temporary_.c_str());
}

void AtomicFile::append(std::span<const std::byte> content) {
  file_.write_at(content.data(), content.size(), size_);
  size_ += std::ssize(content);
}

void AtomicFile::commit() {
  file_.synchronize();
  replace(path_, temporary_);
  temporary_.clear();
}

void write_atomically(const std::string& path, const std::function<void(const std::string&)>& write) {
  const std::string temporary = temporary_beside(path);
  try {
    write(temporary);
    Descriptor::open_to_change(temporary).synchronize();
    replace(path, temporary);
  } catch (...) {
    std::remove(temporary.c_str());
    throw;
  }
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

void check_place_of_file(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored))
    throw InputError(fmt::format("{}: there is no folder {}; make it, or choose another place", path, folder.string()));
  if (std::filesystem::is_directory(path, ignored))
    throw InputError(fmt::format("{}: is a folder; choose the name of a file", path));
}

void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder.empty() ? "." : folder, error);
  if (!error) return;
  const auto text = fmt::format("{}: can't make the folder: {}", folder, system_error_text(error.value()));
  for (const auto name : {std::errc::file_exists, std::errc::not_a_directory, std::errc::filename_too_long,
                          std::errc::too_many_symbolic_link_levels, std::errc::invalid_argument})
    if (error == name) throw InputError(text);
  throw RunError(text);
}

}  // namespace tessera
