// Sums pairs on a device: a warp takes a row of the list, two entries at a time, a pair of atoms to a lane. Lane 4i + j of
// a half of the warp is atom i of the i-cluster with atom j of the j-cluster, as in registers of sixteen lanes.
//
// Formulas are those of interaction-inl.h. What is summed across entries are integers, so that their order is free: see
// the orders inside an entry in cluster_kernel-inl.h, which are the same here.
#include "tessera/base/simd/lane/run.h"
#include "tessera/md/pair/device/pair_kernel.h"
#include "tessera/md/pair/interaction-inl.h"
#include "tessera/md/pair/single_sum_virial.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

using DU = hn::RebindToUnsigned<D>;
using VU = hn::Vec<DU>;
using DL = hn::CappedTag<std::int64_t, 8>;
using VL = hn::Vec<DL>;
using P = Pack<1>;

HWY_INLINE VI Integer(std::int32_t value) { return hn::Set(DI(), value); }

/// Numbers the lanes of an entry.
struct LanesOfEntry {
  VI half, in_half;   // of the warp: 0 or 1; the lane in it, 0 to 15
  VI i_atom, j_atom;  // 0 to 3
  M is_first;         // in its half

  HWY_INLINE LanesOfEntry() {
    const VI lane = simd::LaneNumbers();
    half = hn::ShiftRight<4>(lane);
    in_half = hn::And(lane, Integer(15));
    i_atom = hn::ShiftRight<2>(in_half);
    j_atom = hn::And(lane, Integer(3));
    is_first = hn::Eq(in_half, Integer(0));
  }
};

/// Returns a field of ClusterData for one atom of a cluster in each lane.
HWY_INLINE V FieldOf(const float (ClusterData::*field)[4], const ClusterData* clusters, VI cluster, VI atom) {
  constexpr std::int32_t stride = sizeof(ClusterData) / sizeof(float);
  return hn::GatherIndex(D(), clusters->*field, hn::Add(hn::Mul(cluster, Integer(stride)), atom));
}

/// Holds an atom's values in each lane.
struct AtomsOfLanes {
  V x, y, z, q, sigma, epsilon;

  HWY_INLINE AtomsOfLanes(const ClusterData* clusters, VI cluster, VI atom)
      : x(FieldOf(&ClusterData::x, clusters, cluster, atom)),
        y(FieldOf(&ClusterData::y, clusters, cluster, atom)),
        z(FieldOf(&ClusterData::z, clusters, cluster, atom)),
        q(FieldOf(&ClusterData::q, clusters, cluster, atom)),
        sigma(FieldOf(&ClusterData::sigma, clusters, cluster, atom)),
        epsilon(FieldOf(&ClusterData::epsilon, clusters, cluster, atom)) {}
};

/// Gives the values of two entries to ForceOverDistance().
template <bool by_table>
struct ValuesOfLanes {
  const AtomsOfLanes &i, &j;
  const EwaldPieces& pieces;
  M interact, excluded;                // of entries with masks
  V table_12a, table_6b, table_begin;  // of those whose parameters come from the table

  HWY_INLINE P ChargeI() const { return i.q; }
  HWY_INLINE V ChargeJ() const { return j.q; }
  HWY_INLINE P SigmaI() const { return i.sigma; }
  HWY_INLINE V SigmaJ() const { return j.sigma; }
  HWY_INLINE P EpsilonI() const { return i.epsilon; }
  HWY_INLINE V EpsilonJ() const { return j.epsilon; }
  HWY_INLINE MaskPack<1> Interact() const { return {{interact}}; }
  HWY_INLINE MaskPack<1> Excluded() const { return {{excluded}}; }
  HWY_INLINE bool HasTable() const { return by_table; }
  HWY_INLINE P TableRepulsion() const { return table_12a; }
  HWY_INLINE P TableDispersion() const { return table_6b; }
  HWY_INLINE P TableBegin() const { return table_begin; }
  HWY_INLINE const EwaldPieces& Pieces() const { return pieces; }

  /// Fetches parameters by the types of atoms, which are negative where there is none.
  template <Lookup lookup>
  HWY_INLINE void LookUpTypes(const KernelConstants& k, VI type_i, VI type_j) {
    const M padded = hn::Lt(hn::Min(type_i, type_j), Integer(0));
    const VI at = hn::IfThenZeroElse(padded, hn::Add(hn::Mul(type_i, Integer(k.n_types)), type_j));
    table_12a = hn::IfThenZeroElse(padded, hn::GatherIndex(D(), k.table_12a, at));
    table_6b = hn::IfThenZeroElse(padded, hn::GatherIndex(D(), k.table_6b, at));
    if constexpr (lookup == Lookup::some)
      table_begin = hn::IfThenZeroElse(padded, hn::ConvertTo(D(), hn::GatherIndex(DI(), k.lookup_begin, at)));
  }
};

/// Sums the energies of a row. Each entry's contribution is rounded to a multiple of 2⁻²⁴ kcal/mol; all lanes of a half
/// hold one of its two parts.
class EnergiesOfRow {
 public:
  HWY_INLINE EnergiesOfRow() {
    for (auto& one : sum_) one = hn::Zero(DL());
  }

  /// Keeps the energies of two entries until it is known that they do not clash.
  HWY_INLINE void Add(const P& lj, const P& real) {
    pending_[0] = Rounded(SumBlocks(lj.part));
    pending_[1] = Rounded(SumBlocks(real.part));
  }
  HWY_INLINE void AddPending(M counts) {
    for (int i = 0; i < 2; ++i) sum_[i] = hn::Add(sum_[i], hn::IfThenElseZero(counts, pending_[i]));
  }
  /// Adds the row's energies as EnergyVirial::add() does: multiples of large_energy apart.
  HWY_INLINE void AddTo(DeviceEnergy* energy, M is_first_of_warp) const {
    constexpr int bits = 44;  // large_energy in multiples of 2⁻²⁴
    static_assert(large_energy == std::int64_t{1} << (bits - 24) && energy_unit == 0x1p-28);
    for (int i = 0; i < 2; ++i) {
      const VL two = hn::Add(sum_[i], simd::Exchange<1>(sum_[i]));
      const VL row = hn::Add(two, simd::Exchange<16>(two));
      const M is_negative = hn::Lt(row, hn::Zero(DL()));
      const VL towards_zero = hn::IfThenElseZero(is_negative, hn::Set(DL(), (std::int64_t{1} << bits) - 1));
      const VL whole = hn::ShiftRight<bits>(hn::Add(row, towards_zero));
      const VL rest = hn::Sub(row, hn::ShiftLeft<bits>(whole));
      simd::AtomicAdd(hn::ShiftLeft<4>(rest), &energy[i].sum, Integer(0), is_first_of_warp);
      simd::AtomicAdd(whole, &energy[i].of_clashes, Integer(0),
                      hn::And(is_first_of_warp, hn::Ne(whole, hn::Zero(DL()))));
    }
  }

 private:
  /// Returns the sums of j-atoms 0 and 2, and of 1 and 3, in multiples of 2⁻²⁴ kcal/mol.
  static HWY_INLINE VL Rounded(V four) {
    constexpr float scale = 64;
    static_assert(pair_force_unit == 0x1p-24 * scale);
    const V two = hn::Add(four, simd::Exchange<2>(four));
    return simd::ToWideIntegers(hn::Mul(two, set(scale)));
  }

  VL pending_[2], sum_[2];
};

/// The kernel of pairs. `Choice` fixes settings as for the engine's loops.
template <class Choice, Beside beside>
struct PairKernel {
  static constexpr int n_phases = 3, warps_of_block = 4;
  using Arguments = PairArguments;
  struct Shared {
    EwaldPieces pieces;  // constants that lanes index would be fetched one after the other
    std::int64_t cell_force[n_neighbour_cells * 3];
  };

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared& shared, const simd::Place& place) {
    if constexpr (phase == 0) {
      constexpr std::int32_t n_pieces = sizeof(EwaldPieces) / sizeof(float);
      ForShare(place, n_pieces, [&](VI at, M is_inside) HWY_ATTR {
        simd::Scatter(hn::GatherIndex(D(), a.constants.ewald_pieces[0], at), shared.pieces[0], at, is_inside);
      });
      if constexpr (beside != Beside::nothing)
        ForShare(place, n_neighbour_cells * 3,
                 [&](VI at, M is_inside) HWY_ATTR { simd::Scatter(hn::Zero(DL()), shared.cell_force, at, is_inside); });
    } else if constexpr (phase == 1) {
      if (place.OfAll() < a.n_rows) RunRow(a, shared, place.OfAll());
    } else if constexpr (beside != Beside::nothing) {
      ForShare(place, n_neighbour_cells * 3, [&](VI at, M is_inside) HWY_ATTR {
        const VL sum = hn::GatherIndex(DL(), shared.cell_force, at);
        simd::AtomicAdd(sum, a.sums.cell_force, at, hn::And(is_inside, hn::Ne(sum, hn::Zero(DL()))));
      });
    }
  }

 private:
  /// Calls a function with places below n, a share of which each warp of a block has.
  template <class Function>
  static HWY_INLINE void ForShare(const simd::Place& place, std::int32_t n, Function function) {
    for (std::int32_t first = place.warp * hn::warp_size; first < n; first += place.warps * hn::warp_size) {
      const VI at = hn::Add(simd::LaneNumbers(), Integer(first));
      function(hn::Min(at, Integer(n - 1)), hn::Lt(at, Integer(n)));
    }
  }

  /// Sums what a row adds to its i-cluster, lane by lane, in pair_force_unit, and its energies.
  struct RowSums {
    VI x, y, z;
    EnergiesOfRow energies;

    HWY_INLINE RowSums() { x = y = z = hn::Zero(DI()); }
  };

  static HWY_INLINE void RunRow(const Arguments& a, Shared& shared, int number) {
    const DeviceRow& row = a.rows[number];
    const DeviceRow& next = a.rows[number + 1];
    const LanesOfEntry lanes_of;
    const AtomsOfLanes i(a.clusters, Integer(row.i_cluster), lanes_of.i_atom);
    RowSums sums;
    for (auto e = row.by_table_begin; e < row.masked_begin; e += 2)
      AddEntries<true, true>(a, shared, row.i_cluster, lanes_of, i, e, row.masked_begin, sums);
    for (auto e = row.masked_begin; e < next.by_table_begin; e += 2)
      AddEntries<true, false>(a, shared, row.i_cluster, lanes_of, i, e, next.by_table_begin, sums);
    for (auto e = row.plain_begin; e < next.plain_begin; e += 2)
      AddEntries<false, false>(a, shared, row.i_cluster, lanes_of, i, e, next.plain_begin, sums);

    // Lanes 0, 1 and 2 of an i-atom each add a component, in the order of ClusterForces.
    const auto over_j = [](VI sum) HWY_ATTR {
      sum = hn::Add(sum, simd::Exchange<1>(sum));
      sum = hn::Add(sum, simd::Exchange<2>(sum));
      return hn::Add(sum, simd::Exchange<16>(sum));
    };
    const VI component = Component(lanes_of.j_atom, over_j(sums.x), over_j(sums.y), over_j(sums.z));
    const VI at = hn::Add(hn::Add(hn::ShiftLeft<2>(lanes_of.j_atom), lanes_of.i_atom), Integer(row.i_cluster * 16));
    const M is_in_first = hn::Eq(lanes_of.half, Integer(0));
    simd::AtomicAdd(component, a.sums.force->value, at, hn::And(is_in_first, hn::Lt(lanes_of.j_atom, Integer(3))));
    if constexpr (beside == Beside::energies)
      sums.energies.AddTo(a.sums.energy, hn::And(is_in_first, lanes_of.is_first));
  }

  /// Returns x where `number` is 0, z where it is 1, and y elsewhere.
  static HWY_INLINE VI Component(VI number, VI x, VI y, VI z) {
    static_assert(force_offset[0] == 0 && force_offset[2] == 4 && force_offset[1] == 8);
    return hn::IfThenElse(hn::Eq(number, Integer(0)), x, hn::IfThenElse(hn::Eq(number, Integer(1)), z, y));
  }

  /// Adds entry e of those with masks, or of the others, and the next one if it is before the end. Else both halves of
  /// the warp compute the same, and the second adds nothing.
  template <bool masked, bool by_table>
  static HWY_INLINE void AddEntries(const Arguments& a, Shared& shared, std::int32_t i_cluster,
                                    const LanesOfEntry& lanes_of, const AtomsOfLanes& i, std::int64_t e,
                                    std::int64_t end, RowSums& sums) {
    const KernelConstants& k = a.constants;
    const VI left = Integer(end - e > 1 ? 2 : 1), mine = hn::Min(lanes_of.half, hn::Sub(left, Integer(1)));
    const M exists = hn::Lt(lanes_of.half, left);
    VU entry, masks = hn::Set(DU(), 0xFFFF);
    if constexpr (masked) {
      constexpr std::int32_t stride = sizeof(DeviceEntry) / sizeof(std::uint32_t);
      const VI at = hn::Mul(mine, Integer(stride));
      entry = hn::GatherIndex(DU(), &a.masked[e].j, at);
      masks = hn::GatherIndex(DU(), &a.masked[e].masks, at);
    } else {
      entry = hn::GatherIndex(DU(), a.plain + e, mine);
    }
    const VI cluster = hn::BitCast(DI(), hn::ShiftRight<cell_bits>(entry));
    const VI cell = hn::And(hn::BitCast(DI(), entry), Integer((1 << cell_bits) - 1));
    const AtomsOfLanes j(a.clusters, cluster, lanes_of.j_atom);
    const VI shift = hn::Mul(cell, Integer(3));
    const auto difference = [&](V of_i, V of_j, std::int32_t d) HWY_ATTR -> P {
      return hn::Sub(of_i, hn::Add(of_j, hn::GatherIndex(D(), a.shifts + d, shift)));
    };
    const P x = difference(i.x, j.x, 0), y = difference(i.y, j.y, 1), z = difference(i.z, j.z, 2);

    ValuesOfLanes<by_table> values{i, j, shared.pieces, exists, exists, i.q, i.q, i.q};
    if constexpr (masked) {
      const VU bit = hn::Shl(hn::Set(DU(), 1), hn::BitCast(DU(), lanes_of.in_half));
      values.interact = hn::TestBit(masks, bit);
      values.excluded = hn::TestBit(masks, hn::ShiftLeft<16>(bit));
    }
    if constexpr (by_table)
      values.template LookUpTypes<Choice::lookup>(
          k, hn::GatherIndex(DI(), a.type, hn::Add(Integer(4 * i_cluster), lanes_of.i_atom)),
          hn::GatherIndex(DI(), a.type, hn::Add(hn::ShiftLeft<2>(cluster), lanes_of.j_atom)));
    P force_over_r = ForceOverDistance<Choice, masked, Reciprocals::divided, beside == Beside::energies>(
        k, values, SquareOfDistance<masked>(x, y, z), sums.energies);

    // An entry in which two atoms are so close that integers might overflow is left out.
    const M reaches = hn::Not(hn::Lt(hn::Abs(force_over_r.part[0]), set(clash_force_over_r)));
    const M clashes = simd::AnyOfHalf(reaches), counts = hn::AndNot(clashes, exists);
    NoteClashes(a.sums, hn::And(hn::And(clashes, exists), lanes_of.is_first), i_cluster, entry, masks);
    force_over_r.part[0] = hn::IfThenElseZero(counts, force_over_r.part[0]);
    if constexpr (beside == Beside::energies) sums.energies.AddPending(counts);

    // Forces are rounded before they are summed, so that action and reaction are equal.
    const VI fx = simd::ToIntegers(Mul(force_over_r, x).part[0]), fy = simd::ToIntegers(Mul(force_over_r, y).part[0]),
             fz = simd::ToIntegers(Mul(force_over_r, z).part[0]);
    sums.x = hn::Add(sums.x, fx);
    sums.y = hn::Add(sums.y, fy);
    sums.z = hn::Add(sums.z, fz);
    // Three of the four i-atoms' lanes each add a component for their j-atom.
    const VI sum = Component(lanes_of.i_atom, SumBlocks(&fx), SumBlocks(&fy), SumBlocks(&fz));
    const VI reaction = hn::Sub(Integer(0), sum);
    const M adds = hn::And(counts, hn::Lt(lanes_of.i_atom, Integer(3)));
    simd::AtomicAdd(reaction, a.sums.force->value, hn::Add(hn::Mul(cluster, Integer(16)), lanes_of.in_half), adds);
    if constexpr (beside != Beside::nothing) {
      VL of_cell = hn::PromoteTo(DL(), reaction);
      of_cell = hn::Add(of_cell, simd::Exchange<1>(of_cell));
      of_cell = hn::Add(of_cell, simd::Exchange<2>(of_cell));
      const VI at = hn::Add(shift, Component(lanes_of.i_atom, Integer(0), Integer(1), Integer(2)));
      simd::AtomicAdd(of_cell, shared.cell_force, at, hn::And(adds, hn::Eq(lanes_of.j_atom, Integer(0))));
    }
  }

  static HWY_INLINE void NoteClashes(const DeviceSums& sums, M found, std::int32_t i_cluster, VU entry, VU masks) {
    if (HWY_UNLIKELY(!hn::AllFalse(D(), found))) {
      const VI number = simd::TakeNumbers(sums.n_clashes, found);
      const M fits = hn::And(found, hn::Lt(number, Integer(sums.most_clashes)));
      constexpr std::int32_t stride = sizeof(DeviceClash) / sizeof(std::uint32_t);
      const VI at = hn::Mul(number, Integer(stride));
      simd::Scatter(Integer(i_cluster), &sums.clash->i_cluster, at, fits);
      simd::Scatter(entry, &sums.clash->entry.j, at, fits);
      simd::Scatter(masks, &sums.clash->entry.masks, at, fits);
    }
  }
};

/// Adds forces on clusters to those on atoms, a slot to a lane, and the virial as SingleSumVirial sums it. The warp after
/// the last one adds the virial of cells.
template <bool with_virial>
struct ForceKernel {
  static constexpr int n_phases = 1, warps_of_block = 4;
  using Arguments = ForceArguments;
  struct Shared {};

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared&, const simd::Place& place) {
    const std::int32_t n_slots = cluster_size * a.n_clusters, first = place.OfAll() * hn::warp_size;
    if (first < n_slots) {
      const VI slot = hn::Add(simd::LaneNumbers(), Integer(first));
      AddSlots(a, hn::Min(slot, Integer(n_slots - 1)), hn::Lt(slot, Integer(n_slots)));
    } else if (with_virial && first - n_slots < hn::warp_size) {
      AddCells(a);
    }
  }

 private:
  static HWY_INLINE void AddSlots(const Arguments& a, VI slot, M exists) {
    const VI cluster = hn::ShiftRight<2>(slot), atom = hn::And(slot, Integer(3));
    constexpr std::int32_t bits = 14;
    static_assert(pair_force_unit == force_unit * (1 << bits));
    const VI at = hn::Add(hn::ShiftLeft<4>(cluster), atom), to = hn::Mul(slot, Integer(3));
    VL force[3];
    for (std::int32_t d = 0; d < 3; ++d) {
      constexpr std::size_t offset[3] = {force_offset[0], force_offset[1], force_offset[2]};
      force[d] = hn::PromoteTo(DL(), hn::GatherIndex(DI(), a.force->value + offset[d], at));
      simd::AtomicAdd(hn::ShiftLeft<bits>(force[d]), a.total, hn::Add(to, Integer(d)), exists);
    }
    if constexpr (with_virial) {
      static_assert(SingleSumVirial::place_unit == 0x1p-20);
      const auto place_of = [&](const float(ClusterData::*field)[4]) HWY_ATTR {
        const V scaled = hn::Mul(FieldOf(field, a.clusters, cluster, atom), set(0x1p20f));
        return hn::IfThenElseZero(exists, simd::ToWideIntegers(scaled));
      };
      AddVirial(a, {place_of(&ClusterData::x), place_of(&ClusterData::y), place_of(&ClusterData::z)}, force);
    }
  }

  static HWY_INLINE void AddCells(const Arguments& a) {
    for (std::int32_t first = 0; first < n_neighbour_cells; first += hn::warp_size) {
      const VI cell = hn::Add(simd::LaneNumbers(), Integer(first));
      const M exists = hn::Lt(cell, Integer(n_neighbour_cells));
      const VI at = hn::Mul(hn::Min(cell, Integer(n_neighbour_cells - 1)), Integer(3));
      const auto of_cell = [&](const std::int64_t* values, std::int32_t d)
                               HWY_ATTR { return hn::IfThenElseZero(exists, hn::GatherIndex(DL(), values + d, at)); };
      const VL force[3] = {of_cell(a.cell_force, 0), of_cell(a.cell_force, 1), of_cell(a.cell_force, 2)};
      AddVirial(a, {of_cell(a.cell_place, 0), of_cell(a.cell_place, 1), of_cell(a.cell_place, 2)}, force);
    }
  }

  /// Adds products of places and forces without rounding them, as EnergyVirial::add_exact_virial() does.
  static HWY_INLINE void AddVirial(const Arguments& a, const VL (&place)[3], const VL (&force)[3]) {
    const M is_first = hn::Eq(simd::LaneNumbers(), Integer(0));
    const auto add = [&](std::int32_t component, int r, int f) HWY_ATTR {
      const VL product = hn::Mul(place[r], force[f]);
      const VL rest = hn::And(product, hn::Set(DL(), (1 << exact_virial_bits) - 1));
      simd::AtomicAdd(simd::SumOfWarp(hn::ShiftRight<exact_virial_bits>(product)), a.virial, Integer(component),
                      is_first);
      simd::AtomicAdd(simd::SumOfWarp(rest), a.virial_remainder, Integer(component), is_first);
    };
    add(0, 0, 0);  // in the order of EnergyVirial
    add(1, 1, 1);
    add(2, 2, 2);
    add(3, 0, 1);
    add(4, 0, 2);
    add(5, 1, 2);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pair
HWY_AFTER_NAMESPACE();
