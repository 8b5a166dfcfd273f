#include "tessera/collectives/classical/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::collectives {

TooManyMessages::TooManyMessages(const std::string& entry)
    : std::length_error(fmt::format("{} would need more than {} messages", entry, most_messages)) {}

void add(MessagePlan& plan, const PlannedMessage& message) {
  if (message.length == 0) return;
  if (plan.messages.size() >= most_messages) throw TooManyMessages(plan.entry);
  plan.messages.push_back(message);
}

void send(MessagePlan& plan, int from, int to, const ElementRange& range, Effect effect) {
  add(plan,
      {.from = from, .to = to, .effect = effect, .begin = range.begin, .at = range.begin, .length = range.length});
}

void send(MessagePlan& plan, int from, int to, const std::vector<ElementRange>& ranges, Effect effect) {
  for (const auto& range : ranges) send(plan, from, to, range, effect);
}

Effect combine(const CollectiveProblem& problem, int from, int to) {
  if (!problem.reduces()) return Effect::replace;
  return from < to ? Effect::combine_left : Effect::combine_right;
}

bool keeps_rank_order(const CollectiveProblem& problem) { return problem.reduces() && !problem.commutative; }

bool has_root(Operation operation) {
  return operation == Operation::broadcast || operation == Operation::reduce || operation == Operation::scatter ||
         operation == Operation::gather;
}

int root_of(const CollectiveProblem& problem, const machine::Wires& wires) {
  if (has_root(problem.operation)) return problem.root;
  return central_rank(wires, static_cast<double>(whole(problem).length * problem.element_bytes));
}

ElementRange whole(const CollectiveProblem& problem) {
  if (problem.operation == Operation::barrier) return {0, 1};
  return {0, problem.offsets().back()};
}

std::vector<ElementRange> segments(const CollectiveProblem& problem, const Parameters& parameters) {
  const auto all = whole(problem);
  std::int64_t step = std::max<std::int64_t>(all.length, 1);
  if (parameters.segment > 0 && problem.element_bytes > 0)
    step = std::max<std::int64_t>(1, parameters.segment / problem.element_bytes);
  std::vector<ElementRange> pieces;
  for (auto begin = all.begin; begin < all.end(); begin += step)
    pieces.push_back({begin, std::min(step, all.end() - begin)});
  return pieces;
}

std::vector<ElementRange> pieces(const ElementRange& range, std::int64_t element_bytes, std::int64_t segment,
                                 std::int64_t multiple) {
  if (range.length == 0) return {};
  std::int64_t n = 1;
  if (segment > 0 && element_bytes > 0) n = (range.length * element_bytes + segment - 1) / segment;
  if (n > multiple / 2) n = (n + multiple - 1) / multiple * multiple;
  n = std::min(n, range.length);
  std::vector<ElementRange> found;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto first = range.length * i / n;
    found.push_back({range.begin + first, range.length * (i + 1) / n - first});
  }
  return found;
}

std::vector<ElementRange> blocks_of(const CollectiveProblem& problem) {
  const auto offsets = problem.offsets();
  std::vector<ElementRange> blocks;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) blocks.push_back({offsets[i], offsets[i + 1] - offsets[i]});
  return blocks;
}

std::vector<ElementRange> split(const CollectiveProblem& problem, const std::vector<int>& owners) {
  const auto all = whole(problem);
  const auto n = static_cast<std::int64_t>(owners.size());
  // The first `longer` parts have one element more; products such as length * i could overflow.
  const auto part = all.length / n, longer = all.length % n;
  std::vector<ElementRange> parts(static_cast<std::size_t>(problem.n_ranks));
  auto begin = all.begin;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto length = part + (i < longer ? 1 : 0);
    parts[static_cast<std::size_t>(owners[static_cast<std::size_t>(i)])] = {begin, length};
    begin += length;
  }
  return parts;
}

std::vector<ElementRange> runs(std::vector<ElementRange> ranges) {
  std::erase_if(ranges, [](const ElementRange& range) { return range.length == 0; });
  std::sort(ranges.begin(), ranges.end(),
            [](const ElementRange& a, const ElementRange& b) { return a.begin < b.begin; });
  std::vector<ElementRange> merged;
  for (const auto& range : ranges) {
    if (!merged.empty() && merged.back().end() == range.begin)
      merged.back().length += range.length;
    else
      merged.push_back(range);
  }
  return merged;
}

std::vector<int> rank_order(int n_ranks) {
  std::vector<int> order(static_cast<std::size_t>(n_ranks));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<int> order_from(int rank, const machine::Wires& wires) {
  auto order = topology_order(wires);
  std::vector<int> distance;
  for (int other = 0; other < wires.n_ranks(); ++other)
    distance.push_back(other == rank ? -1 : wires.level(rank, other));
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return distance[static_cast<std::size_t>(a)] < distance[static_cast<std::size_t>(b)];
  });
  return order;
}

std::vector<Parameters> with_segments(const CollectiveProblem& problem, const Parameters& base) {
  const auto bytes = whole(problem).length * problem.element_bytes;
  constexpr std::int64_t kib = 1024;
  std::vector<Parameters> candidates;
  for (std::int64_t segment = 4 * kib; segment <= bytes / 2; segment *= 4)
    if (bytes / segment <= 256) {
      candidates.push_back(base);
      candidates.back().segment = segment;
    }
  // Some sixteen pieces fill a pipeline of the usual depths; a short vector is better left whole.
  const auto distance = [&](const Parameters& p) {
    return std::abs(std::log2(16 * static_cast<double>(p.segment) / static_cast<double>(bytes)));
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Parameters& a, const Parameters& b) { return distance(a) < distance(b); });
  candidates.insert(bytes < 64 * kib ? candidates.begin() : candidates.end(), base);
  return candidates;
}

std::string describe(const char* entry, std::initializer_list<std::string> details) {
  std::string text;
  for (const auto& detail : details) {
    if (detail.empty()) continue;
    text += text.empty() ? "" : ", ";
    text += detail;
  }
  return text.empty() ? entry : fmt::format("{}({})", entry, text);
}

std::string segment_text(const Parameters& parameters) {
  const auto bytes = parameters.segment;
  if (bytes <= 0) return "";
  if (bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes % (1 << 10) == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

}  // namespace tessera::collectives
