#include "tessera/base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "tessera/base/descriptor.h"
#include "tessera/base/error.h"

namespace tessera {

void write_atomically(const std::string& path, const std::function<void(const std::string&)>& write) {
  const std::string temporary = fmt::format("{}.{}.part", path, ::getpid());
  try {
    write(temporary);
    Descriptor::open_to_change(temporary).synchronize();
    if (std::rename(temporary.c_str(), path.c_str()) != 0)
      throw RunError(fmt::format("{}: can't replace the file: {}", path, system_error_text(errno)));
  } catch (...) {
    std::remove(temporary.c_str());
    throw;
  }
  synchronize_folder(std::filesystem::path(path).parent_path().string());
}

void write_atomically(const std::string& path, std::span<const std::byte> content) {
  write_atomically(path, [&](const std::string& temporary) {
    Descriptor::create(temporary).write_at(content.data(), content.size(), 0);
  });
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

void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder.empty() ? "." : folder, error);
  if (error) throw RunError(fmt::format("{}: can't make the folder: {}", folder, system_error_text(error.value())));
}

}  // namespace tessera
