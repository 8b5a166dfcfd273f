// The order in which a machine is measured: inside hosts, between pairs of hosts (paper 002, §3), then what happens
// when several pairs talk at once. Runs on rank 0.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tessera/comm/probe/layout.h"
#include "tessera/comm/probe/tasks.h"
#include "tessera/machine/survey/machine_file.h"
#include "tessera/machine/survey/measurements.h"

namespace tessera::comm::probe {

struct SurveyOptions {
  std::vector<std::int64_t> sizes{1, 1500, 16384, 131072};  // bytes of messages, ascending
  int repeats = 5;                                          // passes over all pairs, of which the least time is kept
  double seconds = 120;                                     // that all of it may take
};

/// Told now and then: what is under way, how much of how much of it is done, and seconds left for it (negative:
/// unknown).
using Progress = std::function<void(const std::string& what, int done, int all, double left)>;

/// Measures until done or until the time is up; what was not measured is unknown in the result.
machine::Measurements survey(Crew& crew, const Layout& layout, const SurveyOptions& options, const Progress& progress);

/// Round trips of a few pairs, one of each class of links first, for about that long: what gives an old map away.
std::vector<machine::SpotCheck> spot_checks(Crew& crew, const Layout& layout, const machine::MachineFile& old,
                                            double seconds);

/// The hosts of a job as one machine: what all nodes have in common.
machine::Machine common_machine(const Layout& layout, const std::string& name);

}  // namespace tessera::comm::probe
