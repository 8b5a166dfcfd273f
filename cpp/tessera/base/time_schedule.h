// A number that changes in time.
#pragma once

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace tessera {

/// Linear between points, constant before the first and after the last.
class TimeSchedule {
 public:
  using Point = std::array<double, 2>;  // time (ps) and number

  TimeSchedule(double number) : points_{{0, number}} {}  // a number will do
  /// Makes a schedule of one point or more, at increasing times.
  explicit TimeSchedule(std::vector<Point> points) : points_(std::move(points)) {}

  double at(double time) const {
    const auto after = std::upper_bound(points_.begin(), points_.end(), time,
                                        [](double t, const Point& point) { return t < point[0]; });
    if (after == points_.begin()) return points_.front()[1];
    if (after == points_.end()) return points_.back()[1];
    const auto& [t0, v0] = *(after - 1);
    const auto& [t1, v1] = *after;
    return v0 + (v1 - v0) * ((time - t0) / (t1 - t0));
  }
  bool is_constant() const { return points_.size() == 1; }
  const std::vector<Point>& points() const { return points_; }
  double least() const {
    return (*std::min_element(points_.begin(), points_.end(), [](auto& p, auto& q) { return p[1] < q[1]; }))[1];
  }
  double greatest() const {
    return (*std::max_element(points_.begin(), points_.end(), [](auto& p, auto& q) { return p[1] < q[1]; }))[1];
  }
  /// Returns the same schedule with all numbers multiplied by a factor.
  TimeSchedule scaled(double factor) const {
    auto points = points_;
    for (auto& point : points) point[1] *= factor;
    return TimeSchedule(std::move(points));
  }

  friend bool operator==(const TimeSchedule&, const TimeSchedule&) = default;

 private:
  std::vector<Point> points_;
};

}  // namespace tessera
