#include "tessera/io/write/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>

#include <cerrno>
#include <filesystem>

#include "tessera/base/error.h"

namespace tessera::io::write {

namespace fs = std::filesystem;

namespace {

/// Makes an empty folder beside `place`.
std::string make_temporary_folder(const std::string& place) {
  for (int number = 0;; ++number) {
    auto path = temporary_beside(place, number);
    std::error_code error;
    if (fs::create_directory(path, error)) return path;
    if (error) throw RunError(fmt::format("{}: can't make the folder: {}", path, system_error_text(error.value())));
  }
}

/// Refuses to replace what was not written by a NewFolder.
void check_place_of_folder(const std::string& place) {
  std::error_code error;
  const auto status = fs::symlink_status(place, error);
  if (!fs::exists(status)) {
    const auto parent = fs::path(place).parent_path();
    if (!parent.empty() && !fs::is_directory(parent, error))
      throw InputError(
          fmt::format("{}: there is no folder {}; make it, or choose another place", place, parent.string()));
    return;
  }
  if (!fs::is_directory(status) || !fs::exists(fs::path(place) / manifest_name, error))
    throw InputError(
        fmt::format("{}: is there and is no folder of pieces, so it is not replaced; choose another name", place));
}

}  // namespace

std::string piece_name(int piece) { return fmt::format("{:05}", piece); }

NewFile::NewFile(WriteJob& job) : job_(job) {
  if (job.is_part_of_file()) {
    temporary_ = job.path();
    return;
  }
  if (job.comm().is_root())
    job.attempt([&] {
      file_.emplace(job.path());
      temporary_ = file_->file().path();
    });
  job.agree();
  comm::broadcast_resized(job.comm(), temporary_);
}

void NewFile::commit() {
  job_.agree();
  if (file_) job_.attempt([&] { file_->commit(); });
  job_.agree();
}

NewFolder::NewFolder(WriteJob& job) : job_(job), place_(job.path()) {
  while (place_.size() > 1 && place_.ends_with('/')) place_.pop_back();
  if (job.comm().is_root())
    job.attempt([&] {
      check_place_of_folder(place_);
      temporary_ = make_temporary_folder(place_);
    });
  try {
    job.agree();
  } catch (...) {
    is_open_ = false;
    throw;
  }
  comm::broadcast_resized(job.comm(), temporary_);
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (is_open_ && job_.comm().is_root()) fs::remove_all(temporary_, ignored);
}

Descriptor NewFolder::create(int piece) const {
  return Descriptor::create((fs::path(temporary_) / piece_name(piece)).string());
}

void NewFolder::commit(const std::string& manifest) {
  job_.agree();
  if (job_.comm().is_root())
    job_.attempt([&] {
      write_atomically((fs::path(temporary_) / manifest_name).string(), manifest);
      synchronize_folder(temporary_);
      std::error_code ignored;
      const bool is_there = fs::exists(place_, ignored);
      bool is_done = false;
#ifdef RENAME_EXCHANGE
      if (is_there) is_done = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, place_.c_str(), RENAME_EXCHANGE) == 0;
#endif
      if (is_there && !is_done) {  // a file system without it: for a moment there is no folder of this name
        const auto old = make_temporary_folder(place_);
        if (::rename(place_.c_str(), old.c_str()) != 0 || ::rename(temporary_.c_str(), place_.c_str()) != 0)
          throw RunError(fmt::format("{}: can't replace the folder: {}", place_, system_error_text(errno)));
        temporary_ = old;
      } else if (!is_there && ::rename(temporary_.c_str(), place_.c_str()) != 0) {
        throw RunError(fmt::format("{}: can't name the folder: {}", place_, system_error_text(errno)));
      }
      is_open_ = false;
      synchronize_folder(fs::path(place_).parent_path().string());
      if (is_there) fs::remove_all(temporary_, ignored);
    });
  job_.agree();
  is_open_ = false;
}

}  // namespace tessera::io::write
