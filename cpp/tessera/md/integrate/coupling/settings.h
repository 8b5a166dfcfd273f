// Holds the settings of the heat bath and of the pressure bath of a system.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::md::integrate {

enum class Thermostat { bussi, nose_hoover, langevin, berendsen };
inline constexpr std::array<std::string_view, 4> thermostat_names = {"bussi", "nose-hoover", "langevin", "berendsen"};
constexpr const auto& names_of(Thermostat) { return thermostat_names; }

enum class Barostat { c_rescale, berendsen };
inline constexpr std::array<std::string_view, 2> barostat_names = {"c-rescale", "berendsen"};
constexpr const auto& names_of(Barostat) { return barostat_names; }

/// Tells which edges of the box change together.
enum class PressureCoupling { isotropic, semi_isotropic, anisotropic, constant_area };
inline constexpr std::array<std::string_view, 4> pressure_coupling_names = {"isotropic", "semi-isotropic",
                                                                            "anisotropic", "constant-area"};
constexpr const auto& names_of(PressureCoupling) { return pressure_coupling_names; }

/// A value that may change in time: linear between points, constant before the first and after the last.
class Schedule {
 public:
  using Point = std::array<double, 2>;  // time (ps) and value

  Schedule(double value) : points_{{0, value}} {}  // a number will do
  /// At least one point, at increasing times.
  explicit Schedule(std::vector<Point> points) : points_(std::move(points)) {}

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

 private:
  std::vector<Point> points_;
};

struct CouplingSettings {
  bool has_thermostat = false, has_barostat = false;
  Thermostat thermostat = Thermostat::bussi;
  Barostat barostat = Barostat::c_rescale;
  PressureCoupling coupling = PressureCoupling::isotropic;
  Schedule temperature = 300;       // K
  double tau_t = 1;                 // ps
  Schedule pressure = 1;            // bar
  double tau_p = 5;                 // ps
  double compressibility = 4.5e-5;  // 1/bar
  double surface_tension = 0;       // bar Å, of all surfaces together; with semi-isotropic coupling
  std::int64_t every = 10;          // steps
  std::uint64_t seed = 1;
};

}  // namespace tessera::md::integrate
