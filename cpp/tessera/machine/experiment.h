// What is tried on a network to see which messages wait for each other, and how long it took.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::machine {

/// A stream of messages from one host to another, by index in the list of hosts.
struct Flow {
  int from = 0;
  int to = 0;

  friend auto operator<=>(const Flow&, const Flow&) = default;
};

/// Flows that are sent one by one and then all at once.
struct Experiment {
  std::vector<Flow> flows;
  std::int64_t bytes = 0;        // of each flow
  std::vector<double> alone;     // s, of each flow with nothing else on the network; empty: not yet run
  std::vector<double> together;  // s, of each flow from the common start until its last byte has arrived

  std::int64_t piece = 0;  // bytes of a message; 0: as many as a wire is filled by. Else it is about processors

  bool is_done() const { return !flows.empty() && alone.size() == flows.size() && together.size() == flows.size(); }
  friend bool operator==(const Experiment&, const Experiment&) = default;
};

}  // namespace tessera::machine
