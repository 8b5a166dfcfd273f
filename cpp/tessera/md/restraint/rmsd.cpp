#include "tessera/md/restraint/rmsd.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/fixed_point.h"
#include "tessera/base/index.h"
#include "tessera/md/restraint/position.h"
#include "tessera/md/restraint/potential.h"

namespace tessera::md::restraint {

namespace {

using Matrix3 = std::array<std::array<double, 3>, 3>;
using Matrix4 = std::array<std::array<double, 4>, 4>;

constexpr double turn = 4294967296.0;            // the box in units of fraction_unit
constexpr double square_unit = 1.0 / (1 << 28);  // Å²

/// Returns the difference of the nearest image along one edge; in a vacuum there are no images.
double nearest(double difference, const domain::Domain& domain) {
  return domain.system().is_periodic ? difference - turn * std::rint(difference / turn) : difference;
}

/// Diagonalises a symmetric matrix by rotations (Jacobi). The columns of the second matrix are its eigenvectors.
std::pair<Matrix4, Matrix4> diagonalise(Matrix4 a) {
  Matrix4 vectors{};
  for (std::size_t i = 0; i < 4; ++i) vectors[i][i] = 1;
  constexpr int most_sweeps = 50;
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    double off = 0;
    for (std::size_t p = 0; p < 4; ++p)
      for (std::size_t q = p + 1; q < 4; ++q) off += a[p][q] * a[p][q];
    if (off == 0) break;
    for (std::size_t p = 0; p < 4; ++p)
      for (std::size_t q = p + 1; q < 4; ++q) {
        if (a[p][q] == 0) continue;
        const double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (std::size_t k = 0; k < 4; ++k) {
          const double kp = a[k][p], kq = a[k][q];
          a[k][p] = c * kp - s * kq;
          a[k][q] = s * kp + c * kq;
        }
        for (std::size_t k = 0; k < 4; ++k) {
          const double pk = a[p][k], qk = a[q][k];
          a[p][k] = c * pk - s * qk;
          a[q][k] = s * pk + c * qk;
          const double vp = vectors[k][p], vq = vectors[k][q];
          vectors[k][p] = c * vp - s * vq;
          vectors[k][q] = s * vp + c * vq;
        }
        a[p][q] = a[q][p] = 0;
      }
  }
  return {a, vectors};
}

std::vector<CentreGroup> groups_of(std::span<const RestraintSettings> settings) {
  std::vector<CentreGroup> groups;
  for (const auto& one : settings)
    if (one.kind == RestraintKind::rmsd) groups.push_back({&one.atoms, false});
  return groups;
}

}  // namespace

Superposition superpose(const Matrix3& m) {
  const auto [values, vectors] =
      diagonalise({{{m[0][0] + m[1][1] + m[2][2], m[1][2] - m[2][1], m[2][0] - m[0][2], m[0][1] - m[1][0]},
                    {m[1][2] - m[2][1], m[0][0] - m[1][1] - m[2][2], m[0][1] + m[1][0], m[2][0] + m[0][2]},
                    {m[2][0] - m[0][2], m[0][1] + m[1][0], -m[0][0] + m[1][1] - m[2][2], m[1][2] + m[2][1]},
                    {m[0][1] - m[1][0], m[2][0] + m[0][2], m[1][2] + m[2][1], -m[0][0] - m[1][1] + m[2][2]}}});
  std::size_t greatest = 0;
  for (std::size_t i = 1; i < 4; ++i)
    if (values[i][i] > values[greatest][greatest]) greatest = i;
  const double w = vectors[0][greatest], x = vectors[1][greatest], y = vectors[2][greatest], z = vectors[3][greatest];
  return {values[greatest][greatest],
          {{{w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)},
            {2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)},
            {2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z}}}};
}

Deviations::Deviations(std::span<const RestraintSettings> settings, const domain::Domain& domain,
                       const comm::Communicator& comm)
    : domain_(domain), comm_(comm), centres_(groups_of(settings), domain, comm) {
  for (const auto& one : settings)
    if (one.kind == RestraintKind::rmsd) groups_.push_back({.settings = &one, .own = {}});
}

void Deviations::rebuild() {
  centres_.rebuild();
  for (auto& group : groups_) {
    group.own.clear();
    const auto& references = references_of(domain_.state(), group.settings->reference);
    group.settings->atoms.for_each([&](std::int64_t id) {
      const auto slot = domain_.slot_of(id);
      if (slot < 0 || slot >= domain_.n_owned_slots()) return;
      const auto* r = &references[3 * at(slot)];
      group.own.push_back({slot, {r[0], r[1], r[2]}});
    });
  }
}

/// Finds the mean of each reference near its first atom, as a quotient of integers: the same on any ranks.
void Deviations::find_centres_of_references() {
  for (auto& group : groups_) {
    const auto first = domain_.slot_of(group.settings->atoms.ranges().front().first);
    std::array<std::int64_t, 3> origin{}, sum{};
    for (const auto& [slot, reference] : group.own)
      if (slot == first)
        for (std::size_t d = 0; d < 3; ++d) origin[d] = std::llrint(reference[d]);
    comm_.all_reduce_sum(origin);
    for (const auto& [slot, reference] : group.own)
      for (std::size_t d = 0; d < 3; ++d)
        sum[d] += std::llrint(nearest(reference[d] - static_cast<double>(origin[d]), domain_));
    comm_.all_reduce_sum(sum);
    for (std::size_t d = 0; d < 3; ++d)
      group.centre[d] = static_cast<double>(origin[d]) +
                        static_cast<double>(sum[d]) / static_cast<double>(group.settings->atoms.size());
  }
  has_centres_of_references_ = true;
}

/// Returns the reference position of an atom relative to its group's centre, Å.
Vec3 Deviations::reference_of(const Group& group, const Member& member) const {
  const auto apart = [&](std::size_t d) { return nearest(member.reference[d] - group.centre[d], domain_); };
  return domain_.system().box.unit_vectors() * Vec3{apart(0), apart(1), apart(2)};
}

void Deviations::add(double time, Accumulator& accumulator) {
  if (groups_.empty()) return;
  if (!has_centres_of_references_) find_centres_of_references();
  centres_.update();
  const auto& state = domain_.state();
  const auto place_of = [&](std::size_t g, const Member& member) {
    return state.box.displacement(centres_[g], state.position[at(member.slot)]);
  };
  // By group: nine sums of y·x, and the sum of both squares.
  std::vector<std::int64_t> sums(10 * groups_.size(), 0);
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (const auto& member : groups_[g].own) {
      const Vec3 place = place_of(g, member), reference = reference_of(groups_[g], member);
      const std::array<double, 3> x = {place.x, place.y, place.z}, y = {reference.x, reference.y, reference.z};
      for (std::size_t a = 0; a < 3; ++a)
        for (std::size_t b = 0; b < 3; ++b) add_fixed(sums[10 * g + 3 * a + b], to_fixed(y[a] * x[b], square_unit));
      add_fixed(sums[10 * g + 9], to_fixed(norm2(place) + norm2(reference), square_unit));
    }
  comm_.all_reduce_sum(sums);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const auto& settings = *groups_[g].settings;
    Matrix3 m{};
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t b = 0; b < 3; ++b) m[a][b] = from_fixed(sums[10 * g + 3 * a + b], square_unit);
    const auto best = superpose(m);
    const auto n = static_cast<double>(settings.atoms.size());
    const double squares = from_fixed(sums[10 * g + 9], square_unit);
    const double deviation = std::sqrt(std::max(0.0, (squares - 2 * best.eigenvalue) / n));
    const Potential potential{settings.k.at(time), settings.flat};
    const double apart = deviation - settings.target.at(time);
    constexpr double least = 1e-6;  // Å; below it atoms are at their references, and the gradient has no direction
    // ∂E/∂d over n·d; ranks with processors of other kinds might round differently.
    std::array<double, 10> shared{};
    if (deviation > least) shared[9] = std::copysign(potential.slope(std::abs(apart)), apart) / (n * deviation);
    for (std::size_t a = 0; a < 9; ++a) shared[a] = best.r[a / 3][a % 3];
    comm_.broadcast(std::as_writable_bytes(std::span(shared)), 0);
    for (const auto& member : groups_[g].own) {
      const Vec3 place = place_of(g, member), y = reference_of(groups_[g], member);
      const auto turned = [&](std::size_t a) {
        return shared[3 * a] * y.x + shared[3 * a + 1] * y.y + shared[3 * a + 2] * y.z;
      };
      const Vec3 force = -shared[9] * (place - Vec3{turned(0), turned(1), turned(2)});
      accumulator.add_force_alone(member.slot, force);
      if (accumulator.energies != nullptr) accumulator.energies->add_virial(place, force);
    }
    if (accumulator.energies != nullptr && comm_.is_root())
      accumulator.energies->add(Term::restraint, potential.energy(std::abs(apart)));
  }
}

}  // namespace tessera::md::restraint
