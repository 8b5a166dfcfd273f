// Sums pairs on a device: a warp takes two entries of the list at a time, a pair of atoms to a lane. Lane 4i + j of a half
// of the warp is atom i of the i-cluster with atom j of the j-cluster, as in registers of sixteen lanes. In a tile the two
// entries have one j-cluster and two neighbouring i-clusters, in a row one i-cluster and two j-clusters.
//
// Formulas are those of interaction-inl.h. What is summed across entries are integers, so that their order is free: see
// the orders inside an entry in cluster_kernel-inl.h, which are the same here.
#pragma once

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

using simd::Integer;

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

/// Sums three values over four lanes, whose numbers differ in `bit` and the one above it. Of the four, lane 0 has the sum
/// of x, lane 1 that of z and lane 2 that of y, in the order of ClusterForces. Each hands over what it does not sum.
template <int bit>
HWY_INLINE VI SumsOfFour(VI x, VI y, VI z) {
  static_assert(force_offset[0] == 0 && force_offset[2] == 4 && force_offset[1] == 8);
  const VI lane = simd::LaneNumbers();
  const M is_even = hn::Eq(hn::And(lane, Integer(bit)), Integer(0));
  const M is_low = hn::Eq(hn::And(lane, Integer(2 * bit)), Integer(0));
  const VI of_two = hn::Add(hn::IfThenElse(is_low, x, y), simd::Exchange<2 * bit>(hn::IfThenElse(is_low, y, x)));
  const VI z_of_two = hn::Add(z, simd::Exchange<2 * bit>(z));
  return hn::Add(hn::IfThenElse(is_even, of_two, z_of_two),
                 simd::Exchange<bit>(hn::IfThenElse(is_even, z_of_two, of_two)));
}

/// Returns where values of one atom of a cluster in each lane are, from the first one of their field on.
template <class Cluster>
HWY_INLINE VI IndexOf(VI cluster, VI atom) {
  constexpr std::int32_t stride = sizeof(Cluster) / sizeof(float);
  return hn::Add(hn::Mul(cluster, Integer(stride)), atom);
}

/// Returns a field of clusters for one atom of a cluster in each lane.
template <class Cluster>
HWY_INLINE V FieldOf(const float (Cluster::*field)[4], const Cluster* clusters, VI cluster, VI atom) {
  return hn::GatherIndex(D(), clusters->*field, IndexOf<Cluster>(cluster, atom));
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

  HWY_INLINE void MoveBy(V dx, V dy, V dz) {
    x = hn::Add(x, dx);
    y = hn::Add(y, dy);
    z = hn::Add(z, dz);
  }
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

/// Sums the energies of a tile or a row. Each entry's contribution is rounded to a multiple of 2⁻²⁴ kcal/mol; all lanes of a half
/// hold one of its two parts.
class EnergiesOfWarp {
 public:
  HWY_INLINE EnergiesOfWarp() {
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
  /// Adds the energies as EnergyVirial::add() does: multiples of large_energy apart.
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
  static constexpr int blocks_at_once = beside == Beside::energies ? 5 : 6;  // more would keep registers in memory
  using Arguments = PairArguments;
  struct Shared {
    EwaldPieces pieces;  // constants that lanes index would be fetched one after the other
    float shifts[n_neighbour_cells * 3];
    std::int64_t cell_force[n_neighbour_cells * 3];
  };

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared& shared, const simd::Place& place) {
    if constexpr (phase == 0) {
      constexpr std::int32_t n_pieces = sizeof(EwaldPieces) / sizeof(float);
      simd::ForShare(place, n_pieces, [&](VI at, M is_inside) HWY_ATTR {
        simd::Scatter(hn::GatherIndex(D(), a.constants.ewald_pieces[0], at), shared.pieces[0], at, is_inside);
      });
      simd::ForShare(place, n_neighbour_cells * 3, [&](VI at, M is_inside) HWY_ATTR {
        simd::Scatter(hn::GatherIndex(D(), a.shifts, at), shared.shifts, at, is_inside);
        if constexpr (beside != Beside::nothing) simd::Scatter(hn::Zero(DL()), shared.cell_force, at, is_inside);
      });
    } else if constexpr (phase == 1) {
      const std::int32_t number = place.OfAll();
      if (number < a.n_tiles)
        RunTile(a, shared, a.tiles[number]);
      else if (number - a.n_tiles < a.n_rows)
        RunRow(a, shared, number - a.n_tiles);
    } else if constexpr (beside != Beside::nothing) {
      simd::ForShare(place, n_neighbour_cells * 3, [&](VI at, M is_inside) HWY_ATTR {
        const VL sum = hn::GatherIndex(DL(), shared.cell_force, at);
        simd::AtomicAdd(sum, a.sums.cell_force, at, hn::And(is_inside, hn::Ne(sum, hn::Zero(DL()))));
      });
    }
  }

 private:
  /// Sums forces on i-atoms, or on j-atoms, lane by lane, in pair_force_unit.
  struct ForceSums {
    VI x, y, z;

    HWY_INLINE ForceSums() { x = y = z = hn::Zero(DI()); }
    HWY_INLINE void Add(VI fx, VI fy, VI fz) {
      x = hn::Add(x, fx);
      y = hn::Add(y, fy);
      z = hn::Add(z, fz);
    }
  };

  /// Says in each lane which entry it has, as clashes are listed.
  struct EntryOfLanes {
    VI i_cluster;
    VU j, masks;
  };

  static HWY_INLINE void RunTile(const Arguments& a, Shared& shared, const DeviceTile& tile) {
    constexpr int n_pairs = clusters_of_tile / 2;
    const LanesOfEntry lanes_of;
    const auto cluster_of_pair = [&](int pair) HWY_ATTR {
      return hn::GatherIndex(DI(), tile.i_cluster + 2 * pair, lanes_of.half);
    };
    const auto atoms_of_pair = [&](int pair) HWY_ATTR {
      return AtomsOfLanes(a.clusters, cluster_of_pair(pair), lanes_of.i_atom);
    };
    static_assert(n_pairs == 4);
    const AtomsOfLanes i[n_pairs] = {atoms_of_pair(0), atoms_of_pair(1), atoms_of_pair(2), atoms_of_pair(3)};
    ForceSums of_i[n_pairs];
    EnergiesOfWarp energies;
    for (auto e = tile.begin, end = tile.begin + tile.n; e < end; ++e) {
      const TileEntry entry = a.tile_entries[e];
      const auto cell = static_cast<std::int32_t>(cell_of(entry.j));
      const VI cluster = Integer(cluster_of(entry.j));
      AtomsOfLanes j(a.clusters, cluster, lanes_of.j_atom);
      j.MoveBy(set(shared.shifts[3 * cell]), set(shared.shifts[3 * cell + 1]), set(shared.shifts[3 * cell + 2]));
      ForceSums of_j;
      HWY_UNROLL(4)
      for (int pair = 0; pair < n_pairs; ++pair) {
        const std::uint32_t bits = entry.i_clusters >> (2 * pair) & 3;
        if (bits == 0) continue;
        const M exists = hn::TestBit(Integer(static_cast<std::int32_t>(bits)), hn::Add(lanes_of.half, Integer(1)));
        const ValuesOfLanes<false> values{i[pair], j, shared.pieces, {}, {}, {}, {}, {}};
        AddForces<false>(
            a, values, lanes_of, exists,
            [&]() HWY_ATTR {
              return EntryOfLanes{cluster_of_pair(pair), hn::Set(DU(), entry.j), hn::Set(DU(), 0xFFFF)};
            },
            of_i[pair], of_j, energies);
      }
      const VI of_half = SumsOfFour<4>(of_j.x, of_j.y, of_j.z);
      SubtractFromCluster(a, shared, lanes_of, cluster, Integer(cell), hn::Add(of_half, simd::Exchange<16>(of_half)),
                          hn::Eq(lanes_of.half, Integer(0)));
    }
    HWY_UNROLL(4)
    for (int pair = 0; pair < n_pairs; ++pair)
      AddToCluster(a, lanes_of, cluster_of_pair(pair), SumsOfFour<1>(of_i[pair].x, of_i[pair].y, of_i[pair].z),
                   hn::Lt(lanes_of.half, Integer(2)));
    if constexpr (beside == Beside::energies) energies.AddTo(a.sums.energy, IsFirstOfWarp(lanes_of));
  }

  static HWY_INLINE void RunRow(const Arguments& a, Shared& shared, int number) {
    const DeviceRow& row = a.rows[number];
    const LanesOfEntry lanes_of;
    const AtomsOfLanes i(a.clusters, Integer(row.i_cluster), lanes_of.i_atom);
    ForceSums of_i;
    EnergiesOfWarp energies;
    for (auto e = row.by_table_begin; e < row.masked_begin; e += 2)
      AddMasked<true>(a, shared, row.i_cluster, lanes_of, i, e, row.masked_begin, of_i, energies);
    for (auto e = row.masked_begin; e < row.end; e += 2)
      AddMasked<false>(a, shared, row.i_cluster, lanes_of, i, e, row.end, of_i, energies);
    const VI of_half = SumsOfFour<1>(of_i.x, of_i.y, of_i.z);
    AddToCluster(a, lanes_of, Integer(row.i_cluster), hn::Add(of_half, simd::Exchange<16>(of_half)),
                 hn::Eq(lanes_of.half, Integer(0)));
    if constexpr (beside == Beside::energies) energies.AddTo(a.sums.energy, IsFirstOfWarp(lanes_of));
  }

  /// Adds entry e of those with masks, and the next one if it is before the end. Else both halves of the warp compute the
  /// same, and the second adds nothing.
  template <bool by_table>
  static HWY_INLINE void AddMasked(const Arguments& a, Shared& shared, std::int32_t i_cluster,
                                   const LanesOfEntry& lanes_of, const AtomsOfLanes& i, std::int64_t e,
                                   std::int64_t end, ForceSums& of_i, EnergiesOfWarp& energies) {
    const VI left = Integer(end - e > 1 ? 2 : 1), mine = hn::Min(lanes_of.half, hn::Sub(left, Integer(1)));
    const M exists = hn::Lt(lanes_of.half, left);
    constexpr std::int32_t stride = sizeof(DeviceEntry) / sizeof(std::uint32_t);
    const VI at = hn::Mul(mine, Integer(stride));
    const VU entry = hn::GatherIndex(DU(), &a.masked[e].j, at), masks = hn::GatherIndex(DU(), &a.masked[e].masks, at);
    const VI cluster = hn::BitCast(DI(), hn::ShiftRight<cell_bits>(entry));
    const VI cell = hn::And(hn::BitCast(DI(), entry), Integer((1 << cell_bits) - 1));
    const VI shift = hn::Mul(cell, Integer(3));
    AtomsOfLanes j(a.clusters, cluster, lanes_of.j_atom);
    j.MoveBy(hn::GatherIndex(D(), shared.shifts, shift), hn::GatherIndex(D(), shared.shifts + 1, shift),
             hn::GatherIndex(D(), shared.shifts + 2, shift));
    const VU bit = hn::Shl(hn::Set(DU(), 1), hn::BitCast(DU(), lanes_of.in_half));
    ValuesOfLanes<by_table> values{
        i, j, shared.pieces, hn::TestBit(masks, bit), hn::TestBit(masks, hn::ShiftLeft<16>(bit)), {}, {}, {}};
    if constexpr (by_table)
      values.template LookUpTypes<Choice::lookup>(
          a.constants, hn::GatherIndex(DI(), a.type, hn::Add(Integer(cluster_size * i_cluster), lanes_of.i_atom)),
          hn::GatherIndex(DI(), a.type, hn::Add(hn::ShiftLeft<2>(cluster), lanes_of.j_atom)));
    ForceSums of_j;
    AddForces<true>(
        a, values, lanes_of, exists,
        [&]() HWY_ATTR {
          return EntryOfLanes{Integer(i_cluster), entry, masks};
        },
        of_i, of_j, energies);
    SubtractFromCluster(a, shared, lanes_of, cluster, cell, SumsOfFour<4>(of_j.x, of_j.y, of_j.z), exists);
  }

  /// Adds the forces of the entries that exist, one in each half, to the sums of both their clusters.
  template <bool masked, bool by_table, class EntryOf>
  static HWY_INLINE void AddForces(const Arguments& a, const ValuesOfLanes<by_table>& values,
                                   const LanesOfEntry& lanes_of, M exists, const EntryOf& entry_of, ForceSums& of_i,
                                   ForceSums& of_j, EnergiesOfWarp& energies) {
    const P x = hn::Sub(values.i.x, values.j.x), y = hn::Sub(values.i.y, values.j.y),
            z = hn::Sub(values.i.z, values.j.z);
    constexpr auto reciprocals = masked ? Reciprocals::divided : Reciprocals::multiplied;
    V force_over_r = ForceOverDistance<Choice, masked, reciprocals, beside == Beside::energies>(
                         a.constants, values, SquareOfDistance<masked>(x, y, z), energies)
                         .part[0];
    // An entry in which two atoms are so close that integers might overflow is left out.
    const M reaches = hn::AndNot(hn::Lt(hn::Abs(force_over_r), set(clash_force_over_r)), exists);
    M counts = exists;
    if (HWY_UNLIKELY(!hn::AllFalse(D(), reaches))) {
      const M clashes = simd::AnyOfHalf(reaches);
      NoteClashes(a.sums, hn::And(clashes, lanes_of.is_first), entry_of());
      counts = hn::AndNot(clashes, exists);
    }
    force_over_r = hn::IfThenElseZero(counts, force_over_r);
    if constexpr (beside == Beside::energies) energies.AddPending(counts);
    // Forces are rounded before they are summed, so that action and reaction are equal.
    const VI fx = simd::ToIntegers(hn::Mul(force_over_r, x.part[0])),
             fy = simd::ToIntegers(hn::Mul(force_over_r, y.part[0])),
             fz = simd::ToIntegers(hn::Mul(force_over_r, z.part[0]));
    of_i.Add(fx, fy, fz);
    of_j.Add(fx, fy, fz);
  }

  static HWY_INLINE M IsFirstOfWarp(const LanesOfEntry& lanes_of) {
    return hn::And(hn::Eq(lanes_of.half, Integer(0)), lanes_of.is_first);
  }

  /// Adds sums over j-atoms (SumsOfFour) to an i-cluster.
  static HWY_INLINE void AddToCluster(const Arguments& a, const LanesOfEntry& lanes_of, VI cluster, VI sums, M adds) {
    const VI at = hn::Add(hn::ShiftLeft<4>(cluster), hn::Add(hn::ShiftLeft<2>(lanes_of.j_atom), lanes_of.i_atom));
    simd::AtomicAdd(sums, a.sums.force->value, at, hn::And(adds, hn::Lt(lanes_of.j_atom, Integer(3))));
  }

  /// Subtracts sums over i-atoms (SumsOfFour) from a j-cluster, and from what its cell sums for the virial.
  static HWY_INLINE void SubtractFromCluster(const Arguments& a, Shared& shared, const LanesOfEntry& lanes_of,
                                             VI cluster, VI cell, VI sums, M exists) {
    const VI reaction = hn::Sub(Integer(0), sums);
    const M adds = hn::And(exists, hn::Lt(lanes_of.i_atom, Integer(3)));
    simd::AtomicAdd(reaction, a.sums.force->value, hn::Add(hn::ShiftLeft<4>(cluster), lanes_of.in_half), adds);
    if constexpr (beside != Beside::nothing) {
      VL of_cell = hn::PromoteTo(DL(), reaction);
      of_cell = hn::Add(of_cell, simd::Exchange<1>(of_cell));
      of_cell = hn::Add(of_cell, simd::Exchange<2>(of_cell));
      // Lanes of i-atoms 0, 1 and 2 have x, z and y.
      const VI component =
          hn::Or(hn::ShiftLeft<1>(hn::And(lanes_of.i_atom, Integer(1))), hn::ShiftRight<1>(lanes_of.i_atom));
      const VI at = hn::Add(hn::Mul(cell, Integer(3)), component);
      simd::AtomicAdd(of_cell, shared.cell_force, at, hn::And(adds, hn::Eq(lanes_of.j_atom, Integer(0))));
    }
  }

  static HWY_INLINE void NoteClashes(const DeviceSums& sums, M found, const EntryOfLanes& entry) {
    const VI number = simd::TakeNumbers(sums.n_clashes, found);
    const M fits = hn::And(found, hn::Lt(number, Integer(sums.most_clashes)));
    constexpr std::int32_t stride = sizeof(DeviceClash) / sizeof(std::uint32_t);
    const VI at = hn::Mul(number, Integer(stride));
    simd::Scatter(entry.i_cluster, &sums.clash->i_cluster, at, fits);
    simd::Scatter(entry.j, &sums.clash->entry.j, at, fits);
    simd::Scatter(entry.masks, &sums.clash->entry.masks, at, fits);
  }
};

/// Adds forces on clusters to those on atoms, a slot to a lane, and the virial as SingleSumVirial sums it. The warp after
/// the last one adds the virial of cells.
template <bool with_virial>
struct ForceKernel {
  static constexpr int n_phases = 1, warps_of_block = 4, blocks_at_once = 8;
  using Arguments = ForceArguments;
  struct Shared {};

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared&, const simd::Place& place) {
    if (*a.n_clashes > a.most_clashes) return;  // all is summed again
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
    const M is_first = simd::IsFirstLane();
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
