// Carries out one rank's part of a plan where ranks are threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "tessera/collectives/plan.h"
#include "tessera/comm/communicator.h"

namespace tessera::comm {

/// Combines so many elements with those at `target`, which then holds the result. The operation commutes.
using Combine = std::function<void(const std::byte* elements, std::byte* target, std::int64_t count)>;

/// Carries out one message after the other, in the order of the plan, as sends never wait. `combine` is needed for
/// plans that reduce.
void execute(const collectives::MessagePlan& plan, const Communicator& comm, std::int64_t element_bytes,
             const std::byte* input, std::byte* output, const Combine& combine = {});

}  // namespace tessera::comm
