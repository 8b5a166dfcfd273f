// Spreads charges to the mesh and interpolates forces on a device. Of an atom each lane has one point along z, of 4 or 8,
// and sums over the points along x and y; lanes beyond the spline have zeros. Operations and the order of sums are those of
// kernel-inl.h, which has an atom's points along z in a register.
#include "tessera/base/simd/lane/run.h"
#include "tessera/md/lane_sums/fixed_force-inl.h"
#include "tessera/md/pme/device/mesh_kernel.h"
#include "tessera/md/pme/kernel.h"
#include "tessera/md/pme/spline-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pme {
namespace HWY_NAMESPACE {

using VI = hn::Vec<DI>;
using M = hn::Mask<DI>;

using simd::Integer;

/// An atom in each lane, with its splines and the lane's point along z.
template <int order>
struct AtomsOfLanes {
  static constexpr int lanes_of_atom = order > 4 ? 8 : 4, atoms_of_warp = hn::warp_size / lanes_of_atom;

  VI atom, z;
  M exists;
  V charge;
  VI first[3];
  V weight[3][order], slope[3][order];

  HWY_INLINE AtomsOfLanes(const MeshArguments& a, const simd::Place& place) {
    const VI lane = simd::LaneNumbers(), number = simd::Quotient(lane, lanes_of_atom);
    z = hn::And(lane, Integer(lanes_of_atom - 1));
    const VI any = hn::Add(Integer(place.OfAll() * atoms_of_warp), number);
    exists = hn::Lt(any, Integer(a.n_atoms));
    atom = hn::Min(any, Integer(a.n_atoms - 1));
    charge = hn::GatherIndex(D(), a.charge, atom);
    const VI values = hn::Mul(atom, Integer(3));
    constexpr std::int32_t Fraction::*of_direction[3] = {&Fraction::x, &Fraction::y, &Fraction::z};
    HWY_UNROLL(3)
    for (int d = 0; d < 3; ++d) {
      const auto at = Locate(hn::GatherIndex(DI(), &(a.position->*of_direction[d]), values), a.grid[d], a.offset[d]);
      first[d] = at.first;
      FillSpline<order>(at.rest, weight[d], slope[d]);
    }
  }

  /// Returns the value of the lane's point along z; zero beyond the spline.
  HWY_INLINE V OfZ(const V* values) const {
    V found = hn::Zero(D());
    HWY_UNROLL(8)
    for (int k = 0; k < order; ++k) found = hn::IfThenElse(hn::Eq(z, Integer(k)), values[k], found);
    return found;
  }
  /// Returns point k after the first one along a direction of n points.
  HWY_INLINE VI Point(int d, VI k, std::uint32_t n) const {
    const VI at = hn::Add(first[d], k), all = Integer(static_cast<std::int32_t>(n));
    return hn::IfThenElse(hn::Lt(at, all), at, hn::Sub(at, all));
  }
  /// Returns the lane's point along z; the last one of the spline where the lane has none.
  HWY_INLINE VI PointOfZ(const MeshArguments& a) const { return Point(2, hn::Min(z, Integer(order - 1)), a.grid[2]); }
  /// Returns where the lane's point is in the mesh: in plane x, at point j after the first one along y.
  HWY_INLINE VI InMesh(const MeshArguments& a, VI x, VI of_z, int j) const {
    const VI y = Point(1, Integer(j), a.grid[1]);
    const VI row = hn::Add(hn::Mul(x, Integer(static_cast<std::int32_t>(a.grid[1]))), y);
    return hn::Add(hn::Mul(row, Integer(static_cast<std::int32_t>(a.grid[2]))), of_z);
  }
};

/// Adds charges to the integers of the mesh.
template <int order>
struct SpreadKernel {
  static constexpr int n_phases = 1, warps_of_block = 4, blocks_at_once = order > 4 ? 4 : 8;
  using Arguments = MeshArguments;
  struct Shared {};

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared&, const simd::Place& place) {
    const AtomsOfLanes<order> atoms(a, place);
    const M adds = hn::And(hn::And(atoms.exists, hn::Ne(atoms.charge, hn::Zero(D()))), hn::Lt(atoms.z, Integer(order)));
    const V charge = hn::Mul(atoms.charge, set(static_cast<float>(charge_scale<float>)));
    const V wz = atoms.OfZ(atoms.weight[2]);
    const VI of_z = atoms.PointOfZ(a);
    HWY_UNROLL(8)
    for (int i = 0; i < order; ++i) {
      const V wxz = hn::Mul(hn::Mul(charge, atoms.weight[0][i]), wz);
      const VI x = atoms.Point(0, Integer(i), a.grid[0]);
      HWY_UNROLL(8)
      for (int j = 0; j < order; ++j)
        simd::AtomicAdd(simd::ToIntegers(hn::Mul(atoms.weight[1][j], wxz)), a.fixed, atoms.InMesh(a, x, of_z, j), adds);
    }
  }
};

/// Adds the forces on atoms.
template <int order>
struct GatherKernel {
  static constexpr int n_phases = 1, warps_of_block = 4, blocks_at_once = order > 4 ? 4 : 8;
  using Arguments = MeshArguments;
  struct Shared {};

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared&, const simd::Place& place) {
    const AtomsOfLanes<order> atoms(a, place);
    const VI of_z = atoms.PointOfZ(a);
    V x = hn::Zero(D()), y = x, z = x;
    HWY_UNROLL(8)
    for (int i = 0; i < order; ++i) {
      V sum = hn::Zero(D()), slope = sum;
      const VI plane = atoms.Point(0, Integer(i), a.grid[0]);
      HWY_UNROLL(8)
      for (int j = 0; j < order; ++j) {
        const V value = hn::GatherIndex(D(), a.potential, atoms.InMesh(a, plane, of_z, j));
        sum = simd::MulAdd(atoms.weight[1][j], value, sum);
        slope = simd::MulAdd(atoms.slope[1][j], value, slope);
      }
      x = simd::MulAdd(atoms.slope[0][i], sum, x);
      y = simd::MulAdd(atoms.weight[0][i], slope, y);
      z = simd::MulAdd(atoms.weight[0][i], sum, z);
    }
    const V weight = atoms.OfZ(atoms.weight[2]);
    const V gradient[3] = {SumOfAtom(hn::Mul(x, weight)), SumOfAtom(hn::Mul(y, weight)),
                           SumOfAtom(hn::Mul(z, atoms.OfZ(atoms.slope[2])))};
    AddForces(a, atoms, gradient);
  }

 private:
  /// Returns the sum over the lanes of an atom.
  static HWY_INLINE V SumOfAtom(V value) {
    const V four = order > 4 ? hn::Add(value, simd::Exchange<4>(value)) : value;
    const V two = hn::Add(four, simd::Exchange<1>(four));
    return hn::Add(two, simd::Exchange<2>(two));
  }

  /// Adds one component of the forces in each of the first three lanes of an atom.
  static HWY_INLINE void AddForces(const Arguments& a, const AtomsOfLanes<order>& atoms, const V (&gradient)[3]) {
    namespace sums = lane_sums::HWY_NAMESPACE;
    const sums::D d;
    const auto q = hn::PromoteTo(d, atoms.charge);
    const VI component = hn::Min(atoms.z, Integer(2));
    const auto share = [&](int of) HWY_ATTR {
      const auto to_force = hn::GatherIndex(d, a.to_force + 3 * of, component);
      return hn::Mul(hn::Mul(q, hn::PromoteTo(d, gradient[of])), to_force);
    };
    const auto force = sums::FixedForce(hn::Add(hn::Add(share(0), share(1)), share(2)));
    simd::AtomicAdd(hn::IfThenElseZero(hn::Ne(atoms.charge, hn::Zero(D())), force), a.total,
                    hn::Add(hn::Mul(atoms.atom, Integer(3)), component),
                    hn::And(atoms.exists, hn::Lt(atoms.z, Integer(3))));
  }
};

struct ConvertKernel {
  static constexpr int n_phases = 1, warps_of_block = 4, blocks_at_once = 8;
  using Arguments = ConvertArguments;
  struct Shared {};

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared&, const simd::Place& place) {
    simd::ForLanesOfAll(place, a.n, [&](VI at, M exists) HWY_ATTR { Convert(a, at, exists); });
  }

 private:
  static HWY_INLINE void Convert(const Arguments& a, VI at, M exists) {
    const VI value = hn::GatherIndex(DI(), a.fixed, at);
    const V scale = set(static_cast<float>(1 / charge_scale<float>));
    simd::Scatter(hn::Mul(hn::ConvertTo(D(), value), scale), a.charge, at, exists);
    const M is_too_great = hn::Or(hn::Gt(value, Integer(a.limit)), hn::Lt(value, Integer(-a.limit)));
    simd::AtomicAdd(Integer(1), a.n_too_great, Integer(0), hn::And(exists, is_too_great));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pme
HWY_AFTER_NAMESPACE();
