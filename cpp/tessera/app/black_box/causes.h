// Why a run blew up, as far as that can be told, and what to try.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/app/black_box/first_trouble.h"

namespace tessera::app {

struct BoxChange {
  double of_an_edge = 0;  // as a fraction
  std::int64_t steps = 0;
};

/// What is known of a failure beside the first atom that was out of order.
struct Circumstances {
  bool is_first_state = false;      // the trouble was in the state that the run began with
  BoxChange change_of_box{};        // in the last steps
  bool is_box_too_small = false;    // which ended the run
  std::string note_of_time_step{};  // of a step that is too long; empty: it is not
};

struct Cause {
  std::string name;    // of the registry in causes.cpp
  std::string advice;  // what to try
};

/// Finds the likeliest cause; that of another kind than those known has a name, too.
Cause find_cause(const std::optional<Trouble>& trouble, const Circumstances& around, const model::System& system);

}  // namespace tessera::app
