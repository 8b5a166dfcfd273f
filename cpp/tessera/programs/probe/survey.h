// Measures a machine: inside hosts, between pairs of hosts (Lowekamp and Beguelin 1995, §3), and then several pairs at
// once. This runs on rank 0.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tessera/machine/survey/machine_file.h"
#include "tessera/machine/survey/measurements.h"
#include "tessera/programs/probe/layout.h"
#include "tessera/programs/probe/tasks.h"

namespace tessera::programs::probe {

struct SurveyOptions {
  std::vector<std::int64_t> sizes{1, 1500, 16384, 131072};  // bytes of messages, ascending
  int repeats = 5;                                          // passes over all pairs, of which the least time is kept
  double seconds = 120;                                     // that all of it may take
};

/// Is called now and then with what is under way, how much of it is done of how much in all, and the seconds left for
/// it (negative: unknown).
using Progress = std::function<void(const std::string& what, int done, int all, double left)>;

/// Measures until all is done or the time is over; what was not measured is unknown in the result.
machine::Measurements survey(Crew& crew, const HostLayout& layout, const SurveyOptions& options,
                             const Progress& progress);

/// Measures round trips of a few pairs, one of each class of links first, for about that long. They show whether an old
/// map still holds.
std::vector<machine::SpotCheck> spot_checks(Crew& crew, const HostLayout& layout, const machine::MachineFile& old,
                                            double seconds);

/// Describes the hosts of a job as one machine, by what all nodes have in common.
machine::Machine common_machine(const HostLayout& layout, const std::string& name);

}  // namespace tessera::programs::probe
