#include "tessera/grid/choice/cost.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/grid/batches.h"

namespace tessera::grid {

namespace {

/// The messages of two batches: those of the next travel after those of this one.
struct UnderWay {
  double left = 0, left_of_next = 0;  // s

  void progress(double seconds) {
    const double first = std::min(left, seconds);
    left -= first;
    left_of_next -= std::min(left_of_next, seconds - first);
  }
};

Prediction predict_one_by_one(const FieldCost& cost, std::int64_t fields) {
  const auto n = static_cast<double>(fields);
  Prediction found{n * cost.computing, n * cost.packing, 0, 0, 0};
  for (const auto& exchange : cost.by_direction) {
    found.starting += n * exchange.starting;
    found.waiting += n * (exchange.latency + exchange.transfer);
  }
  return found;
}

/// Predicts double buffering: while a batch is computed, the messages of the next are under way. The messages of the
/// first batch overlap with nothing.
Prediction predict_in_batches(const FieldCost& cost, const std::vector<std::int64_t>& batches) {
  Prediction found;
  UnderWay messages;
  const auto work = [&](double& account, double seconds) {
    account += seconds;
    messages.progress(cost.overlap * seconds);
  };
  const auto post = [&](std::int64_t fields) {
    const auto n = static_cast<double>(fields);
    work(found.packing, cost.packing / 2 * n);
    work(found.starting, cost.at_once.starting);
    messages.left_of_next = cost.at_once.latency + cost.at_once.transfer * n;
  };
  post(batches.front());
  found.waiting += messages.left_of_next;
  messages.left_of_next = 0;
  for (std::size_t k = 0; k < batches.size(); ++k) {
    messages.left = messages.left_of_next;
    messages.left_of_next = 0;
    if (k + 1 < batches.size()) post(batches[k + 1]);
    found.waiting += messages.left;
    messages.left = 0;
    const auto n = static_cast<double>(batches[k]);
    work(found.packing, cost.packing / 2 * n);
    work(found.computing, cost.computing * n);
  }
  return found;
}

}  // namespace

const std::vector<ApproachModel>& approach_models() {
  static const std::vector<ApproachModel> entries = {{"flat-original", false, false},
                                                     {"flat-optimized", true, false},
                                                     {"hybrid-multiple", true, true},
                                                     {"hybrid-master-only", true, false}};
  return entries;
}

const ApproachModel& find_model(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& entry : approach_models()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw InputError(fmt::format("approach \"{}\"; expected {}", name, fmt::join(names, " or ")));
}

Prediction predict(const ApproachModel& approach, const FieldCost& cost, std::int64_t fields, int threads,
                   std::int64_t batch, int slope) {
  if (fields == 0) return {};
  auto its = cost;
  if (approach.threads_own_fields) {
    const auto own = (fields + threads - 1) / threads;
    its.at_once.transfer *= static_cast<double>(std::min<std::int64_t>(threads, fields));
    auto found = predict_in_batches(its, plan_batches(own, batch, slope));
    if (threads > 1) found.synchronising = cost.synchronising;
    return found;
  }
  its.computing /= threads;
  its.packing /= threads;
  if (!approach.is_double_buffered) {
    auto found = predict_one_by_one(its, fields);
    const auto packings = cost.packing > 0 ? 2 * cost.by_direction.size() : 0;
    if (threads > 1) found.synchronising = cost.synchronising * static_cast<double>(fields) * (1.0 + packings);
    return found;
  }
  const auto batches = plan_batches(fields, batch, slope);
  auto found = predict_in_batches(its, batches);
  const auto packings = cost.packing > 0 ? 2 : 0;
  if (threads > 1) found.synchronising = cost.synchronising * static_cast<double>(batches.size()) * (1.0 + packings);
  return found;
}

Choice choose_batches(const ApproachModel& approach, const FieldCost& cost, std::int64_t fields, int threads,
                      const Batching& given) {
  const auto with = [&](std::int64_t batch, int slope) {
    return Choice{std::string(approach.name), batch, slope, predict(approach, cost, fields, threads, batch, slope)};
  };
  const auto least = given.batch.value_or(1);
  auto best = with(least, given.slope.value_or(0));
  if (!approach.is_double_buffered) return best;
  const auto own = approach.threads_own_fields ? (fields + threads - 1) / threads : fields;
  const auto most = given.batch.value_or(std::min(own, most_batch));
  for (auto batch = least; batch <= most; ++batch)
    for (int slope = given.slope.value_or(0); batch >> slope > 0 && slope <= given.slope.value_or(62); ++slope)
      if (auto one = with(batch, slope); one.predicted.seconds() < (1 - alike_times) * best.predicted.seconds())
        best = std::move(one);
  return best;
}

}  // namespace tessera::grid
