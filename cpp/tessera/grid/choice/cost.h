// Predicts how long a stencil takes on many distributed fields by each approach (operator.h): a walk through the
// batches with the times of one field. Without packing, and where messages always progress, the walk's waiting is the
// formula of Kristensen et al. (2011), Figure 5.2, with the count of remaining batches that follows from its text, t/b
// − 2 + 2⁻ⁿ (at least 0; a last batch may be smaller). Costs are pure and are tested without MPI.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::grid {

/// The exchange of the halos of n fields takes starting + latency + n · transfer.
struct ExchangeCost {
  double latency = 0;   // s
  double transfer = 0;  // s a field
  double starting = 0;  // s of a thread's own time for its messages
};

/// What a field costs a rank.
struct FieldCost {
  double computing = 0;                    // s, of one thread
  double packing = 0;                      // s, of one thread: half of it puts faces into messages, half takes them out
  ExchangeCost at_once;                    // all faces together
  std::vector<ExchangeCost> by_direction;  // the same faces, one direction after the other
  double synchronising = 0;  // s until all threads of a rank have met: before and after they share packing or computing
  double overlap = 1;        // for each second of computing or packing, s by which messages under way progress, 0 … 1
};

/// Seconds of a rank (of its busiest thread) for all fields.
struct Prediction {
  double computing = 0, packing = 0, starting = 0, waiting = 0, synchronising = 0;

  double seconds() const { return computing + packing + starting + waiting + synchronising; }
};

/// How the work of an approach is divided and ordered.
struct ApproachModel {
  std::string_view name;
  bool is_double_buffered;  // else one field after the other, one direction after the other
  bool threads_own_fields;  // and send their faces; else one thread communicates, and all compute each field together
};

const std::vector<ApproachModel>& approach_models();
/// Throws InputError, which lists the names, if there is no such entry.
const ApproachModel& find_model(std::string_view name);

/// Predicts the time of `fields` fields on a rank with so many threads. Batches are those of plan_batches (batches.h),
/// of a thread's own fields where threads own fields; then the messages of all threads share the links. Approaches that
/// are not double-buffered have no batches.
Prediction predict(const ApproachModel& approach, const FieldCost& cost, std::int64_t fields, int threads,
                   std::int64_t batch, int slope);

/// A batch and a slope that are given.
struct Batching {
  std::optional<std::int64_t> batch;
  std::optional<int> slope;
};

/// An approach with the batch and the slope of least predicted time.
struct Choice {
  std::string approach;
  std::int64_t batch = 1;
  int slope = 0;
  Prediction predicted;
};

/// Batches are at most so large, because faces of more fields fill the caches and gain nothing.
inline constexpr std::int64_t most_batch = 64;

/// Times that differ by less are taken to be equal: no prediction is more exact.
inline constexpr double alike_times = 0.02;

/// Returns the best batch and slope of an approach, unless they are given; of equal ones the smaller batch and slope.
/// Cost: fields · (a few dozen operations).
Choice choose_batches(const ApproachModel& approach, const FieldCost& cost, std::int64_t fields, int threads,
                      const Batching& given = {});

}  // namespace tessera::grid
