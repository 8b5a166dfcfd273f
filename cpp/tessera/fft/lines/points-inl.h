// Contains the types that load and store the points of passes; radix.cpp includes it once for each instruction set,
// after butterflies-inl.h.
HWY_BEFORE_NAMESPACE();
namespace tessera::fft {
namespace HWY_NAMESPACE {

// Converts neighbouring complex numbers of two vectors to two vectors of parts and back. The lanes are in the cheapest
// order, which is the same both ways.
HWY_INLINE Complexes<double> unzip(hn::Vec<D<double>> a, hn::Vec<D<double>> b) {
  return {hn::InterleaveLower(D<double>(), a, b), hn::InterleaveUpper(D<double>(), a, b)};
}
HWY_INLINE Complexes<double> zip(const Complexes<double>& x) { return unzip(x.re, x.im); }
HWY_INLINE Complexes<float> unzip(hn::Vec<D<float>> a, hn::Vec<D<float>> b) {
  return {hn::OddEven(hn::DupEven(b), a), hn::OddEven(b, hn::DupOdd(a))};
}
HWY_INLINE Complexes<float> zip(const Complexes<float>& x) { return unzip(x.re, x.im); }

/// Whether a vector is as wide as a cache line: as wide as a bundle.
template <class Real>
constexpr bool is_cache_line = hn::MaxLanes(D<Real>()) == lanes<Real>;

// The following types load and store the points of a pass; v is the first lane.

/// Points stored as all real parts, then all imaginary parts.
template <class Real>
struct SplitPoints {
  Real* at;

  HWY_INLINE Complexes<Real> load(std::int64_t j, std::int64_t v) const {
    const Real* p = at + 2 * j * lanes<Real> + v;
    return {hn::Load(D<Real>(), p), hn::Load(D<Real>(), p + lanes<Real>)};
  }
  HWY_INLINE void prefetch(std::int64_t, std::int64_t) const {}
  HWY_INLINE void store(const Complexes<Real>& x, std::int64_t j, std::int64_t v) const {
    Real* p = at + 2 * j * lanes<Real> + v;
    hn::Store(x.re, D<Real>(), p);
    hn::Store(x.im, D<Real>(), p + lanes<Real>);
  }
};

template <class Real>
struct FromComplex {
  const Real* const* rows;

  HWY_INLINE Complexes<Real> load(std::int64_t j, std::int64_t v) const {
    const D<Real> d;
    const Real* p = rows[j] + 2 * v;
    return unzip(hn::LoadU(d, p), hn::LoadU(d, p + hn::Lanes(d)));
  }
  /// Prefetches the next lines. Each point of a line is on another page, which no hardware prefetcher predicts.
  HWY_INLINE void prefetch(std::int64_t j, std::int64_t v) const {
    const D<Real> d;
    const Real* p = rows[j] + 2 * v + 2 * lanes<Real>;
    hwy::Prefetch(p);
    if constexpr (is_cache_line<Real>) hwy::Prefetch(p + hn::Lanes(d));
  }
};

/// Points 2j and 2j + 1, combined into a complex one.
template <class Real>
struct FromReal {
  const Real* const* rows;

  HWY_INLINE Complexes<Real> load(std::int64_t j, std::int64_t v) const {
    return {hn::LoadU(D<Real>(), rows[2 * j] + v), hn::LoadU(D<Real>(), rows[2 * j + 1] + v)};
  }
  HWY_INLINE void prefetch(std::int64_t j, std::int64_t v) const {
    if (v > 0) return;
    hwy::Prefetch(rows[2 * j] + lanes<Real>);
    hwy::Prefetch(rows[2 * j + 1] + lanes<Real>);
  }
};

HWY_INLINE void prefetch_to_write(const void* p) { __builtin_prefetch(p, 1); }

/// Odd numbers of real points.
template <class Real>
struct FromOddReal {
  const Real* const* rows;

  HWY_INLINE Complexes<Real> load(std::int64_t j, std::int64_t v) const {
    return {hn::LoadU(D<Real>(), rows[j] + v), hn::Zero(D<Real>())};
  }
};

/// The waves of an odd number n of real points. The imaginary part of the first is taken as zero.
template <class Real>
struct FromWaves {
  const Real* const* rows;
  std::int64_t n;

  HWY_INLINE Complexes<Real> load(std::int64_t j, std::int64_t v) const {
    Complexes<Real> x;
    hn::LoadInterleaved2(D<Real>(), rows[2 * j > n ? n - j : j] + 2 * v, x.re, x.im);
    if (j == 0) return {x.re, hn::Zero(D<Real>())};
    return 2 * j > n ? Complexes<Real>{x.re, hn::Neg(x.im)} : x;
  }
};

/// Stores complex results. A backward transform is a forward one whose result j goes to place n − j.
template <class Real, bool may_stream>
struct ToComplex {
  Real* const* rows;
  const bool* streams;
  std::int64_t first, step;
  Real scale;

  HWY_INLINE void store(const Complexes<Real>& x, std::int64_t j, std::int64_t v) const {
    const D<Real> d;
    const auto by = hn::Set(d, scale);
    const auto zipped = zip(Complexes<Real>{hn::Mul(x.re, by), hn::Mul(x.im, by)});
    const std::int64_t i = first + step * j;
    Real* p = rows[i] + 2 * v;
    if (may_stream && streams[i]) {
      hn::Stream(zipped.re, d, p);
      hn::Stream(zipped.im, d, p + hn::Lanes(d));
    } else {
      hn::StoreU(zipped.re, d, p);
      hn::StoreU(zipped.im, d, p + hn::Lanes(d));
      prefetch_to_write(p + 2 * lanes<Real>);
      if constexpr (is_cache_line<Real>) prefetch_to_write(p + 2 * lanes<Real> + hn::Lanes(d));
    }
  }
};

template <class Real>
struct ToReal {
  Real* const* rows;
  std::int64_t first, step;
  Real scale;

  HWY_INLINE void store(const Complexes<Real>& x, std::int64_t j, std::int64_t v) const {
    const D<Real> d;
    const auto by = hn::Set(d, scale);
    const std::int64_t i = first + step * j;
    hn::StoreU(hn::Mul(x.re, by), d, rows[2 * i] + v);
    hn::StoreU(hn::Mul(x.im, by), d, rows[2 * i + 1] + v);
  }
};

template <class Real>
struct ToOddReal {
  Real* const* rows;
  std::int64_t first, step;
  Real scale;

  HWY_INLINE void store(const Complexes<Real>& x, std::int64_t j, std::int64_t v) const {
    hn::StoreU(hn::Mul(x.re, hn::Set(D<Real>(), scale)), D<Real>(), rows[first + step * j] + v);
  }
};

template <class Real>
struct ToWaves {
  Real* const* rows;
  Real scale;

  HWY_INLINE void store(const Complexes<Real>& x, std::int64_t j, std::int64_t v) const {
    const auto by = hn::Set(D<Real>(), scale);
    hn::StoreInterleaved2(hn::Mul(x.re, by), hn::Mul(x.im, by), D<Real>(), rows[j] + 2 * v);
  }
};
}  // namespace HWY_NAMESPACE
}  // namespace tessera::fft
HWY_AFTER_NAMESPACE();
