#include "tessera/fiber/knots/simplified.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "tessera/fiber/cells.h"

namespace tessera::fiber::knots {
namespace {

/// What a triangle's corners and a line's middle that meet are apart at most, in lengths of the longest side and line:
/// two thirds of a median, and half of a line.
constexpr double apart = 2.0 / 3 + 1.0 / 2;

/// A corner of a curve with its neighbours.
struct Triangle {
  Vec3 before, corner, after;

  Vec3 centre() const { return 1.0 / 3 * (before + corner + after); }
};

/// Tells whether a line from start to end goes through a triangle (Möller and Trumbore 1997); those in its plane don't.
bool goes_through(const Vec3& start, const Vec3& end, const Triangle& triangle) {
  const Vec3 one = triangle.corner - triangle.before, other = triangle.after - triangle.before;
  const Vec3 along = end - start, across = cross(along, other);
  const double volume = dot(one, across);
  if (volume == 0) return false;
  const Vec3 from_corner = start - triangle.before, normal = cross(from_corner, one);
  const double u = dot(from_corner, across) / volume, v = dot(along, normal) / volume, t = dot(other, normal) / volume;
  return u >= 0 && v >= 0 && u + v <= 1 && t >= 0 && t <= 1;
}

/// A closed curve of which corners go. A line has the number of the point where it starts.
class Curve {
 public:
  explicit Curve(std::span<const Vec3> points) : point_(points.begin(), points.end()) {
    for (std::size_t i = 0; i < size(); ++i) {
      next_.push_back((i + 1) % size());
      before_.push_back((i + size() - 1) % size());
    }
    left_ = size();
  }

  /// Takes out what can go by lines of this length at most, until fewer than `few` are left or, with the longest lines
  /// there can be, none goes; with shorter ones until few go in a round.
  void take_out(double longest, std::size_t few, bool is_last) {
    Cells cells(apart * longest, size());
    long_.clear();
    for (std::size_t line = 0, i = 0; i < left_; ++i, line = next_[line])
      if (length2(line) <= longest * longest)
        cells.place(line, middle(line));
      else
        long_.push_back(line);
    for (bool goes_on = true; goes_on && left_ >= few;) {
      const std::size_t before = left_;
      std::size_t at = first_;
      // Of neighbours one goes in a round at most, so that triangles stay of one size.
      for (std::size_t i = 0; i < before && left_ >= few; i += 2, at = next_[next_[at]])
        if (can_go(at, longest, cells)) remove(at, cells);
      first_ = next_[first_];
      goes_on = before - left_ > (is_last ? 0 : before / 64);
    }
  }

  std::vector<Vec3> points() const {
    std::vector<Vec3> found;
    for (std::size_t at = first_, i = 0; i < left_; ++i, at = next_[at]) found.push_back(point_[at]);
    return found;
  }

 private:
  std::size_t size() const { return point_.size(); }
  double length2(std::size_t line) const { return norm2(point_[next_[line]] - point_[line]); }
  Vec3 middle(std::size_t line) const { return 0.5 * (point_[line] + point_[next_[line]]); }

  bool can_go(std::size_t corner, double longest, const Cells& cells) const {
    const std::size_t before = before_[corner], after = next_[corner];
    const Triangle triangle = {point_[before], point_[corner], point_[after]};
    const double most = longest * longest;
    if (length2(before) > most || length2(corner) > most || norm2(triangle.after - triangle.before) > most)
      return false;
    const auto is_free_of = [&](std::size_t line) {
      const std::size_t end = next_[line];
      const bool touches =
          line == before || line == corner || line == after || end == before || end == corner || end == after;
      return touches || !goes_through(point_[line], point_[end], triangle);
    };
    const Vec3 centre = triangle.centre();
    const double radius = std::sqrt(
        std::max({norm2(triangle.before - centre), norm2(triangle.corner - centre), norm2(triangle.after - centre)}));
    return std::ranges::all_of(long_, is_free_of) && cells.all_near(centre, [&](std::size_t line) {
      const double reach = radius + 0.5 * longest;
      return norm2(middle(line) - centre) > reach * reach || is_free_of(line);
    });
  }

  void remove(std::size_t corner, Cells& cells) {
    const std::size_t before = before_[corner], after = next_[corner];
    cells.remove(corner);
    next_[before] = after;
    before_[after] = before;
    cells.place(before, middle(before));
    if (first_ == corner) first_ = after;
    --left_;
  }

  std::vector<Vec3> point_;
  std::vector<std::size_t> next_, before_;
  std::vector<std::size_t> long_;  // lines that are longer than those in cells
  std::size_t first_ = 0, left_ = 0;
};

double median_length(std::span<const Vec3> points) {
  std::vector<double> lengths;
  for (std::size_t i = 1; i < points.size(); ++i) lengths.push_back(norm(points[i] - points[i - 1]));
  const auto middle = lengths.begin() + std::ssize(lengths) / 2;
  std::ranges::nth_element(lengths, middle);
  return *middle;
}

/// Returns the diagonal of a box about points.
double width(std::span<const Vec3> points) {
  Vec3 low = points.front(), high = low;
  for (const Vec3& p : points) {
    low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
  }
  return norm(high - low);
}

}  // namespace

std::vector<Vec3> simplified(std::span<const Vec3> points, std::size_t few) {
  constexpr double at_first = 4, least = 1e-6;  // of the median line, and of the width
  std::vector<Vec3> left(points.begin(), points.end());
  if (left.size() < few || left.size() < 4) return left;
  const double widest = width(points);
  if (widest == 0) return left;
  for (double longest = std::max(at_first * median_length(points), least * widest); left.size() >= few; longest *= 2) {
    Curve curve(left);
    const bool is_last = longest > widest;
    curve.take_out(longest, few, is_last);
    left = curve.points();
    if (is_last) break;
  }
  return left;
}

}  // namespace tessera::fiber::knots
