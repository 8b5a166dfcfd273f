// Contains the bodies of cluster_atoms.h; cluster_atoms.cpp includes it once for each instruction set.
#include "tessera/md/domain/place-inl.h"
#include "tessera/md/lane_sums/lane_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D4 = hn::FixedTag<float, cluster_size>;
using V4 = hn::Vec<D4>;
using DI4 = hn::RebindToSigned<D4>;

struct Coordinates {
  V4 x, y, z;

  HWY_INLINE static Coordinates load(const float* x, const float* y, const float* z) {
    const D4 d;
    return {hn::LoadU(d, x), hn::LoadU(d, y), hn::LoadU(d, z)};
  }
  /// Returns the square of the distance from there.
  HWY_INLINE V4 distance2(const Coordinates& there) const {
    const V4 dx = hn::Sub(x, there.x), dy = hn::Sub(y, there.y), dz = hn::Sub(z, there.z);
    return hn::Add(hn::Add(hn::Mul(dx, dx), hn::Mul(dy, dy)), hn::Mul(dz, dz));
  }
};

bool SetCoordinates(const SingleTriangular& to_length, const AtomsOfClusters& atoms, ClusterData* clusters,
                    float* stride) {
  const D4 d;
  const DI4 whole;
  const auto centre_x = hn::Set(whole, atoms.centre.x), centre_y = hn::Set(whole, atoms.centre.y),
             centre_z = hn::Set(whole, atoms.centre.z);
  alignas(16) constexpr float lanes[cluster_size] = {1, 2, 3, 4};
  const V4 padding = hn::Mul(hn::Set(d, padding_distance), hn::Load(d, lanes));
  auto beyond = hn::FirstN(d, 0);
  for (std::int64_t c = 0; c < atoms.n_clusters; ++c) {
    const std::int64_t slot = cluster_size * c;
    auto fx = hn::Zero(whole), fy = fx, fz = fx;
    hn::LoadInterleaved3(whole, &atoms.position[slot].x, fx, fy, fz);
    const V4 rx = hn::ConvertTo(d, hn::Sub(fx, centre_x)), ry = hn::ConvertTo(d, hn::Sub(fy, centre_y)),
             rz = hn::ConvertTo(d, hn::Sub(fz, centre_z));
    const auto place = domain::HWY_NAMESPACE::PlaceOf(d, to_length, rx, ry, rz);
    Coordinates now{place.x, place.y, place.z};
    ClusterData& cluster = clusters[c];
    const ClusterPlaces& listed = atoms.listed[c];
    const V4 reach = hn::LoadU(d, atoms.reach + slot);
    auto is_beyond = hn::Gt(now.distance2(Coordinates::load(listed.x, listed.y, listed.z)), hn::Mul(reach, reach));
    V4 moved = hn::Sqrt(now.distance2(Coordinates::load(cluster.x, cluster.y, cluster.z)));
    const std::int64_t* id = atoms.id + slot;
    if (HWY_UNLIKELY((id[0] | id[1] | id[2] | id[3]) < 0)) {
      alignas(16) float marks[cluster_size];
      for (int k = 0; k < cluster_size; ++k) marks[k] = id[k] < 0 ? 1.0f : 0.0f;
      const auto is_padding = hn::Ne(hn::Load(d, marks), hn::Zero(d));
      now = {hn::IfThenElse(is_padding, padding, now.x), hn::IfThenElse(is_padding, padding, now.y),
             hn::IfThenElse(is_padding, padding, now.z)};
      is_beyond = hn::AndNot(is_padding, is_beyond);
      if (stride != nullptr) moved = hn::IfThenElse(is_padding, hn::LoadU(d, stride + slot), moved);
    }
    beyond = hn::Or(beyond, is_beyond);
    if (stride != nullptr) hn::StoreU(moved, d, stride + slot);
    hn::Store(now.x, d, cluster.x);
    hn::Store(now.y, d, cluster.y);
    hn::Store(now.z, d, cluster.z);
  }
  return !hn::AllFalse(d, beyond);
}

/// Adds forces on four atoms to theirs, (4,3). `d` has all four lanes, or two.
template <class D>
HWY_INLINE void AddFour(D d, const hn::Vec<DI4> (&sum)[3], std::int64_t* force) {
  constexpr auto scale = static_cast<std::uint64_t>(pair_force_unit / force_unit);
  static_assert(std::has_single_bit(scale));
  const auto add = [&](const auto& part, std::int64_t* to) HWY_ATTR {
    const auto component = [&](std::size_t i)
                               HWY_ATTR { return hn::ShiftLeft<std::countr_zero(scale)>(hn::PromoteTo(d, part(i))); };
    lane_sums::HWY_NAMESPACE::AddToRow(d, component(0), component(1), component(2), to);
  };
  if constexpr (hn::MaxLanes(D()) == cluster_size) {
    add([&](std::size_t i) HWY_ATTR { return sum[i]; }, force);
  } else {
    const hn::Half<DI4> half;
    add([&](std::size_t i) HWY_ATTR { return hn::LowerHalf(half, sum[i]); }, force);
    add([&](std::size_t i) HWY_ATTR { return hn::UpperHalf(half, sum[i]); }, force + 3 * hn::MaxLanes(D()));
  }
}

void AddToAtoms(const std::vector<ClusterForces>* buffers, std::size_t n_buffers, std::int64_t begin, std::int64_t end,
                std::int64_t* force) {
  const DI4 d;
  for (std::int64_t c = begin; c < end; ++c) {
    hn::Vec<DI4> sum[3] = {hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    for (std::size_t b = 0; b < n_buffers; ++b) {
      const std::int32_t* value = buffers[b][static_cast<std::size_t>(c)].value;
      for (std::size_t i = 0; i < 3; ++i) sum[i] = hn::Add(sum[i], hn::Load(d, value + force_offset[i]));
    }
    AddFour(hn::CappedTag<std::int64_t, cluster_size>(), sum, force + 3 * cluster_size * c);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pair
HWY_AFTER_NAMESPACE();
