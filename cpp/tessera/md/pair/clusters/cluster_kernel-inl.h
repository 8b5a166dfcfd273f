// Contains the kernel's loops; cluster_kernel.cpp and the sources in loops/ include it once for each instruction set.
#include "tessera/base/fixed_point.h"
#include "tessera/base/simd/stage-inl.h"
#include "tessera/md/pair/interaction-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

using P = Pack<registers>;  // a value of each of an entry's 16 pairs

/// Holds an i-cluster's values, spread over registers.
struct ICluster {
  HWY_ALIGN float x[16], y[16], z[16], q[16], sigma[16], epsilon[16];

  void Load(const ClusterData& c) {
    const D4 d4;
    for (std::size_t i = 0; i < 4; ++i) {
      hn::Store(hn::Set(d4, c.x[i]), d4, x + 4 * i);
      hn::Store(hn::Set(d4, c.y[i]), d4, y + 4 * i);
      hn::Store(hn::Set(d4, c.z[i]), d4, z + 4 * i);
      hn::Store(hn::Set(d4, c.q[i]), d4, q + 4 * i);
      hn::Store(hn::Set(d4, c.sigma[i]), d4, sigma + 4 * i);
      hn::Store(hn::Set(d4, c.epsilon[i]), d4, epsilon + 4 * i);
    }
  }
};

/// Sums the forces that a row adds to its i-cluster, lane by lane, in pair_force_unit.
struct IForces {
  VI x[registers], y[registers], z[registers];

  HWY_INLINE void Clear() {
    for (std::size_t r = 0; r < registers; ++r) x[r] = y[r] = z[r] = hn::Zero(DI());
  }
  HWY_INLINE void AddTo(std::int32_t* force) const {
    AddComponent(x, force + force_offset[0]);
    AddComponent(y, force + force_offset[1]);
    AddComponent(z, force + force_offset[2]);
  }

 private:
  static HWY_INLINE void AddComponent(const VI* component, std::int32_t* force) {
    HWY_ALIGN std::int32_t lane[16];
    for (std::size_t r = 0; r < registers; ++r) hn::Store(component[r], DI(), lane + r * lanes);
    for (std::size_t i = 0; i < 4; ++i) {
      std::uint32_t sum = static_cast<std::uint32_t>(force[i]);
      for (std::size_t j = 0; j < 4; ++j) sum += static_cast<std::uint32_t>(lane[4 * i + j]);
      force[i] = static_cast<std::int32_t>(sum);
    }
  }
};

/// Looks up 12A and 6B of all 16 pairs in the table of types, and where the pieces of their potentials begin.
struct TableLookup {
  HWY_ALIGN float a12[16], b6[16], begin[16];

  void Load(const float* table_12a, const float* table_6b, std::int32_t n_types, const std::int32_t* type_i,
            const std::int32_t* type_j) {
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) {
        const bool padded = type_i[i] < 0 || type_j[j] < 0;
        const auto at = padded ? 0
                               : static_cast<std::size_t>(type_i[i]) * static_cast<std::size_t>(n_types) +
                                     static_cast<std::size_t>(type_j[j]);
        a12[4 * i + j] = padded ? 0 : table_12a[at];
        b6[4 * i + j] = padded ? 0 : table_6b[at];
      }
  }
  void LoadBegin(const std::int32_t* begins, std::int32_t n_types, const std::int32_t* type_i,
                 const std::int32_t* type_j) {
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j)
        begin[4 * i + j] = type_i[i] < 0 || type_j[j] < 0
                               ? 0
                               : static_cast<float>(begins[std::ptrdiff_t{type_i[i]} * n_types + type_j[j]]);
  }
};

/// Returns one of an entry's masks.
HWY_INLINE MaskPack<registers> MaskOf(std::uint16_t bits) {
  MaskPack<registers> mask;
  for (std::size_t r = 0; r < registers; ++r) {
    const auto of_register = static_cast<std::uint16_t>(bits >> (r * lanes));
    HWY_ALIGN std::uint8_t bytes[8] = {static_cast<std::uint8_t>(of_register),
                                       static_cast<std::uint8_t>(of_register >> 8)};
    mask.part[r] = hn::LoadMaskBits(D(), bytes);
  }
  return mask;
}

/// Loads and stores a value of each of an entry's 16 pairs.
HWY_INLINE P LoadAll(const float* values) {
  P pack;
  for (std::size_t r = 0; r < registers; ++r) pack.part[r] = hn::Load(D(), values + r * lanes);
  return pack;
}

HWY_INLINE void StoreAll(const P& pack, float* values) {
  for (std::size_t r = 0; r < registers; ++r) hn::Store(pack.part[r], D(), values + r * lanes);
}

/// Loads a j-cluster's parameter, which is the same for all blocks of four lanes.
HWY_INLINE V OfJ(const float* values) { return hn::LoadDup128(D(), values); }

/// Subtracts the sums over i-atoms from a j-cluster's forces and, for the virial, from those of its cell.
template <Beside beside, class W>  // a template, so that only the branch of this width is compiled
HWY_INLINE void SubtractJForces(const W* fx, const W* fy, const W* fz, std::int32_t* fj, std::int32_t* cell) {
  const auto subtract = [&](auto sum, std::size_t offset) HWY_ATTR {
    const hn::DFromV<decltype(sum)> d;
    hn::Store(hn::Sub(hn::Load(d, fj + offset), sum), d, fj + offset);
    if constexpr (beside != Beside::nothing) hn::Store(hn::Sub(hn::Load(d, cell + offset), sum), d, cell + offset);
  };
  const hn::DFromV<W> d;
  if constexpr (lanes == 16) {
    // Blocks of four lanes are i-atoms. The three sums are combined in one register: x, z, y and z again.
    const W xy = hn::Add(hn::ConcatLowerLower(d, *fy, *fx), hn::ConcatUpperUpper(d, *fy, *fx));
    const W zz = hn::Add(*fz, hn::ConcatLowerUpper(d, *fz, *fz));
    subtract(hn::Add(hn::OddEvenBlocks(zz, xy), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(xy, zz))), 0);
  } else if constexpr (lanes == 8) {
    // The sums of x and z, which are neighbours in memory, are combined in one register.
    const W x = hn::Add(fx[0], fx[1]), z = hn::Add(fz[0], fz[1]);
    subtract(hn::Add(hn::ConcatLowerLower(d, z, x), hn::ConcatUpperUpper(d, z, x)), force_offset[0]);
    subtract(SumBlocks(fy), force_offset[1]);
  } else {
    subtract(SumBlocks(fx), force_offset[0]);
    subtract(SumBlocks(fz), force_offset[2]);
    subtract(SumBlocks(fy), force_offset[1]);
  }
}

/// Refers to what the loop over a part reads and writes, except constants and the list.
struct Loop {
  const std::array<float, 3>* shifts;
  const ClusterData* clusters;
  ClusterForces* force;
  ClusterForces* cell_force;  // by neighbour cell; null where nothing needs it
};

/// Sums the energies of a row. Each entry's contribution is rounded to a multiple of 2⁻²⁴ kcal/mol, so
/// that the sums are exact in any order.
class EnergySums {
 public:
  HWY_INLINE void Clear() {
    for (auto& one : sum_) one = hn::Zero(D2());
  }

  /// Adds an entry's Lennard-Jones and Coulomb energies.
  HWY_INLINE void Add(const P& lj, const P& real) {
    AddRounded(0, SumBlocks(lj.part));
    AddRounded(1, SumBlocks(real.part));
  }

  HWY_INLINE void AddTo(EnergyVirial& energies) const {
    const auto total = [&](std::size_t i) HWY_ATTR {
      HWY_ALIGN double lane[2];
      hn::Store(sum_[i], D2(), lane);
      return lane[0] + lane[1];
    };
    energies.add(Term::lj, total(0));
    energies.add(Term::coulomb_real, total(1));
  }

 private:
  using D2 = hn::FixedTag<double, 2>;

  HWY_INLINE void AddRounded(std::size_t i, V4 four) {
    const auto two = hn::Add(hn::LowerHalf(four), hn::UpperHalf(hn::FixedTag<float, 2>(), four));
    const auto shift = hn::Set(D2(), 0x1.8p28);  // its last digit is worth 2⁻²⁴
    const auto rounded = simd::MulAdd(hn::PromoteTo(D2(), two), hn::Set(D2(), pair_force_unit), shift);
    sum_[i] = hn::Add(sum_[i], hn::Sub(rounded, shift));
  }

  hn::Vec<D2> sum_[2];
};

constexpr std::size_t most_at_once = 32;  // entries

/// Holds what the stages of the kernel pass on for an entry's 16 pairs: r_i − r_j, Å, r², and the force over the
/// distance.
struct EntryPairs {
  HWY_ALIGN float x[16], y[16], z[16], r2[16], force_over_r[16];
};

template <bool Masked>
TESSERA_STAGE void Measure(const Loop& loop, const ICluster& ci, PairEntry j, EntryPairs& pairs) {
  const ClusterData& cj = loop.clusters[cluster_of(j)];
  const auto& shift = loop.shifts[cell_of(j)];
  const P x = Sub(LoadAll(ci.x), hn::Add(OfJ(cj.x), set(shift[0])));
  const P y = Sub(LoadAll(ci.y), hn::Add(OfJ(cj.y), set(shift[1])));
  const P z = Sub(LoadAll(ci.z), hn::Add(OfJ(cj.z), set(shift[2])));
  StoreAll(x, pairs.x);
  StoreAll(y, pairs.y);
  StoreAll(z, pairs.z);
  StoreAll(SquareOfDistance<Masked>(x, y, z), pairs.r2);
}

/// Gives the values of an entry to ForceOverDistance(). `masked` holds the entry's masks; `table` holds its parameters
/// if these come from the table.
struct EntryValues {
  const KernelConstants& k;
  const ICluster& i;
  const ClusterData& j;
  const MaskedEntry* masked;
  const TableLookup* table;

  HWY_INLINE P ChargeI() const { return LoadAll(i.q); }
  HWY_INLINE V ChargeJ() const { return OfJ(j.q); }
  HWY_INLINE P SigmaI() const { return LoadAll(i.sigma); }
  HWY_INLINE V SigmaJ() const { return OfJ(j.sigma); }
  HWY_INLINE P EpsilonI() const { return LoadAll(i.epsilon); }
  HWY_INLINE V EpsilonJ() const { return OfJ(j.epsilon); }
  HWY_INLINE MaskPack<registers> Interact() const { return MaskOf(masked->interact); }
  HWY_INLINE MaskPack<registers> Excluded() const { return MaskOf(masked->excluded); }
  HWY_INLINE bool HasTable() const { return table != nullptr; }
  HWY_INLINE P TableRepulsion() const { return LoadAll(table->a12); }
  HWY_INLINE P TableDispersion() const { return LoadAll(table->b6); }
  HWY_INLINE P TableBegin() const { return LoadAll(table->begin); }
  HWY_INLINE const EwaldPieces& Pieces() const { return k.ewald_pieces; }
};

/// Computes the forces over the distances of an entry, and adds its energies.
template <class Choice, bool Masked, Reciprocals reciprocals, Beside beside>
[[nodiscard]] TESSERA_STAGE P Interact(const KernelConstants& k, const ICluster& ci, const ClusterData& cj, const P& r2,
                                       const MaskedEntry* masked, const TableLookup* table, EnergySums& energies) {
  const EntryValues entry{k, ci, cj, masked, table};
  return ForceOverDistance<Choice, Masked, reciprocals, beside == Beside::energies>(k, entry, r2, energies);
}

/// Adds an entry's forces to the sums of the i-cluster and to the j-cluster.
template <Beside beside>
TESSERA_STAGE void AddForces(const Loop& loop, PairEntry j, const EntryPairs& pairs, IForces& sums) {
  const P force_over_r = LoadAll(pairs.force_over_r);
  const P x = Mul(force_over_r, LoadAll(pairs.x)), y = Mul(force_over_r, LoadAll(pairs.y)),
          z = Mul(force_over_r, LoadAll(pairs.z));
  IForces force;  // rounded before they are summed, so that action and reaction are equal
  for (std::size_t r = 0; r < registers; ++r) {
    force.x[r] = simd::ToIntegers(x.part[r]);
    force.y[r] = simd::ToIntegers(y.part[r]);
    force.z[r] = simd::ToIntegers(z.part[r]);
    sums.x[r] = hn::Add(sums.x[r], force.x[r]);
    sums.y[r] = hn::Add(sums.y[r], force.y[r]);
    sums.z[r] = hn::Add(sums.z[r], force.z[r]);
  }
  auto* cell = beside == Beside::nothing ? nullptr : loop.cell_force[cell_of(j)].value;
  SubtractJForces<beside>(force.x, force.y, force.z, loop.force[cluster_of(j)].value, cell);
}

/// Tells whether one of an entry's 16 pairs reaches the limit by itself. How many pairs share a lane depends on the
/// instruction set, so nothing is summed over them.
inline HWY_NOINLINE bool HasClash(const EntryPairs& pairs) {
  for (const V& force_over_r : LoadAll(pairs.force_over_r).part)
    if (!hn::AllTrue(D(), hn::Lt(hn::Abs(force_over_r), set(clash_force_over_r)))) return true;
  return false;
}

/// Adds entries of a row. `masked` holds their masks if they have any; `table` holds the parameters of a single entry
/// if these come from the table. Calls on_clash(e) for each entry in which two atoms are so close that the integer sums
/// might overflow, and adds nothing of it.
///
/// The work is done in stages, each for up to 32 entries. The operations of an entry wait for each other, and a
/// processor sees little more than an entry ahead; stages have shorter chains, and several entries of a stage are in
/// its sight.
template <class Choice, bool Masked, Reciprocals reciprocals, Beside beside, class OnClash>
HWY_INLINE void AddEntries(const KernelConstants& k, const Loop& loop, const ICluster& ci, const PairEntry* j,
                           const MaskedEntry* masked, const TableLookup* table, std::size_t n, IForces& sums,
                           EnergySums& energies, OnClash&& on_clash) {
  EntryPairs pairs[most_at_once];
  std::size_t most = most_at_once;
  for (std::size_t first = 0; first < n;) {
    const auto count = std::min(n - first, most);
    const auto cluster = [&](std::size_t e) -> const ClusterData& { return loop.clusters[cluster_of(j[first + e])]; };
    for (std::size_t e = 0; e < count; ++e) Measure<Masked>(loop, ci, j[first + e], pairs[e]);
    V squares = hn::Zero(D());  // where no sum of squares is too great, no force is, which takes one operation for each
    EnergySums with_these = energies;
    for (std::size_t e = 0; e < count; ++e) {
      const P force_over_r = Interact<Choice, Masked, reciprocals, beside>(
          k, ci, cluster(e), LoadAll(pairs[e].r2), Masked ? masked + first + e : nullptr, table, with_these);
      for (const V& of_register : force_over_r.part) squares = simd::MulAdd(of_register, of_register, squares);
      StoreAll(force_over_r, pairs[e].force_over_r);
    }
    if (HWY_UNLIKELY(!hn::AllTrue(D(), hn::Lt(squares, set(clash_force_over_r * clash_force_over_r))))) {
      if (count > 1) {  // the entries are done again one by one, to leave out those that clash
        most = 1;
        continue;
      }
      if (HasClash(pairs[0])) {
        on_clash(first++);
        continue;
      }
    }
    for (std::size_t e = 0; e < count; ++e) AddForces<beside>(loop, j[first + e], pairs[e], sums);
    if constexpr (beside == Beside::energies) energies = with_these;
    first += count;
  }
}

/// Adds entries without masks.
template <class Choice, Reciprocals reciprocals, Beside beside, class OnClash>
HWY_INLINE void AddPlain(const KernelConstants& k, const Loop& loop, const ICluster& ci,
                         std::span<const PairEntry> entries, IForces& sums, EnergySums& energies,
                         const OnClash& on_clash) {
  AddEntries<Choice, false, reciprocals, beside>(k, loop, ci, entries.data(), nullptr, nullptr, entries.size(), sums,
                                                 energies, on_clash);
}

constexpr std::size_t rows_between_moves = 8;  // of forces by cell to where they can't overflow

template <class Choice, Beside beside>
void RunLoop(const KernelConstants& constants, const PairListPart& part, const RowRange& rows, const std::int32_t* type,
             const Loop& loop, CellForces* cell_forces, EnergyVirial* total, std::vector<Clash>& clashes) {
  const KernelConstants k = constants;  // a local copy, which no store can alias
  ICluster ci;
  IForces sums;
  EnergySums energies;
  TableLookup table;
  for (auto row = rows.begin; row < rows.end; ++row) {
    const auto i_cluster = part.rows[row].i_cluster;
    ci.Load(loop.clusters[i_cluster]);
    sums.Clear();
    if constexpr (beside == Beside::energies) energies.Clear();
    const auto masked = part.masked_of(row);
    for (std::size_t m = 0; m < masked.size();) {
      PairEntry j[most_at_once];
      std::size_t n = 0;
      while (n < most_at_once && m + n < masked.size() && !masked[m + n].by_table) {
        j[n] = masked[m + n].j;
        ++n;
      }
      const auto on_clash = [&](std::size_t e) { clashes.push_back({i_cluster, masked[m + e]}); };
      AddEntries<Choice, true, Reciprocals::divided, beside>(k, loop, ci, j, &masked[m], nullptr, n, sums, energies,
                                                             on_clash);
      m += n;
      if (m == masked.size() || !masked[m].by_table) continue;
      table.Load(k.table_12a, k.table_6b, k.n_types, type + 4 * std::ptrdiff_t{i_cluster},
                 type + 4 * std::ptrdiff_t{cluster_of(masked[m].j)});
      if constexpr (Choice::lookup == Lookup::some)
        table.LoadBegin(k.lookup_begin, k.n_types, type + 4 * std::ptrdiff_t{i_cluster},
                        type + 4 * std::ptrdiff_t{cluster_of(masked[m].j)});
      AddEntries<Choice, true, Reciprocals::divided, beside>(k, loop, ci, &masked[m].j, &masked[m], &table, 1, sums,
                                                             energies, on_clash);
      ++m;
    }
    const auto plain = part.plain_of(row);
    const auto on_clash = [&](std::size_t e) { clashes.push_back({i_cluster, {plain[e], 0xFFFF, 0, false}}); };
    bool multiplies = false;
    if constexpr (simd::multiplies_for_reciprocals && beside == Beside::nothing) {
      multiplies = k.multiplies_for_reciprocals;
      if (multiplies) AddPlain<Choice, Reciprocals::multiplied, beside>(k, loop, ci, plain, sums, energies, on_clash);
    }
    if (!multiplies) AddPlain<Choice, Reciprocals::divided, beside>(k, loop, ci, plain, sums, energies, on_clash);
    sums.AddTo(loop.force[i_cluster].value);
    if constexpr (beside == Beside::energies) energies.AddTo(*total);
    if constexpr (beside != Beside::nothing)
      if ((row + 1 - rows.begin) % rows_between_moves == 0 || row + 1 == rows.end) cell_forces->move_recent_to_totals();
  }
}

/// Whether common settings have loops of their own.
constexpr bool has_fixed_loops = !TESSERA_IS_SLOW;

using LoopFunction = void(const KernelConstants& constants, const PairListPart& part, const RowRange& rows,
                          const std::int32_t* type, const Loop& loop, CellForces* cell_forces, EnergyVirial* total,
                          std::vector<Clash>& clashes);

/// Returns the loop that is compiled for a modifier of Lennard-Jones with other settings as they are most often,
/// without energies. Each modifier's is in a source of its own in loops/.
template <LjModifier lj>
LoopFunction* FixedLoop(bool has_two_cutoffs, bool with_cell_forces);

/// Returns the loop of systems with pair potentials; loops/lookup.cpp.
template <Lookup which>
LoopFunction* LookupLoop(const KernelConstants& k, bool is_common, bool with_cell_forces, bool with_energies);

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pair
HWY_AFTER_NAMESPACE();
