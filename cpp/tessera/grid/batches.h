// How many fields go together: their faces in one message, their points through the caches one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/machine/wires.h"

namespace tessera::grid {

/// Returns the sizes of batches of `fields` fields. The first has batch / 2^slope of them and each next one twice as
/// many, up to `batch`, so that computing begins early (sloped batching). Source: Kristensen et al. (2011), §5.1.2.
std::vector<std::int64_t> plan_batches(std::int64_t fields, std::int64_t batch, int slope);

/// What one field sends from one rank to another.
struct Face {
  int from = 0, to = 0;
  double bytes = 0;
};

/// Returns how many fields go into messages whose transfer takes `times` times the latency, on the connection where
/// that needs most fields; at most `most`. Larger batches gain little, and fill caches.
std::int64_t choose_batch(const std::vector<Face>& faces, const machine::Wires& wires, std::int64_t most,
                          double times = 4);

}  // namespace tessera::grid
