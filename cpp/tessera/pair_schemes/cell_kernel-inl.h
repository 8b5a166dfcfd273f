// Contains what the two kernels share: layouts, and one i-atom against a register of j-atoms. It is included once for
// each instruction set.
#include "tessera/base/fixed_point.h"
#include "tessera/base/simd/stage-inl.h"
#include "tessera/md/pair/functions-inl.h"
#include "tessera/pair_schemes/cell_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::pair_schemes {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = tessera::simd::HWY_NAMESPACE;
using namespace md::pair::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace): this instruction set's functions

constexpr auto width = static_cast<std::int32_t>(lanes);
using P = Pack<1>;

/// Holds x, y and z of some atoms.
template <class T>
struct Triple {
  T x, y, z;
};

template <Layout layout>
struct Access;

template <>
struct Access<Layout::array_of_structures> {
  static std::int64_t At(const CellAtoms&, std::int64_t slot, std::int64_t d) { return 3 * slot + d; }

  template <class Tag, class T = hn::TFromD<Tag>>
  static HWY_INLINE Triple<hn::Vec<Tag>> Load(Tag tag, const CellAtoms&, const T* values, std::int32_t slot) {
    Triple<hn::Vec<Tag>> v;
    hn::LoadInterleaved3(tag, values + 3 * static_cast<std::int64_t>(slot), v.x, v.y, v.z);
    return v;
  }
  static HWY_INLINE void Store(const Triple<VI>& v, const CellAtoms&, std::int32_t* values, std::int32_t slot) {
    hn::StoreInterleaved3(v.x, v.y, v.z, DI(), values + 3 * static_cast<std::int64_t>(slot));
  }
  template <class Tag, class T = hn::TFromD<Tag>>
  static HWY_INLINE Triple<hn::Vec<Tag>> Gather(Tag tag, const CellAtoms&, const T* values, VI slots) {
    const VI at = hn::Add(slots, hn::Add(slots, slots));
    return {hn::GatherIndex(tag, values, at), hn::GatherIndex(tag, values + 1, at),
            hn::GatherIndex(tag, values + 2, at)};
  }
  static HWY_INLINE void Scatter(const Triple<VI>& v, const CellAtoms&, std::int32_t* values, VI slots) {
    const VI at = hn::Add(slots, hn::Add(slots, slots));
    hn::ScatterIndex(v.x, DI(), values, at);
    hn::ScatterIndex(v.y, DI(), values + 1, at);
    hn::ScatterIndex(v.z, DI(), values + 2, at);
  }
};

template <>
struct Access<Layout::structure_of_arrays> {
  static std::int64_t At(const CellAtoms& atoms, std::int64_t slot, std::int64_t d) { return slot + d * atoms.n_slots; }

  template <class Tag, class T = hn::TFromD<Tag>>
  static HWY_INLINE Triple<hn::Vec<Tag>> Load(Tag tag, const CellAtoms& atoms, const T* values, std::int32_t slot) {
    const T* x = values + slot;
    return {hn::LoadU(tag, x), hn::LoadU(tag, x + atoms.n_slots), hn::LoadU(tag, x + 2 * atoms.n_slots)};
  }
  static HWY_INLINE void Store(const Triple<VI>& v, const CellAtoms& atoms, std::int32_t* values, std::int32_t slot) {
    std::int32_t* x = values + slot;
    hn::StoreU(v.x, DI(), x);
    hn::StoreU(v.y, DI(), x + atoms.n_slots);
    hn::StoreU(v.z, DI(), x + 2 * atoms.n_slots);
  }
  template <class Tag, class T = hn::TFromD<Tag>>
  static HWY_INLINE Triple<hn::Vec<Tag>> Gather(Tag tag, const CellAtoms& atoms, const T* values, VI slots) {
    return {hn::GatherIndex(tag, values, slots), hn::GatherIndex(tag, values + atoms.n_slots, slots),
            hn::GatherIndex(tag, values + 2 * atoms.n_slots, slots)};
  }
  static HWY_INLINE void Scatter(const Triple<VI>& v, const CellAtoms& atoms, std::int32_t* values, VI slots) {
    hn::ScatterIndex(v.x, DI(), values, slots);
    hn::ScatterIndex(v.y, DI(), values + atoms.n_slots, slots);
    hn::ScatterIndex(v.z, DI(), values + 2 * atoms.n_slots, slots);
  }
};

/// Loads consecutive j-atoms into a register.
template <Layout layout>
struct Consecutive {
  std::int32_t first;

  HWY_INLINE V Values(const float* values) const { return hn::LoadU(D(), values + first); }
  HWY_INLINE VI Values(const std::int32_t* values) const { return hn::LoadU(DI(), values + first); }
  HWY_INLINE Triple<V> Places(const CellAtoms& atoms) const {
    return Access<layout>::Load(D(), atoms, atoms.place, first);
  }
  HWY_INLINE Triple<VI> Forces(const CellAtoms& atoms, const std::int32_t* force) const {
    return Access<layout>::Load(DI(), atoms, force, first);
  }
  HWY_INLINE void SetForces(const Triple<VI>& f, const CellAtoms& atoms, std::int32_t* force) const {
    Access<layout>::Store(f, atoms, force, first);
  }
};

/// Loads j-atoms at arbitrary slots, all different, into a register.
template <Layout layout>
struct Indexed {
  VI slots;

  HWY_INLINE V Values(const float* values) const { return hn::GatherIndex(D(), values, slots); }
  HWY_INLINE VI Values(const std::int32_t* values) const { return hn::GatherIndex(DI(), values, slots); }
  HWY_INLINE Triple<V> Places(const CellAtoms& atoms) const {
    return Access<layout>::Gather(D(), atoms, atoms.place, slots);
  }
  HWY_INLINE Triple<VI> Forces(const CellAtoms& atoms, const std::int32_t* force) const {
    return Access<layout>::Gather(DI(), atoms, force, slots);
  }
  HWY_INLINE void SetForces(const Triple<VI>& f, const CellAtoms& atoms, std::int32_t* force) const {
    Access<layout>::Scatter(f, atoms, force, slots);
  }
};

/// Returns a mask of the first `n` lanes; n may be negative or greater than the number of lanes.
HWY_INLINE M FirstLanes(std::int32_t n) { return hn::FirstN(D(), static_cast<std::size_t>(std::clamp(n, 0, width))); }

/// Holds an i-atom's values, spread over registers.
struct IAtom {
  V x, y, z, q, sigma, epsilon;
  bool by_table;  // its type has parameters of its own with some other type
  std::int32_t table_row;

  template <Layout layout>
  HWY_INLINE void Load(const CellAtoms& atoms, std::int32_t slot, const std::array<float, 3>& shift) {
    using A = Access<layout>;
    const auto s = static_cast<std::size_t>(slot);
    x = set(atoms.place[A::At(atoms, slot, 0)] - shift[0]);
    y = set(atoms.place[A::At(atoms, slot, 1)] - shift[1]);
    z = set(atoms.place[A::At(atoms, slot, 2)] - shift[2]);
    q = set(atoms.q[s]);
    sigma = set(atoms.sigma[s]);
    epsilon = set(atoms.epsilon[s]);
    by_table = atoms.table_pairs.any && atoms.table_pairs.has_table[static_cast<std::size_t>(atoms.type[s])] != 0;
    table_row = atoms.type[s] * atoms.table_pairs.n_types;
  }
};

// Results must not depend on the list, but the atoms in neighbouring lanes do. Each pair is therefore rounded by
// itself, and all sums are sums of integers.

/// Sums the force on an i-atom, in pair_force_unit.
struct ForceSum {
  VI x, y, z;

  HWY_INLINE void Clear() { x = y = z = hn::Zero(DI()); }
};

/// Holds the table's functions, interpolated between two points.
struct Interpolated {
  V repulsion, dispersion, coulomb;
};

/// Reads row by row and transposes, because gathers cost more.
HWY_INLINE Interpolated Interpolate(const std::vector<float>& values, VI point, V fraction) {
  static_assert(PairTable::stride == 8 && PairTable::repulsion == 0 && PairTable::dispersion == 2 &&
                PairTable::coulomb == 4);
  HWY_ALIGN std::int32_t at[lanes];
  HWY_ALIGN float lower[4 * lanes], upper[4 * lanes];
  hn::Store(hn::ShiftLeft<3>(point), DI(), at);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const float* row = values.data() + at[lane];
    hn::Store(hn::LoadU(D4(), row), D4(), lower + 4 * lane);
    hn::Store(hn::LoadU(D4(), row + 4), D4(), upper + 4 * lane);
  }
  V value[3], step[3], none;
  hn::LoadInterleaved4(D(), lower, value[0], step[0], value[1], step[1]);
  hn::LoadInterleaved4(D(), upper, value[2], step[2], none, none);
  return {simd::MulAdd(fraction, step[0], value[0]), simd::MulAdd(fraction, step[1], value[1]),
          simd::MulAdd(fraction, step[2], value[2])};
}

/// Holds the arguments of the functions of distance: r⁻⁶ and r⁻¹² are multiplied by 6B and 12A, Coulomb by the product
/// of the charges.
struct PairTerms {
  Distance<P> distance;
  V b6, a12, qq;
  M interact, excluded;  // excluded pairs get the mesh correction only
};

/// Holds F/r, which is meaningless for pairs that are `too_close` for the functions.
struct PairValues {
  V force_over_r;
  M too_close;
};

/// Returns F·r of Coulomb minus the mesh's contribution; for excluded pairs, only minus that contribution.
template <class Choice>
HWY_INLINE V CoulombWithoutMesh(const KernelConstants& k, const PairTerms& pair) {
  const P direct = hn::IfThenElseZero(pair.interact, pair.distance.inverse.part[0]);
  return hn::Mul(pair.qq, WithoutMesh<Choice>(k, k.ewald_pieces, pair.distance.r2, direct).part[0]);
}

/// Evaluates the functions of functions-inl.h, compiled for a choice of modifiers.
template <class Choice>
struct Analytic {
  static HWY_INLINE PairValues Compute(const CellAtoms& atoms, const PairTerms& pair) {
    const auto& k = atoms.constants;
    const V inverse2 = pair.distance.inverse2.part[0];
    const V inverse6 = hn::Mul(hn::Mul(inverse2, inverse2), inverse2);
    const P dispersion = hn::Mul(pair.b6, inverse6), repulsion = hn::Mul(pair.a12, hn::Mul(inverse6, inverse6));
    const auto lj = LennardJones<Choice, false>(k, repulsion, dispersion, pair.distance);
    PairValues values;
    values.too_close = FirstLanes(0);
    if (ChosenCoulomb<Choice>(k) == Electrostatics::pme) {
      const V of_lj = hn::IfThenElseZero(pair.interact, lj.force_times_r.part[0]);
      values.force_over_r = hn::IfThenElseZero(hn::Or(pair.interact, pair.excluded),
                                               hn::Mul(hn::Add(of_lj, CoulombWithoutMesh<Choice>(k, pair)), inverse2));
    } else {
      const auto plain = PlainCoulomb<false>(k, pair.distance);
      const V direct = simd::MulAdd(pair.qq, plain.force_times_r.part[0], lj.force_times_r.part[0]);
      values.force_over_r = hn::Mul(hn::IfThenElseZero(pair.interact, direct), inverse2);
    }
    return values;
  }
  static HWY_INLINE bool AddsSigmas(const KernelConstants& k) {
    return ChosenRule<Choice>(k) == KernelRule::lorentz_berthelot;
  }
};

/// Evaluates the functions of pair_table.h.
struct Tabulated {
  static HWY_INLINE PairValues Compute(const CellAtoms& atoms, const PairTerms& pair) {
    const D d;
    const V inverse2 = pair.distance.inverse2.part[0];
    const auto& table = *atoms.table;
    const V x = hn::Min(hn::Mul(inverse2, set(table.scale)), set(static_cast<float>(table.n_points - 2)));
    const VI point = hn::ConvertTo(DI(), x);
    const V fraction = hn::Sub(x, hn::ConvertTo(d, point));
    const auto force = Interpolate(table.force, point, fraction);
    const V lj = simd::NegMulAdd(pair.b6, force.dispersion, hn::Mul(pair.a12, force.repulsion));
    PairValues values;
    values.too_close =
        hn::And(pair.interact, hn::Lt(pair.distance.r2.part[0], set(shortest_in_table * shortest_in_table)));
    values.force_over_r = hn::IfThenElseZero(pair.interact, simd::MulAdd(pair.qq, force.coulomb, lj));
    if (atoms.constants.electrostatics == Electrostatics::pme && HWY_UNLIKELY(!hn::AllFalse(d, pair.excluded)))
      values.force_over_r = hn::IfThenElse(
          pair.excluded, hn::Mul(CoulombWithoutMesh<Runtime>(atoms.constants, pair), inverse2), values.force_over_r);
    return values;
  }
  static HWY_INLINE bool AddsSigmas(const KernelConstants& k) { return k.rule == KernelRule::lorentz_berthelot; }
};

/// Computes one i-atom with a register of j-atoms. Pairs `within` interact; the `excluded` ones among them get the mesh
/// correction only. Returns the pairs left out because they are too close for the integer sums or the table.
template <class Function, class JAtoms>
[[nodiscard]] TESSERA_STAGE M AddPairs(const CellAtoms& atoms, const IAtom& i, const JAtoms& j, M within, M excluded,
                                       std::int32_t* force_of, ForceSum& sum) {
  const D d;
  const auto& k = atoms.constants;
  const auto place = j.Places(atoms);
  const V dx = hn::Sub(i.x, place.x), dy = hn::Sub(i.y, place.y), dz = hn::Sub(i.z, place.z);
  const V distance2 = simd::MulAdd(dx, dx, simd::MulAdd(dy, dy, hn::Mul(dz, dz)));
  const M active = hn::And(within, hn::Lt(distance2, set(k.range2)));
  PairTerms pair;
  pair.excluded = hn::And(active, excluded);
  pair.interact = hn::AndNot(excluded, active);
  pair.distance =
      DistanceOf(P(hn::Max(distance2, set(1e-4f))));  // keeps the force of coinciding atoms finite, yet huge
  pair.qq = hn::Mul(i.q, j.Values(atoms.q));
  if (HWY_UNLIKELY(i.by_table)) {
    const VI at = hn::Add(hn::Set(DI(), i.table_row), j.Values(atoms.type));
    pair.b6 = hn::GatherIndex(d, k.table_6b, at);
    pair.a12 = hn::GatherIndex(d, k.table_12a, at);
  } else {
    const V sj = j.Values(atoms.sigma);
    const V sigma = Function::AddsSigmas(k) ? hn::Add(i.sigma, sj) : hn::Mul(i.sigma, sj);
    const V s2 = hn::Mul(sigma, sigma), s6 = hn::Mul(hn::Mul(s2, s2), s2);
    pair.b6 = hn::Mul(hn::Mul(i.epsilon, j.Values(atoms.epsilon)), s6);
    pair.a12 = hn::Mul(pair.b6, s6);
  }
  if (k.has_two_cutoffs) {
    const M within_lj = hn::Lt(distance2, set(k.lj_cutoff2));
    pair.b6 = hn::IfThenElseZero(within_lj, pair.b6);
    pair.a12 = hn::IfThenElseZero(within_lj, pair.a12);
  }
  auto values = Function::Compute(atoms, pair);
  const M too_close = hn::Or(values.too_close, hn::Not(hn::Lt(hn::Abs(values.force_over_r), set(clash_force_over_r))));
  if (HWY_UNLIKELY(!hn::AllFalse(d, too_close))) {
    values.force_over_r = hn::IfThenZeroElse(too_close, values.force_over_r);
  }

  const V fx = hn::Mul(values.force_over_r, dx), fy = hn::Mul(values.force_over_r, dy),
          fz = hn::Mul(values.force_over_r, dz);
  const VI ix = simd::ToIntegers(fx), iy = simd::ToIntegers(fy), iz = simd::ToIntegers(fz);
  sum.x = hn::Add(sum.x, ix);
  sum.y = hn::Add(sum.y, iy);
  sum.z = hn::Add(sum.z, iz);
  auto fj = j.Forces(atoms, force_of);
  fj.x = hn::Sub(fj.x, ix);
  fj.y = hn::Sub(fj.y, iy);
  fj.z = hn::Sub(fj.z, iz);
  j.SetForces(fj, atoms, force_of);
  return too_close;
}

/// Adds a row's sum to its i-atom.
template <Layout layout>
HWY_INLINE void AddIForce(const CellAtoms& atoms, const ForceSum& sum, std::int32_t slot, std::int32_t* force) {
  const VI* all[] = {&sum.x, &sum.y, &sum.z};
  for (std::int64_t d = 0; d < 3; ++d) {
    auto& total = force[Access<layout>::At(atoms, slot, d)];
    const auto of_row = hn::GetLane(hn::SumOfLanes(DI(), *all[d]));
    total = static_cast<std::int32_t>(static_cast<std::uint32_t>(total) + static_cast<std::uint32_t>(of_row));
  }
}

/// Calls visit(first, mask) for registers of the slots [begin, end) in which an atom is closer than cutoff + reach_i +
/// reach_j to an i-atom, until it returns false.
template <Layout layout, class Visit>
HWY_INLINE void FindNear(const CellAtoms& atoms, std::int32_t i, const std::array<float, 3>& shift, float cutoff,
                         std::int32_t begin, std::int32_t end, Visit&& visit) {
  using A = Access<layout>;
  const D d;
  const V x = set(atoms.place[A::At(atoms, i, 0)] - shift[0]), y = set(atoms.place[A::At(atoms, i, 1)] - shift[1]),
          z = set(atoms.place[A::At(atoms, i, 2)] - shift[2]), reach = set(cutoff + atoms.reach[i]);
  for (auto j = begin; j < end; j += width) {
    const auto place = A::Load(d, atoms, atoms.place, j);
    const V dx = hn::Sub(x, place.x), dy = hn::Sub(y, place.y), dz = hn::Sub(z, place.z);
    const V distance2 = simd::MulAdd(dx, dx, simd::MulAdd(dy, dy, hn::Mul(dz, dz)));
    const V range = hn::Add(reach, hn::LoadU(d, atoms.reach + j));
    const M near = hn::And(hn::Lt(distance2, hn::Mul(range, range)), FirstLanes(end - j));
    if (!hn::AllFalse(d, near) && !visit(j, near)) return;
  }
}

/// Appends the pairs that AddPairs() left out to `close`.
HWY_INLINE void NameClose(std::int32_t i, VI slots, M too_close, M excluded, std::int32_t offset,
                          std::vector<ClosePair>& close) {
  HWY_ALIGN std::int32_t j[lanes];
  hn::Store(slots, DI(), j);
  std::uint8_t left_out[8] = {}, no_pair[8] = {};
  hn::StoreMaskBits(D(), too_close, left_out);
  hn::StoreMaskBits(D(), excluded, no_pair);
  for (std::size_t lane = 0; lane < lanes; ++lane)
    if (left_out[lane / 8] >> (lane % 8) & 1)
      close.push_back({i, j[lane], offset, (no_pair[lane / 8] >> (lane % 8) & 1) != 0});
}

template <class Run>
void WithLayout(const CellAtoms& atoms, Run&& run) {
  if (atoms.layout == Layout::array_of_structures)
    run(std::integral_constant<Layout, Layout::array_of_structures>());
  else
    run(std::integral_constant<Layout, Layout::structure_of_arrays>());
}

/// Calls run(function, layout) with the functions and the layout of the atoms.
template <class Run>
void Dispatch(const CellAtoms& atoms, Run&& run) {
  const auto with_layout = [&](auto function) { WithLayout(atoms, [&](auto layout) { run(function, layout); }); };
  const auto& k = atoms.constants;
  if (atoms.table != nullptr) return with_layout(Tabulated());
  if (k.electrostatics == Electrostatics::pme && k.rule == KernelRule::lorentz_berthelot && !k.needs_high_degree) {
    if (k.lj == LjModifier::force_switch) return with_layout(Analytic<Fixed<LjModifier::force_switch>>());
    if (k.lj == LjModifier::potential_switch) return with_layout(Analytic<Fixed<LjModifier::potential_switch>>());
  }
  with_layout(Analytic<Runtime>());
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::pair_schemes
HWY_AFTER_NAMESPACE();
