// `tessera explain`: what a run would do, before it is queued: layout, memory, choices and why, a predicted speed.
#pragma once

#include <string>
#include <vector>

namespace tessera::app {

struct ExplainRequest {
  std::string run_file;
  std::vector<std::string> overrides;  // "section.key=value"
  std::string selections;              // path of a file with the atoms of selections; empty: none
  int ranks = 1;
  int threads = 0;           // 0: as configured
  bool fills_cores = false;  // as many threads as a rank has cores where a map or cores_per_node says, else `threads`
  int cores_per_node = 0;    // of every host; 0: slots of the map where one is given, else this host's
  bool json = false;
  int measured_steps = -1;  // of the short measurement; -1: as many as a second has room for, 10 to 1,000; 0: none
};

/// Returns the text for standard output. Plans for any number of ranks on this one. Throws InputError.
std::string explain(const ExplainRequest& request);

/// Throws InputError where a run of this file on so many ranks would: before any coordinate is read, for launchers.
void check_run(const std::string& run_file, const std::vector<std::string>& overrides, const std::string& selections,
               bool is_restart, int ranks);

/// Returns what `tessera run` must make ready, as JSON: the selections of a run file that the engine does not
/// understand alone, and the files of references. Throws InputError.
std::string list_selections(const std::string& run_file, const std::vector<std::string>& overrides);

}  // namespace tessera::app
