// Describes an experiment that shows which messages delay each other, and its results.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::machine {

/// Describes a stream of messages from one host to another, by index in the list of hosts.
struct Flow {
  int from = 0;
  int to = 0;

  friend auto operator<=>(const Flow&, const Flow&) = default;
};

/// Describes flows that are sent one by one and then all at once.
struct Experiment {
  std::vector<Flow> flows;
  std::int64_t bytes = 0;        // per flow
  std::vector<double> alone;     // s, of each flow with nothing else on the network; empty: not run yet
  std::vector<double> together;  // s, of each flow, from the common start to the arrival of its last byte

  std::int64_t piece = 0;  // bytes per message, to measure processors; 0: as many as fill a wire

  bool is_done() const { return !flows.empty() && alone.size() == flows.size() && together.size() == flows.size(); }
  friend bool operator==(const Experiment&, const Experiment&) = default;
};

}  // namespace tessera::machine
