#include "tessera/app/output/folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/files/atomic_file.h"

namespace tessera::app {

namespace fs = std::filesystem;

namespace {

/// Returns whether something has this name: a link counts too, wherever it leads.
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

/// Returns the names that are there of what a run writes.
std::vector<std::string> names_of_a_run(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto name : files_of_a_run)
    if (is_there(fs::path(folder) / name)) names.emplace_back(name);
  std::error_code ignored;
  for (fs::directory_iterator one(folder, ignored), end; !ignored && one != end; one.increment(ignored))
    if (one->path().extension() == ".segments") names.push_back(one->path().filename().string());
  return names;
}

std::string made_and_writable(const std::string& path) {
  make_folder(path);
  if (access(path.c_str(), W_OK | X_OK) != 0)
    throw RunError(fmt::format("{} can't be written to: {}; choose another output.folder or mend its permissions", path,
                               system_error_text(errno)));
  return path;
}

}  // namespace

std::string text_of_lost_file(const std::string& path, std::int64_t step_of_checkpoint) {
  return fmt::format(
      "{} was removed or replaced while the run wrote to it, so what it held is lost; the checkpoint of step {} is "
      "whole: put the file back and go on from it (--restart, in Python restore)",
      path, step_of_checkpoint);
}

void refuse_earlier_run(const std::string& path) {
  for (const auto& name : names_of_a_run(path))
    if (name != "settings.toml" && name != black_box_folder)  // a run that failed in its first steps leaves no other
      throw InputError(
          fmt::format("{} already holds a run ({}): choose another output.folder, set output.overwrite = true, or "
                      "go on from its checkpoint (--restart, in Python restore)",
                      path, name));
}

OutputFolder::OutputFolder(const std::string& path, Start start)
    : path_(made_and_writable(path)), lock_(path_, start == Start::restart ? patience_of_restart : 0) {
  if (start == Start::new_run) refuse_earlier_run(path_);
  remove_abandoned_temporaries(path_);
}

void OutputFolder::move_earlier_run_away() const {
  fs::path away;
  for (const auto& name : names_of_a_run(path_)) {
    const auto file = fs::path(path_) / name;
    for (int number = 1; away.empty(); ++number)
      if (const auto free = fs::path(path_) / fmt::format("previous-{}", number); !is_there(free)) {
        make_folder(free.string());
        away = free;
      }
    std::error_code error;
    fs::rename(file, away / name, error);
    if (error)
      throw RunError(
          fmt::format("{} can't be moved to {}: {}", file.string(), away.string(), system_error_text(error.value())));
  }
  if (!away.empty()) synchronize_folder(path_);
}

}  // namespace tessera::app
