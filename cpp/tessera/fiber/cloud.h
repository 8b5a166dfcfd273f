// Points of a rigid body in small groups, so that most of what is far from another body is passed over a group at a time.
#pragma once

#include <cstddef>
#include <vector>

#include "tessera/fiber/frame.h"

namespace tessera::fiber {

constexpr double square(double x) { return x * x; }

/// Points from `first` to before `last`, within `radius` Å of their middle.
struct Group {
  std::size_t first = 0, last = 0;
  Vec3 middle;
  double radius = 0;
};

/// The points of one kind of body in its frame, each with a value, in the order of their groups.
struct Cloud {
  std::vector<Vec3> points;
  std::vector<double> values;
  std::vector<Group> groups;
  double extent = 0;  // Å from the origin to the furthest
};

Cloud cloud_of(std::vector<Vec3> points, std::vector<double> values);

/// The clouds of many bodies, one after another, where they are.
class Clouds {
 public:
  Clouds() = default;
  /// Makes room for bodies of these kinds (n).
  Clouds(const std::vector<Cloud>& kinds, const std::vector<std::size_t>& kind);

  /// Puts a body at a frame.
  void place(std::size_t body, const Cloud& cloud, const Frame& frame) {
    for (std::size_t i = 0; i < cloud.points.size(); ++i) points_[first_point_[body] + i] = frame * cloud.points[i];
    for (std::size_t i = 0; i < cloud.groups.size(); ++i)
      middles_[first_group_[body] + i] = frame * cloud.groups[i].middle;
  }

  const Vec3* points(std::size_t body) const { return points_.data() + first_point_[body]; }
  const Vec3* middles(std::size_t body) const { return middles_.data() + first_group_[body]; }

 private:
  std::vector<std::size_t> first_point_, first_group_;
  std::vector<Vec3> points_, middles_;
};

/// A body where it is: its cloud, its origin, and its points and middles of groups.
struct Placed {
  const Cloud& cloud;
  Vec3 origin;
  const Vec3* points;
  const Vec3* middles;
};

/// Calls visit(group, other) for all pairs of groups of two bodies of which points may be nearer than a distance, until
/// it returns false. Returns whether it never did.
template <class Visit>
bool all_near(const Placed& one, const Placed& other, double distance, Visit visit) {
  const auto within = [](const Vec3& a, const Vec3& b, double reach) { return norm2(a - b) < reach * reach; };
  if (!within(one.origin, other.origin, one.cloud.extent + other.cloud.extent + distance)) return true;
  for (std::size_t i = 0; i < one.cloud.groups.size(); ++i) {
    const Group& group = one.cloud.groups[i];
    if (!within(one.middles[i], other.origin, group.radius + other.cloud.extent + distance)) continue;
    for (std::size_t j = 0; j < other.cloud.groups.size(); ++j) {
      const Group& second = other.cloud.groups[j];
      if (within(one.middles[i], other.middles[j], group.radius + second.radius + distance) && !visit(group, second))
        return false;
    }
  }
  return true;
}

/// Returns whether points of two bodies are nearer than a distance, without so many at the beginning of groups of the
/// first.
inline bool meet(const Placed& one, const Placed& other, double distance, std::size_t without = 0) {
  const double least = distance * distance;
  return !all_near(one, other, distance, [&](const Group& first, const Group& second) {
    for (std::size_t i = first.first + without; i < first.last; ++i)
      for (std::size_t j = second.first; j < second.last; ++j)
        if (norm2(one.points[i] - other.points[j]) < least) return false;
    return true;
  });
}

/// Calls visit(i, r²) for the points of a body that are nearer to a place than a distance, until it returns false.
/// Returns whether it never did.
template <class Visit>
bool all_near(const Vec3& place, const Placed& body, double distance, Visit visit) {
  const auto within = [&](const Vec3& middle, double reach) { return norm2(place - middle) < reach * reach; };
  if (!within(body.origin, body.cloud.extent + distance)) return true;
  for (std::size_t at = 0; at < body.cloud.groups.size(); ++at) {
    const Group& group = body.cloud.groups[at];
    if (!within(body.middles[at], group.radius + distance)) continue;
    for (std::size_t i = group.first; i < group.last; ++i) {
      const double r2 = norm2(place - body.points[i]);
      if (r2 < distance * distance && !visit(i, r2)) return false;
    }
  }
  return true;
}

}  // namespace tessera::fiber
