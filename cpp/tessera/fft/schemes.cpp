#include "tessera/fft/schemes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "tessera/base/error.h"

namespace tessera::fft {

namespace {

// In this file directions are counted in the order in which forward sweeps them: 0 is swept first (and halved), then 1,
// then 2. `PlanBuilder` converts boxes to x, y, z.

struct Interval {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};
using Intervals = std::array<Interval, 3>;

Interval share(const Interval& all, std::int64_t part, std::int64_t parts) {
  return {all.begin + all.size() * part / parts, all.begin + all.size() * (part + 1) / parts};
}

std::int64_t largest_share(std::int64_t n, std::int64_t parts) { return (n + parts - 1) / parts; }

// One more partner costs this many points of work, which is about a message's latency. It decides between shapes of
// equal load.
constexpr std::int64_t points_per_partner = 500;

/// Returns a and b, a·b ≤ parts, that divide a rectangle of m × n points into parts with the least cost of the largest.
/// b = 1 is preferred; each unit of b costs `cost_of_b` points.
std::pair<std::int64_t, std::int64_t> split(std::int64_t m, std::int64_t n, std::int64_t parts,
                                            std::int64_t cost_of_b = 0) {
  std::pair<std::int64_t, std::int64_t> best{parts, 1};
  std::int64_t least = -1;
  for (std::int64_t b = 1; b <= parts; ++b) {
    const std::int64_t cost = largest_share(m, parts / b) * largest_share(n, b) + b * cost_of_b;
    if (least >= 0 && cost >= least) continue;
    least = cost;
    best = {parts / b, b};
  }
  return best;
}

/// Takes part `member` of the rectangle of directions d and e that `parts` ranks share; superfluous ranks get nothing.
void take_part(Intervals& box, int d, int e, std::pair<std::int64_t, std::int64_t> parts, std::int64_t member) {
  auto &m = box[static_cast<std::size_t>(d)], &n = box[static_cast<std::size_t>(e)];
  if (member >= parts.first * parts.second) {
    m.end = m.begin;
    return;
  }
  m = share(m, member / parts.second, parts.first);
  n = share(n, member % parts.second, parts.second);
}

class PlanBuilder {
 public:
  PlanBuilder(std::string_view scheme, const TransformProblem& problem) : problem_(problem) {
    plan_.scheme = scheme;
    const Index3 waves = problem.spectrum_grid();
    for (std::size_t i = 0; i < 3; ++i) {
      points_[i] = problem.grid[direction(i)];
      waves_[i] = waves[direction(i)];
    }
  }

  const Index3& points() const { return points_; }
  const Index3& waves() const { return waves_; }
  std::size_t direction(std::size_t i) const { return static_cast<std::size_t>(problem_.order[i]); }

  Intervals all_points() const { return {{{0, points_[0]}, {0, points_[1]}, {0, points_[2]}}}; }
  Intervals all_waves() const { return {{{0, waves_[0]}, {0, waves_[1]}, {0, waves_[2]}}}; }

  IndexBox box(const Intervals& intervals) const {
    IndexBox result;
    for (std::size_t i = 0; i < 3; ++i) {
      result.lower[direction(i)] = intervals[i].begin;
      result.upper[direction(i)] = intervals[i].end;
    }
    return result.is_empty() ? IndexBox{} : result;
  }

  /// Adds a stage that sweeps direction `sweep` (none: −1), with boxes box_of(rank).
  template <class Function>
  void add(int sweep, Function&& box_of) {
    Stage stage;
    for (std::int64_t rank = 0; rank < problem_.ranks; ++rank) {
      Intervals intervals = box_of(rank);
      stage.boxes.push_back(box(intervals));
      if (sweep == 0) intervals[0].end = waves_[0];
      stage.swept.push_back(stage.boxes.back().is_empty() ? IndexBox{} : box(intervals));
    }
    if (sweep >= 0) stage.sweeps = {static_cast<int>(direction(static_cast<std::size_t>(sweep)))};
    plan_.stages.push_back(std::move(stage));
  }

  /// Merges stages between which nothing moves, and sets the input and output boxes of the plan.
  TransformPlan finish(Index3 processes, std::vector<IndexBox> input) {
    for (std::size_t i = 0; i < 3; ++i) plan_.processes[direction(i)] = processes[i];
    std::vector<Stage> merged;
    for (auto& stage : plan_.stages)
      if (!merged.empty() && merged.back().swept == stage.boxes) {
        merged.back().sweeps.insert(merged.back().sweeps.end(), stage.sweeps.begin(), stage.sweeps.end());
        merged.back().swept = std::move(stage.swept);
      } else {
        merged.push_back(std::move(stage));
      }
    plan_.stages = std::move(merged);
    plan_.problem = problem_;
    if (plan_.problem.input.empty()) plan_.problem.input = std::move(input);
    if (plan_.problem.output.empty()) plan_.problem.output = plan_.problem.input;
    return std::move(plan_);
  }

  TransformPlan finish(Index3 processes) { return finish(processes, plan_.stages.front().boxes); }

 private:
  const TransformProblem& problem_;
  TransformPlan plan_;
  Index3 points_{}, waves_{};
};

/// Returns p × q with the least predicted cost, p·q ≤ ranks. Lines of direction 0 are divided among p × q ranks in (1,
/// 2), of direction 1 in (0, 2), of direction 2 in (0, 1).
std::pair<std::int64_t, std::int64_t> choose_pencils(const Index3& points, const Index3& waves, std::int64_t ranks) {
  std::pair<std::int64_t, std::int64_t> best{1, 1};
  std::int64_t least = -1;
  for (std::int64_t p = 1; p <= ranks; ++p) {
    const std::int64_t q = ranks / p;
    const std::int64_t load = waves[0] * largest_share(points[1], p) * largest_share(points[2], q) +
                              largest_share(waves[0], p) * points[1] * largest_share(points[2], q) +
                              largest_share(waves[0], p) * largest_share(points[1], q) * points[2];
    const std::int64_t cost = load + points_per_partner * (p + q);
    if (least < 0 || cost < least) {
      least = cost;
      best = {p, q};
    }
  }
  return best;
}

/// Describes a grid of bricks: its cuts, and the place of each rank.
struct Bricks {
  std::array<std::vector<Interval>, 3> intervals;
  std::vector<Index3> at;  // by rank; −1 for ranks without a brick

  std::int64_t n(std::size_t d) const { return static_cast<std::int64_t>(intervals[d].size()); }
  Intervals brick(const Index3& place) const {
    Intervals box;
    for (std::size_t d = 0; d < 3; ++d) box[d] = intervals[d][static_cast<std::size_t>(place[d])];
    return box;
  }
};

/// Chooses p × q × r bricks of about the same size, p·q·r ≤ ranks, with the least predicted cost.
Bricks choose_bricks(const PlanBuilder& layout, std::int64_t ranks) {
  const auto& points = layout.points();
  const auto& waves = layout.waves();
  Index3 best{1, 1, 1};
  double least = -1;
  for (std::int64_t p = 1; p <= ranks; ++p)
    for (std::int64_t q = 1; q <= ranks / p; ++q) {
      const std::int64_t r = ranks / p / q;
      const std::array<std::int64_t, 3> parts{p, q, r};
      std::int64_t brick = 1, lines = 0;
      for (std::size_t d = 0; d < 3; ++d) brick *= largest_share(waves[d], parts[d]);
      for (std::size_t d = 0; d < 3; ++d)
        lines += largest_share(brick / largest_share(waves[d], parts[d]), parts[d]) * waves[d];
      const double cost = static_cast<double>(brick) + static_cast<double>(lines) +
                          static_cast<double>(points_per_partner * (p + q + r));
      if (least < 0 || cost < least) {
        least = cost;
        best = {p, q, r};
      }
    }
  Bricks bricks;
  for (std::size_t d = 0; d < 3; ++d)
    for (std::int64_t i = 0; i < best[d]; ++i) bricks.intervals[d].push_back(share({0, points[d]}, i, best[d]));
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const bool is_idle = rank >= best[0] * best[1] * best[2];
    bricks.at.push_back(is_idle ? Index3{-1, -1, -1}
                                : Index3{rank / (best[1] * best[2]), rank / best[2] % best[1], rank % best[2]});
  }
  return bricks;
}

/// Returns the input's own bricks if they form a grid; the first exchange is then one-dimensional.
std::optional<Bricks> find_bricks(const PlanBuilder& layout, const std::vector<IndexBox>& input) {
  Bricks bricks;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t d = layout.direction(i);
    std::vector<std::int64_t> cuts{layout.points()[i]};
    for (const auto& box : input)
      if (!box.is_empty()) cuts.push_back(box.lower[d]);
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c) bricks.intervals[i].push_back({cuts[c], cuts[c + 1]});
  }
  for (std::size_t rank = 0; rank < input.size(); ++rank) {
    auto& at = bricks.at.emplace_back(Index3{-1, -1, -1});
    if (input[rank].is_empty()) continue;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto& intervals = bricks.intervals[i];
      const auto begin = input[rank].lower[layout.direction(i)];
      const auto place =
          std::lower_bound(intervals.begin(), intervals.end(), begin,
                           [](const Interval& range, std::int64_t value) { return range.begin < value; });
      if (place == intervals.end() || place->end != input[rank].upper[layout.direction(i)]) return {};
      at[i] = place - intervals.begin();
    }
  }
  return bricks;
}

Bricks bricks_of(const PlanBuilder& layout, const TransformProblem& problem) {
  if (!problem.input.empty())
    if (auto bricks = find_bricks(layout, problem.input)) return *std::move(bricks);
  return choose_bricks(layout, problem.ranks);
}

/// Returns the bricks of waves, which differ from those of points as the first direction has fewer waves.
Bricks bricks_of_waves(const PlanBuilder& layout, Bricks bricks) {
  const std::int64_t n = bricks.n(0);
  if (layout.waves()[0] != layout.points()[0])
    for (std::int64_t i = 0; i < n; ++i)
      bricks.intervals[0][static_cast<std::size_t>(i)] = share({0, layout.waves()[0]}, i, n);
  return bricks;
}

/// Returns a function for boxes of whole lines along d: the ranks of a row of bricks share its lines, preferably
/// divided along the direction that is slower in memory.
auto lines_in_rows(const PlanBuilder& layout, const Bricks& bricks, int d, std::int64_t whole) {
  int e = d == 0 ? 1 : 0, f = d == 2 ? 1 : 2;
  if (layout.direction(static_cast<std::size_t>(e)) > layout.direction(static_cast<std::size_t>(f))) std::swap(e, f);
  return [&bricks, d, e, f, whole](std::int64_t rank) -> Intervals {
    const Index3 at = bricks.at[static_cast<std::size_t>(rank)];
    if (at[0] < 0) return {};
    Intervals box = bricks.brick(at);
    box[static_cast<std::size_t>(d)] = {0, whole};
    const auto parts = split(box[static_cast<std::size_t>(e)].size(), box[static_cast<std::size_t>(f)].size(),
                             bricks.n(static_cast<std::size_t>(d)));
    take_part(box, e, f, parts, at[static_cast<std::size_t>(d)]);
    return box;
  };
}

std::vector<IndexBox> boxes_of(const PlanBuilder& layout, const Bricks& bricks) {
  std::vector<IndexBox> boxes;
  for (const auto& at : bricks.at) boxes.push_back(at[0] < 0 ? IndexBox{} : layout.box(bricks.brick(at)));
  return boxes;
}

}  // namespace

TransformPlan plan_slab(const TransformProblem& problem) {
  PlanBuilder layout("slab", problem);
  const auto across = [&](std::size_t d, Intervals box) {
    return [&problem, d, box](std::int64_t rank) {
      Intervals mine = box;
      mine[d] = share(mine[d], rank, problem.ranks);
      return mine;
    };
  };
  Intervals halved = layout.all_waves();
  layout.add(0, across(2, layout.all_points()));
  layout.add(1, across(2, halved));
  layout.add(2, across(1, halved));
  return layout.finish({1, 1, problem.ranks});
}

TransformPlan plan_pencil(const TransformProblem& problem) {
  PlanBuilder layout("pencil", problem);
  const auto [p, q] = choose_pencils(layout.points(), layout.waves(), problem.ranks);
  const auto cut = [n = std::pair(p, q)](int d, int e, const Intervals& box) {
    return [=](std::int64_t rank) {
      Intervals mine = box;
      take_part(mine, d, e, n, rank);
      return mine;
    };
  };
  layout.add(0, cut(1, 2, layout.all_points()));
  layout.add(1, cut(0, 2, layout.all_waves()));
  layout.add(2, cut(0, 1, layout.all_waves()));
  return layout.finish({1, p, q});
}

TransformPlan plan_1d_alltoall(const TransformProblem& problem) {
  PlanBuilder layout("1d_alltoall", problem);
  const Bricks bricks = bricks_of(layout, problem), waves = bricks_of_waves(layout, bricks);
  const auto brick = [&](std::int64_t rank) -> Intervals {
    const Index3 at = waves.at[static_cast<std::size_t>(rank)];
    return at[0] < 0 ? Intervals{} : waves.brick(at);
  };
  layout.add(0, lines_in_rows(layout, bricks, 0, layout.points()[0]));
  layout.add(-1, brick);
  layout.add(1, lines_in_rows(layout, waves, 1, layout.waves()[1]));
  layout.add(-1, brick);
  layout.add(2, lines_in_rows(layout, waves, 2, layout.waves()[2]));
  return layout.finish({bricks.n(0), bricks.n(1), bricks.n(2)}, boxes_of(layout, bricks));
}

TransformPlan plan_2d_alltoall(const TransformProblem& problem) {
  PlanBuilder layout("2d_alltoall", problem);
  const Bricks bricks = bricks_of(layout, problem);
  layout.add(0, lines_in_rows(layout, bricks, 0, layout.points()[0]));
  // Ranks of one layer of bricks share its lines along direction 1, divided along 0 and, if there are few waves, along
  // 2.
  std::int64_t thickest = 0;
  for (const auto& range : bricks.intervals[2]) thickest = std::max(thickest, range.size());
  const auto parts = split(layout.waves()[0], thickest, bricks.n(0) * bricks.n(1),
                           points_per_partner * bricks.n(2) / layout.waves()[1]);
  const auto member = [&](const Index3& at) { return at[0] * bricks.n(1) + at[1]; };
  layout.add(1, [&](std::int64_t rank) -> Intervals {
    const Index3 at = bricks.at[static_cast<std::size_t>(rank)];
    if (at[0] < 0) return {};
    Intervals box = layout.all_waves();
    box[2] = bricks.intervals[2][static_cast<std::size_t>(at[2])];
    take_part(box, 0, 2, parts, member(at));
    return box;
  });
  // Ranks with the same part of direction 0 share its lines along 2.
  layout.add(2, [&](std::int64_t rank) -> Intervals {
    const Index3 at = bricks.at[static_cast<std::size_t>(rank)];
    if (at[0] < 0 || member(at) >= parts.first * parts.second) return {};
    Intervals box = layout.all_waves();
    box[0] = share(box[0], member(at) / parts.second, parts.first);
    box[1] = share(box[1], at[2] * parts.second + member(at) % parts.second, bricks.n(2) * parts.second);
    return box;
  });
  return layout.finish({bricks.n(0), bricks.n(1), bricks.n(2)}, boxes_of(layout, bricks));
}

namespace {

/// Returns the plan with the layout's boxes moved to the places that the problem asks for; boxes that the problem gives
/// stay.
TransformPlan placed(TransformPlan plan, const TransformProblem& asked) {
  if (asked.places.empty()) return plan;
  const auto move = [&](std::vector<IndexBox>& boxes) {
    const auto layout = boxes;
    for (std::size_t rank = 0; rank < boxes.size(); ++rank)
      boxes[rank] = layout[static_cast<std::size_t>(asked.places[rank])];
  };
  for (auto& stage : plan.stages) {
    move(stage.boxes);
    move(stage.swept);
  }
  if (asked.input.empty()) {
    move(plan.problem.input);
    if (asked.output.empty()) plan.problem.output = plan.problem.input;
  }
  return plan;
}

bool is_order_of_ranks(std::vector<int> places, int ranks) {
  std::sort(places.begin(), places.end());
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i] != static_cast<int>(i)) return false;
  return static_cast<int>(places.size()) == ranks;
}

}  // namespace

const std::vector<Scheme>& schemes() {
  static const std::vector<Scheme> entries = {{"slab", "no more ranks at work than the mesh has layers", &plan_slab},
                                              {"pencil", "none", &plan_pencil},
                                              {"2d_alltoall", "none", &plan_2d_alltoall},
                                              {"1d_alltoall", "none", &plan_1d_alltoall}};
  return entries;
}

TransformPlan plan_transform(std::string_view scheme, TransformProblem problem) {
  if (*std::min_element(problem.grid.begin(), problem.grid.end()) < 1)
    throw InputError(fmt::format("a mesh of {}×{}×{} has no points; every direction needs at least one",
                                 problem.grid[0], problem.grid[1], problem.grid[2]));
  if (problem.ranks < 1) throw InputError(fmt::format("a transform on {} ranks; give at least 1", problem.ranks));
  TESSERA_CHECK(problem.input.empty() || static_cast<int>(problem.input.size()) == problem.ranks);
  TESSERA_CHECK(problem.output.empty() || static_cast<int>(problem.output.size()) == problem.ranks);
  TESSERA_CHECK(std::is_permutation(problem.order.begin(), problem.order.end(), std::array{0, 1, 2}.begin()));
  TESSERA_CHECK(problem.places.empty() || is_order_of_ranks(problem.places, problem.ranks));
  std::vector<std::string> known{"auto"};  // choice/choose.h knows it, and a user may have meant it
  for (const auto& entry : schemes()) {
    if (entry.name == scheme) return placed(entry.plan(problem), problem);
    known.emplace_back(entry.name);
  }
  refuse_name("scheme", std::string(scheme), known);
}

}  // namespace tessera::fft
