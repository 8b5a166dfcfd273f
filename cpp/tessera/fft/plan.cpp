#include "tessera/fft/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "tessera/base/error.h"

namespace tessera::fft {

namespace {

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

/// Calls function(box, shift) for each part of `to` in the periodic mesh that is inside it; the part is at box + shift
/// in `to`.
template <class Function>
void for_images(const Index3& grid, const IndexBox& to, Function&& function) {
  if (to.is_empty()) return;
  Index3 first, last;
  for (int d = 0; d < 3; ++d) {
    first[d] = floor_divide(to.lower[d], grid[d]);
    last[d] = floor_divide(to.upper[d] - 1, grid[d]);
  }
  for (std::int64_t x = first[0]; x <= last[0]; ++x)
    for (std::int64_t y = first[1]; y <= last[1]; ++y)
      for (std::int64_t z = first[2]; z <= last[2]; ++z) {
        const Index3 shift = {x * grid[0], y * grid[1], z * grid[2]};
        IndexBox seen = to;
        for (int d = 0; d < 3; ++d) {
          seen.lower[d] -= shift[d];
          seen.upper[d] -= shift[d];
        }
        function(intersection(seen, {{0, 0, 0}, grid}), shift);
      }
}

void add_pieces(const Index3& grid, const IndexBox& from, const IndexBox& to, int peer, std::vector<MovedBox>& pieces) {
  if (from.is_empty()) return;
  for_images(grid, to, [&](const IndexBox& box, const Index3& shift) {
    const IndexBox common = intersection(from, box);
    if (!common.is_empty()) pieces.push_back({peer, common, shift});
  });
}

/// Finds the boxes that overlap a given one. The mesh is divided into bins about as wide as the boxes, and each bin
/// stores copies of its boxes, as looking them up elsewhere would take longer than everything else.
class BoxIndex {
 public:
  BoxIndex(const Index3& grid, const std::vector<IndexBox>& boxes) {
    for (int d = 0; d < 3; ++d) {
      std::int64_t sum = 0, n = 0;
      for (const auto& box : boxes)
        if (!box.is_empty()) sum += box.extent(d), ++n;
      width_[d] = std::clamp<std::int64_t>(n == 0 ? grid[d] : sum / n, 1, grid[d]);
      n_[d] = (grid[d] + width_[d] - 1) / width_[d];
    }
    bins_.resize(static_cast<std::size_t>(n_[0] * n_[1] * n_[2]));
    for (std::size_t i = 0; i < boxes.size(); ++i)
      for_images(grid, boxes[i], [&](const IndexBox& part, const Index3&) {
        for_bins(part, [&](const IndexBox&, std::vector<Entry>& bin) { bin.push_back({static_cast<int>(i), part}); });
      });
  }

  /// Calls function(i, points) for each image of a box i that shares points with a box inside the mesh.
  template <class Function>
  void for_overlaps(const IndexBox& box, Function&& function) {
    for_bins(box, [&](const IndexBox& region, const std::vector<Entry>& bin) {
      for (const auto& [i, part] : bin) {
        const IndexBox common = intersection(part, box);
        // Boxes that share several bins count once, in the bin of their first common point.
        if (!common.is_empty() && region.contains(common.lower)) function(i, common.size());
      }
    });
  }

 private:
  struct Entry {
    int box;
    IndexBox part;  // inside the mesh
  };

  /// Calls function(region, bin) for each bin that the box overlaps.
  template <class Function>
  void for_bins(const IndexBox& box, Function&& function) {
    if (box.is_empty()) return;
    Index3 first, last;
    for (int d = 0; d < 3; ++d) {
      first[d] = box.lower[d] / width_[d];
      last[d] = (box.upper[d] - 1) / width_[d];
    }
    for (std::int64_t x = first[0]; x <= last[0]; ++x)
      for (std::int64_t y = first[1]; y <= last[1]; ++y)
        for (std::int64_t z = first[2]; z <= last[2]; ++z) {
          const Index3 lower = {x * width_[0], y * width_[1], z * width_[2]};
          function(IndexBox{lower, {lower[0] + width_[0], lower[1] + width_[1], lower[2] + width_[2]}},
                   bins_[static_cast<std::size_t>((x * n_[1] + y) * n_[2] + z)]);
        }
  }

  Index3 width_{}, n_{};
  std::vector<std::vector<Entry>> bins_;
};

std::string text_of(const Index3& n) { return fmt::format("{}×{}×{}", n[0], n[1], n[2]); }

std::string largest(const std::vector<IndexBox>& boxes) {
  const auto& box = *std::max_element(boxes.begin(), boxes.end(),
                                      [](const IndexBox& a, const IndexBox& b) { return a.size() < b.size(); });
  return text_of({box.extent(0), box.extent(1), box.extent(2)});
}

}  // namespace

Index3 TransformProblem::spectrum_grid() const {
  Index3 waves = grid;
  if (kind == TransformKind::real) {
    auto& halved = waves[static_cast<std::size_t>(order[0])];
    halved = halved / 2 + 1;
  }
  return waves;
}

std::vector<Redistribution> TransformPlan::forward() const {
  std::vector<Redistribution> list;
  bool is_swept = false;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    list.push_back({i == 0 ? problem.input : stages[i - 1].swept, stages[i].boxes,
                    problem.kind == TransformKind::complex || is_swept ? 2 : 1});
    is_swept = is_swept || !stages[i].sweeps.empty();
  }
  return list;
}

std::vector<Redistribution> TransformPlan::backward() const {
  std::vector<Redistribution> list;
  const auto down = forward();
  for (std::size_t i = stages.size(); i-- > 0;)
    list.push_back({stages[i].boxes, i == 0 ? problem.output : stages[i - 1].swept, down[i].components});
  return list;
}

std::string TransformPlan::summary() const {
  std::string text =
      fmt::format("transform of {} {} points on {} rank{}, scheme {}", text_of(problem.grid),
                  problem.kind == TransformKind::real ? "real" : "complex", ranks(), ranks() == 1 ? "" : "s", scheme);
  if (processes[0] > 0) text += fmt::format(" ({} processes)", text_of(processes));
  text += fmt::format("\n  largest boxes: input {}", largest(problem.input));
  for (const auto& stage : stages) {
    text += ", ";
    for (const int d : stage.sweeps) text += "xyz"[d];
    text += fmt::format("{} {}", stage.sweeps.empty() ? "bricks" : " lines", largest(stage.boxes));
  }
  return text + fmt::format(", output {}\n", largest(problem.output));
}

Exchange plan_exchange(const Index3& grid, const std::vector<IndexBox>& from, const std::vector<IndexBox>& to,
                       int rank) {
  TESSERA_CHECK(from.size() == to.size());
  const auto me = static_cast<std::size_t>(rank);
  Exchange exchange;
  for (std::size_t peer = 0; peer < from.size(); ++peer) {
    add_pieces(grid, from[me], to[peer], static_cast<int>(peer), exchange.send);
    add_pieces(grid, from[peer], to[me], static_cast<int>(peer), exchange.receive);
  }
  return exchange;
}

void for_messages(const Index3& grid, const Redistribution& redistribution, std::span<const int> receivers,
                  const std::function<void(const RedistributionMessage&)>& function) {
  const auto& [from, to, components] = redistribution;
  BoxIndex senders(grid, from);
  std::vector<int> partners;
  std::vector<std::int64_t> values(from.size());
  for (const int receiver : receivers) {
    partners.clear();
    for_images(grid, to[static_cast<std::size_t>(receiver)], [&](const IndexBox& box, const Index3&) {
      senders.for_overlaps(box, [&](int sender, std::int64_t points) {
        if (sender == receiver) return;
        auto& sum = values[static_cast<std::size_t>(sender)];
        if (sum == 0) partners.push_back(sender);
        sum += points;
      });
    });
    std::sort(partners.begin(), partners.end());
    for (const int sender : partners)
      function({sender, receiver, std::exchange(values[static_cast<std::size_t>(sender)], 0)});
  }
}

}  // namespace tessera::fft
