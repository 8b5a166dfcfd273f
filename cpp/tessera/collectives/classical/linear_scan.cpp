// Scan as a chain in rank order: each rank combines its own contribution with what comes from the rank before and sends
// the result to the next. Segments follow each other through the chain.
#include "tessera/collectives/classical/build.h"
#include "tessera/collectives/classical/entries.h"

namespace tessera::collectives {
namespace {

bool can(const CollectiveProblem& problem, const machine::Wires&) {
  return problem.operation == Operation::scan || problem.operation == Operation::exscan;
}

void add_scan(MessagePlan& plan, int n_ranks, const ElementRange& range) {
  for (int rank = 0; rank + 1 < n_ranks; ++rank) send(plan, rank, rank + 1, range, Effect::combine_left);
}

/// Adds an exclusive scan. What a rank receives is its result, so what it sends to the next rank is computed in
/// scratch.
void add_exscan(MessagePlan& plan, int n_ranks, const ElementRange& range) {
  PlannedMessage message{.begin = range.begin, .at = range.begin, .length = range.length};
  message.target = Buffer::scratch;
  for (int rank = 1; rank + 1 < n_ranks; ++rank) {
    message.from = message.to = rank;
    add(plan, message);
  }
  if (n_ranks > 1) send(plan, 0, 1, range, Effect::replace);
  message.effect = Effect::combine_left;
  for (int rank = 1; rank + 1 < n_ranks; ++rank) {
    message.from = message.to = rank;
    add(plan, message);
    add(plan, {.from = rank,
               .to = rank + 1,
               .source = Buffer::scratch,
               .begin = range.begin,
               .at = range.begin,
               .length = range.length});
  }
}

MessagePlan plan(const CollectiveProblem& problem, const machine::Wires&, const Parameters& parameters) {
  MessagePlan made{describe("linear_scan", {segment_text(parameters)}), {}, 0};
  const bool is_inclusive = problem.operation == Operation::scan;
  if (!is_inclusive && problem.n_ranks > 2) made.scratch = whole(problem).length;
  for (const auto& segment : segments(problem, parameters))
    (is_inclusive ? add_scan : add_exscan)(made, problem.n_ranks, segment);
  return made;
}

std::vector<Parameters> candidates(const CollectiveProblem& problem, const machine::Wires&) {
  return with_segments(problem, {});
}

}  // namespace

const Entry linear_scan_entry{"linear_scan", "scans as a pipelined chain in rank order", can, plan, candidates};

}  // namespace tessera::collectives
