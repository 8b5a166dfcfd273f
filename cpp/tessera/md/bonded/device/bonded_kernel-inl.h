// Computes bonded terms on a device, all kinds but CMAP in one kernel: a warp has 32 terms of one kind. Loops are those
// of the kinds' own files.
#include "tessera/md/bonded/angle/angle-inl.h"
#include "tessera/md/bonded/angle/cosine-inl.h"
#include "tessera/md/bonded/bond/bond-inl.h"
#include "tessera/md/bonded/bond/quartic-inl.h"
#include "tessera/md/bonded/cmap/cmap-inl.h"
#include "tessera/md/bonded/dihedral/cosine-inl.h"
#include "tessera/md/bonded/dihedral/harmonic-inl.h"
#include "tessera/md/bonded/dihedral/ryckaert_bellemans-inl.h"
#include "tessera/md/bonded/pair_14/pair_14-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::bonded {
namespace HWY_NAMESPACE {

/// Adds the terms [begin, end) of a kind, at most 32, to what `to` has.
template <bool with_energy>
struct AddTerms {
  const Atoms& atoms;
  std::int64_t begin, end;
  Accumulator& to;

  template <class List, class Row>
  HWY_INLINE void operator()(model::Bond, const List& list, std::span<const Row> rows) const {
    AddSpringsLoop<with_energy>(atoms, list, begin, end, rows, to, Term::bond);
  }
  template <class List, class Row>
  HWY_INLINE void operator()(model::UreyBradley, const List& list, std::span<const Row> rows) const {
    AddSpringsLoop<with_energy>(atoms, list, begin, end, rows, to, Term::urey_bradley);
  }
  template <class List, class Row>
  HWY_INLINE void operator()(model::BondQuartic, const List& list, std::span<const Row> rows) const {
    AddQuarticsLoop<with_energy>(atoms, list, begin, end, rows, to);
  }
  template <class List, class Row>
  HWY_INLINE void operator()(model::Angle, const List& list, std::span<const Row> rows) const {
    AddAnglesLoop<with_energy>(atoms, list, begin, end, rows, to);
  }
  template <class List, class Row>
  HWY_INLINE void operator()(model::AngleCosine, const List& list, std::span<const Row> rows) const {
    AddCosineAnglesLoop<with_energy>(atoms, list, begin, end, rows, to);
  }
  template <class List, class Row>
  HWY_INLINE void operator()(model::Dihedral, const List& list, std::span<const Row> rows) const {
    AddDihedralsLoop<with_energy>(atoms, list, begin, end, rows, to, Term::dihedral);
  }
  template <class List, class Row>
  HWY_INLINE void operator()(model::DihedralRb, const List& list, std::span<const Row> rows) const {
    AddDihedralsLoop<with_energy>(atoms, list, begin, end, rows, to, Term::dihedral);
  }
  template <class List, class Row>
  HWY_INLINE void operator()(model::ImproperHarmonic, const List& list, std::span<const Row> rows) const {
    AddDihedralsLoop<with_energy>(atoms, list, begin, end, rows, to, Term::improper);
  }
  template <class List, class Row>
  HWY_INLINE void operator()(model::ImproperPeriodic, const List& list, std::span<const Row> rows) const {
    AddDihedralsLoop<with_energy>(atoms, list, begin, end, rows, to, Term::improper);
  }
  template <class List, class Row>
  HWY_INLINE void operator()(model::Cmap, const List& list, std::span<const Row> rows) const {
    AddCmapsLoop<with_energy>(atoms, list, begin, end, rows, to);
  }
  template <class List, class Row>
  HWY_INLINE void operator()(model::Pair14, const List& list, std::span<const Row> rows) const {
    AddPairs14Loop<with_energy>(atoms, list, begin, end, rows, to);
  }
};

/// `of_cmap`: the kernel of CMAP corrections, else that of all other kinds.
template <bool with_energy, bool of_cmap>
struct BondedKernel {
  static constexpr int n_phases = 1, warps_of_block = 4, blocks_at_once = of_cmap ? 3 : 4;
  using Arguments = BondedArguments;
  struct Shared {};

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared&, const simd::Place& place) {
    RunKinds(a, place.OfAll(), static_cast<const model::BondedKinds*>(nullptr));
  }

 private:
  template <class... Kinds>
  static HWY_INLINE void RunKinds(const Arguments& a, std::int32_t warp, const std::tuple<Kinds...>*) {
    std::size_t k = 0;
    (RunKind<Kinds>(a, a.kinds[k++], warp), ...);
  }

  /// Adds the terms of a kind that a warp has, if it has any.
  template <class Kind>
  static HWY_INLINE void RunKind(const Arguments& a, const TermsOnDevice& terms, std::int32_t warp) {
    if constexpr (has_own_kernel<Kind> == of_cmap) AddWarp<Kind>(a, terms, (warp - terms.first_warp) * hn::warp_size);
  }
  template <class Kind>
  static HWY_INLINE void AddWarp(const Arguments& a, const TermsOnDevice& terms, std::int32_t begin) {
    if (begin < 0 || begin >= terms.n) return;
    const Atoms atoms{a.box, a.position, a.charge};
    Accumulator to{a.total, a.sums};
    const TermList<Kind::arity> list{terms.slots, terms.parameter};
    using Row = RowOnDevice<Kind>;
    const std::span<const Row> rows(static_cast<const Row*>(terms.rows), 1);  // how many there are is not looked at
    AddTerms<with_energy>{atoms, begin, terms.n, to}(Kind(), list, rows);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::bonded
HWY_AFTER_NAMESPACE();
