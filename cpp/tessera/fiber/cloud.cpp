#include "tessera/fiber/cloud.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

namespace tessera::fiber {

namespace {

constexpr std::size_t most_of_group = 12;

using Order = std::vector<std::size_t>;

/// Returns which axis some points spread along most.
std::size_t longest_axis(const std::vector<Vec3>& points, Order::const_iterator first, Order::const_iterator last) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  std::array<double, 3> low = {infinite, infinite, infinite}, high = {-infinite, -infinite, -infinite};
  for (auto at = first; at != last; ++at) {
    const Vec3& p = points[*at];
    const std::array<double, 3> place = {p.x, p.y, p.z};
    for (std::size_t d = 0; d < 3; ++d) low[d] = std::min(low[d], place[d]), high[d] = std::max(high[d], place[d]);
  }
  std::size_t longest = 0;
  for (std::size_t d = 1; d < 3; ++d)
    if (high[d] - low[d] > high[longest] - low[longest]) longest = d;
  return longest;
}

/// Divides points in halves along their longest axis until groups are small.
void divide(const std::vector<Vec3>& points, Order& order, std::size_t first, std::size_t last,
            std::vector<Group>& groups) {
  if (last - first <= most_of_group) {
    if (first < last) groups.push_back({first, last, {}, 0});
    return;
  }
  const auto at = [&](std::size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(i); };
  const std::size_t axis = longest_axis(points, at(first), at(last));
  const auto along = [&](std::size_t i) {
    return std::pair{axis == 0 ? points[i].x : axis == 1 ? points[i].y : points[i].z, i};
  };
  std::sort(at(first), at(last), [&](std::size_t a, std::size_t b) { return along(a) < along(b); });
  const std::size_t half = first + (last - first) / 2;
  divide(points, order, first, half, groups);
  divide(points, order, half, last, groups);
}

}  // namespace

Cloud cloud_of(std::vector<Vec3> points, std::vector<double> values) {
  Order order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Cloud cloud;
  divide(points, order, 0, points.size(), cloud.groups);
  for (const std::size_t i : order) {
    cloud.points.push_back(points[i]);
    cloud.values.push_back(values[i]);
    cloud.extent = std::max(cloud.extent, norm(points[i]));
  }
  for (Group& group : cloud.groups) {
    for (std::size_t i = group.first; i < group.last; ++i) group.middle += cloud.points[i];
    group.middle *= 1.0 / static_cast<double>(group.last - group.first);
    for (std::size_t i = group.first; i < group.last; ++i)
      group.radius = std::max(group.radius, norm(cloud.points[i] - group.middle));
  }
  return cloud;
}

Clouds::Clouds(const std::vector<Cloud>& kinds, const std::vector<std::size_t>& kind) {
  std::size_t points = 0, groups = 0;
  for (const std::size_t own : kind) {
    first_point_.push_back(points);
    first_group_.push_back(groups);
    points += kinds[own].points.size();
    groups += kinds[own].groups.size();
  }
  points_.resize(points);
  middles_.resize(groups);
}

}  // namespace tessera::fiber
