// The folder that a run writes into: one run at a time writes into it, and no file of an earlier run is lost.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/app/output/folder_lock.h"

namespace tessera::app {

/// What a run that blew up leaves (app/black_box).
inline constexpr std::string_view black_box_folder = "black_box";

/// What a run writes, by its name in output.folder, beside the trajectories *.segments.
inline constexpr std::string_view files_of_a_run[] = {
    "energy.csv",         "trajectory.dcd", "trajectory.h5md",     "trajectory.xtc",
    "trajectory.history", "checkpoint.tck", "checkpoint.next.tck", "checkpoint.previous.tck",
    "report.json",        "settings.toml",  "selections.json",     "status.json",
    "failure.json",       black_box_folder};

/// Returns the message where a file was removed or replaced by others while the run wrote to it.
std::string text_of_lost_file(const std::string& path, std::int64_t step_of_checkpoint);

/// Throws InputError where a folder holds the files of a run.
void refuse_earlier_run(const std::string& path);

/// Only the root rank has one.
class OutputFolder {
 public:
  enum class Start { new_run, overwrite, restart };
  /// How long a restart waits for the run before it, whose ranks may take a moment to end where one of them was killed.
  static constexpr double patience_of_restart = 5;  // s

  /// Makes the folder and locks it until the end. Throws InputError where another run writes into it, or where it holds
  /// an earlier run's files and this is a new run; RunError where it can't be written to. Leaves those files as they
  /// are.
  OutputFolder(const std::string& path, Start start);

  /// Moves what an earlier run left into previous-1, or the first such name that is free. Throws RunError.
  void move_earlier_run_away() const;

 private:
  std::string path_;
  FolderLock lock_;
};

}  // namespace tessera::app
