// `tessera explain`: what a run would do, before it is queued: layout, memory, choices and why, a predicted speed.
#pragma once

#include <string>
#include <vector>

namespace tessera::app {

struct ExplainRequest {
  std::string run_file;
  std::vector<std::string> overrides;  // "section.key=value"
  int ranks = 1;
  int threads = 0;  // 0: as configured
  bool json = false;
  int measured_steps = 10;  // of the short measurement; 0: none
};

/// The text for standard output. Plans for any number of ranks on this one. Throws InputError.
std::string explain(const ExplainRequest& request);

}  // namespace tessera::app
