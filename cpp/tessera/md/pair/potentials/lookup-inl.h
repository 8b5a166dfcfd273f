// Looks pair potentials up in a LookupTable, for packs of registers. The kernel includes it once for each instruction
// set, after functions-inl.h.
HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

/// Where the values of some pairs of atoms are: pieces, and arguments within them.
template <std::size_t n>
struct Pieces {
#ifdef TESSERA_LANE
  VI piece[n];
#else
  HWY_ALIGN std::int32_t piece[n * lanes];
#endif
  Pack<n> u;
};

template <std::size_t n>
HWY_INLINE void FindPieces(const KernelConstants& k, const Pack<n>& r2, const Pack<n>& begin, Pieces<n>& pieces) {
  constexpr int shift = 23 - LookupTable::bits;
  for (std::size_t i = 0; i < n; ++i) {
    const auto bits = hn::BitCast(DI(), r2.part[i]);
    // Pairs beyond the cut-off, whose values are not used, take the last piece.
    const auto piece = hn::Sub(hn::ShiftRight<shift>(bits), hn::Set(DI(), k.lookup_first));
    const auto inside = hn::Min(hn::Max(piece, hn::Zero(DI())), hn::Set(DI(), k.lookup_last));
    const auto of_table = hn::Add(inside, hn::ConvertTo(DI(), begin.part[i]));
#ifdef TESSERA_LANE
    pieces.piece[i] = of_table;
#else
    hn::Store(of_table, DI(), pieces.piece + i * lanes);
#endif
    const auto fraction = hn::And(bits, hn::Set(DI(), (1 << shift) - 1));
    const auto one_more = hn::Or(fraction, hn::BitCast(DI(), set(1.0f)));
    pieces.u.part[i] = hn::Sub(hn::BitCast(D(), one_more), set(1.0f));
  }
}

#ifndef TESSERA_LANE
/// Returns the coefficients of the pieces of lanes `of`, `of` + 4, `of` + 8, …, one lane to a block.
template <class W>  // a template, so that only the branch of this width is compiled
HWY_INLINE W LoadPieces(const float* coefficients, const std::int32_t* piece, std::size_t of) {
  using DW = hn::DFromV<W>;
  const auto load = [&](std::size_t block) HWY_ATTR {
    return hn::LoadU(D4(), coefficients + LookupTable::per_piece * static_cast<std::size_t>(piece[4 * block + of]));
  };
  if constexpr (hn::MaxLanes(DW()) == 16) {
    const hn::Half<DW> half;
    return hn::Combine(DW(), hn::Combine(half, load(3), load(2)), hn::Combine(half, load(1), load(0)));
  } else if constexpr (hn::MaxLanes(DW()) == 8) {
    return hn::Combine(DW(), load(1), load(0));
  } else {
    return load(0);
  }
}
#endif

/// Evaluates Σ cₙuⁿ. Registers load whole pieces and transpose them, as gathering coefficient by coefficient is slower.
template <std::size_t n>
HWY_INLINE Pack<n> EvaluatePieces(const float* coefficients, const Pieces<n>& pieces) {
  Pack<n> result;
  for (std::size_t i = 0; i < n; ++i) {
#ifdef TESSERA_LANE
    static_assert(LookupTable::per_piece == 4);
    const VI first = hn::ShiftLeft<2>(pieces.piece[i]);
    const V c0 = hn::GatherIndex(D(), coefficients, first), c1 = hn::GatherIndex(D(), coefficients + 1, first);
    const V c2 = hn::GatherIndex(D(), coefficients + 2, first), c3 = hn::GatherIndex(D(), coefficients + 3, first);
#else
    using D64 = hn::Repartition<double, D>;
    const auto* piece = pieces.piece + i * lanes;
    const V a = LoadPieces<V>(coefficients, piece, 0), b = LoadPieces<V>(coefficients, piece, 1);
    const V c = LoadPieces<V>(coefficients, piece, 2), d = LoadPieces<V>(coefficients, piece, 3);
    const auto lower_ab = hn::BitCast(D64(), hn::InterleaveLower(D(), a, b));
    const auto lower_cd = hn::BitCast(D64(), hn::InterleaveLower(D(), c, d));
    const auto upper_ab = hn::BitCast(D64(), hn::InterleaveUpper(D(), a, b));
    const auto upper_cd = hn::BitCast(D64(), hn::InterleaveUpper(D(), c, d));
    const V c0 = hn::BitCast(D(), hn::InterleaveLower(D64(), lower_ab, lower_cd));
    const V c1 = hn::BitCast(D(), hn::InterleaveUpper(D64(), lower_ab, lower_cd));
    const V c2 = hn::BitCast(D(), hn::InterleaveLower(D64(), upper_ab, upper_cd));
    const V c3 = hn::BitCast(D(), hn::InterleaveUpper(D64(), upper_ab, upper_cd));
#endif
    const V u = pieces.u.part[i];
    result.part[i] = simd::MulAdd(simd::MulAdd(simd::MulAdd(c3, u, c2), u, c1), u, c0);
  }
  return result;
}

/// Returns F·r and, if requested, the energy of pairs whose tables begin at `begin`, a whole number.
template <bool WithEnergy, std::size_t n>
HWY_INLINE PairForce<Pack<n>> LookUp(const KernelConstants& k, const Pack<n>& r2, const Pack<n>& begin) {
  Pieces<n> pieces;
  FindPieces(k, r2, begin, pieces);
  PairForce<Pack<n>> result;
  result.force_times_r = EvaluatePieces(k.lookup_force, pieces);
  result.energy = hn::Zero(D());
  if constexpr (WithEnergy) result.energy = EvaluatePieces(k.lookup_energy, pieces);
  return result;
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pair
HWY_AFTER_NAMESPACE();
