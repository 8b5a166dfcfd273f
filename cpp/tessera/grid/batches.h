// How many fields go together: their faces in one message, their points through the caches one after the other.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::grid {

/// Returns the sizes of batches of `fields` fields. The first has batch / 2^slope of them and each next one twice as
/// many, up to `batch`, so that computing begins early (sloped batching). Source: Kristensen et al. (2011), §5.1.2.
std::vector<std::int64_t> plan_batches(std::int64_t fields, std::int64_t batch, int slope);

}  // namespace tessera::grid
