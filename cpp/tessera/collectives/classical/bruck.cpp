// Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications in multiport
// message-passing systems", 1997: as few rounds as can be, log₂ p of them for any p, at the price of copies and, in
// all-to-all, of each block travelling several times. For small blocks.
#include <bit>

#include "tessera/collectives/classical/build.h"
#include "tessera/collectives/classical/entries.h"

namespace tessera::collectives {
namespace {

bool can(const CollectiveProblem& problem, const machine::Wires&) {
  const auto n = static_cast<std::size_t>(problem.n_ranks);
  switch (problem.operation) {
    case Operation::barrier:
    case Operation::all_gather:
      return true;
    case Operation::all_to_all:
      return n * n * static_cast<std::size_t>(std::bit_width(n)) <= most_messages;
    default:
      return false;
  }
}

void add_packing(MessagePlan& plan, const std::vector<ElementRange>& blocks) {
  for (int rank = 0; rank < static_cast<int>(blocks.size()); ++rank) {
    const auto& [begin, length] = blocks[static_cast<std::size_t>(rank)];
    add(plan, {.from = rank, .to = rank, .target = Buffer::scratch, .begin = begin, .length = length});
  }
}

/// Adds Bruck's all-gather: in scratch every position has first its own block, then those of the following positions
/// that have arrived. In round k it appends what the position 2^k further on has. (With blocks of no bytes this is the
/// dissemination barrier.)
void add_all_gather(MessagePlan& plan, const std::vector<int>& order, const std::vector<ElementRange>& blocks) {
  const auto n = order.size();
  const auto block = [&](std::size_t position) { return blocks[static_cast<std::size_t>(order[position % n])]; };
  std::vector<std::int64_t> before{0};  // elements before a position; twice around
  for (std::size_t v = 0; v < 2 * n; ++v) before.push_back(before.back() + block(v).length);
  plan.scratch = before[n];
  for (std::size_t distance = 1; distance < n; distance *= 2)
    for (std::size_t v = 0; v < n; ++v) {
      const auto far = (v + distance) % n;
      add(plan, {.from = order[far],
                 .to = order[v],
                 .source = Buffer::scratch,
                 .target = Buffer::scratch,
                 .at = before[v + distance] - before[v],
                 .length = before[far + std::min(distance, n - distance)] - before[far]});
    }
}

/// Copies blocks from scratch to their places; blocks that are neighbours in both are copied together.
void add_unpacking(MessagePlan& plan, const std::vector<int>& order, const std::vector<ElementRange>& blocks) {
  const auto n = order.size();
  for (std::size_t v = 0; v < n; ++v) {
    const auto first = blocks[static_cast<std::size_t>(order[v])].length;
    PlannedMessage copy{.from = order[v], .to = order[v], .source = Buffer::scratch, .begin = first};
    for (std::size_t i = 1; i < n; ++i) {
      const auto& block = blocks[static_cast<std::size_t>(order[(v + i) % n])];
      if (copy.length == 0) copy.at = block.begin;
      if (copy.at + copy.length != block.begin) {
        add(plan, copy);
        copy.begin += copy.length;
        copy.at = block.begin;
        copy.length = 0;
      }
      copy.length += block.length;
    }
    add(plan, copy);
  }
}

/// Adds Bruck's all-to-all: the block for the rank i positions further on moves by the binary digits of i, and in round
/// k all blocks whose digit k is set are packed and sent 2^k further on.
void add_all_to_all(MessagePlan& plan, const std::vector<int>& order, std::int64_t length) {
  const auto n = order.size();
  const auto at = [&](std::size_t slot) { return static_cast<std::int64_t>(slot) * length; };
  const auto of_rank = [&](std::size_t position) { return at(static_cast<std::size_t>(order[position % n])); };
  std::vector<std::size_t> place(n);  // where in scratch block i is, once it has moved
  std::size_t used = 0;
  for (std::size_t distance = 1; distance < n; distance *= 2) {
    std::vector<std::size_t> travelling;
    for (std::size_t i = 1; i < n; ++i)
      if ((i & distance) != 0) travelling.push_back(i);
    const auto packed = used, received = used + travelling.size();
    for (std::size_t v = 0; v < n; ++v)
      for (std::size_t j = 0; j < travelling.size(); ++j) {
        const auto i = travelling[j];
        const bool has_moved = (i & (distance - 1)) != 0;
        add(plan, {.from = order[v],
                   .to = order[v],
                   .source = has_moved ? Buffer::scratch : Buffer::input,
                   .target = Buffer::scratch,
                   .begin = has_moved ? at(place[i]) : of_rank(v + i),
                   .at = at(packed + j),
                   .length = length});
      }
    for (std::size_t v = 0; v < n; ++v)
      add(plan, {.from = order[v],
                 .to = order[(v + distance) % n],
                 .source = Buffer::scratch,
                 .target = Buffer::scratch,
                 .begin = at(packed),
                 .at = at(received),
                 .length = at(travelling.size())});
    for (std::size_t j = 0; j < travelling.size(); ++j) place[travelling[j]] = received + j;
    used = received + travelling.size();
  }
  plan.scratch = at(used);
  for (std::size_t v = 0; v < n; ++v)
    for (std::size_t i = 1; i < n; ++i)
      add(plan, {.from = order[v],
                 .to = order[v],
                 .source = Buffer::scratch,
                 .begin = at(place[i]),
                 .at = of_rank(v + n - i),
                 .length = length});
}

MessagePlan plan(const CollectiveProblem& problem, const machine::Wires& wires, const Parameters&) {
  MessagePlan made{"bruck", {}, 0};
  const auto order = topology_order(wires);
  if (problem.operation == Operation::all_to_all) {
    add_all_to_all(made, order, problem.blocks.front());
  } else if (problem.operation == Operation::barrier) {
    add_all_gather(made, order, std::vector<ElementRange>(order.size(), ElementRange{0, 1}));
  } else {
    const auto blocks = blocks_of(problem);
    add_packing(made, blocks);
    add_all_gather(made, order, blocks);
    add_unpacking(made, order, blocks);
  }
  return made;
}

std::vector<Parameters> candidates(const CollectiveProblem&, const machine::Wires&) { return {{}}; }

}  // namespace

const Entry bruck_entry{"bruck", "as few rounds as can be, for small blocks; the dissemination barrier", can, plan,
                        candidates};

}  // namespace tessera::collectives
