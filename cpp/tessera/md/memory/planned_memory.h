// The memory that a rank will need, as a pure function of the plan: of a system that no machine at hand could hold, and
// of 65,536 ranks without any. What depends on where atoms are is what evenly spread atoms would have.
#pragma once

#include <vector>

#include "tessera/md/memory/memory_use.h"
#include "tessera/md/memory/system_contents.h"
#include "tessera/md/plan.h"

namespace tessera::md {

/// Predicts Engine::memory() on a rank that has so many threads. Fields of atoms and external forces are not in it.
/// Ranks that the plan's line puts on one host read the parts of the mesh from each other's memory. Cost: O(ranks).
std::vector<MemoryUse> planned_memory(const SystemContents& system, const EngineSettings& settings, const Plan& plan,
                                      int rank, int threads);

/// Predicts what Forces::device_bytes() of a rank would be with a GPU.
std::int64_t planned_device_bytes(const SystemContents& system, const EngineSettings& settings, const Plan& plan,
                                  int rank);

std::int64_t total_bytes(const std::vector<MemoryUse>& uses);

/// Returns the rank that will need most: of up to 1,024 ranks, of all of them; of more, of at least 16 that are about
/// the largest, within about a tenth. Cost: that of a million pairs of ranks, then O(ranks).
int find_largest_rank(const SystemContents& system, const EngineSettings& settings, const Plan& plan, int threads);

}  // namespace tessera::md
