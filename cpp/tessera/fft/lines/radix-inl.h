// Contains the passes of radix.h; radix.cpp includes it once for each instruction set. Complex numbers are split into
// vectors of real and imaginary parts, so that a multiplication by i is free and no lanes are permuted between the
// first and the last pass.
#include "tessera/base/simd/rounding-inl.h"

// Arrays of vectors stay in registers only if their loops are unrolled early.
#undef TESSERA_UNROLL
#define TESSERA_UNROLL _Pragma("GCC unroll 16")

HWY_BEFORE_NAMESPACE();
namespace tessera::fft {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = tessera::simd::HWY_NAMESPACE;

template <class Real>
using D = hn::CappedTag<Real, lanes<Real>>;

template <class Real>
struct Complexes {
  hn::Vec<D<Real>> re, im;
};

template <class Real>
HWY_INLINE Complexes<Real> operator+(const Complexes<Real>& a, const Complexes<Real>& b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class Real>
HWY_INLINE Complexes<Real> operator-(const Complexes<Real>& a, const Complexes<Real>& b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
/// Returns a (c + i s).
template <class Real>
HWY_INLINE Complexes<Real> turn(const Complexes<Real>& a, hn::Vec<D<Real>> c, hn::Vec<D<Real>> s) {
  return {simd::MulSub(a.re, c, hn::Mul(a.im, s)), simd::MulAdd(a.im, c, hn::Mul(a.re, s))};
}
/// Returns a exp(−2πi e/n), with e and n known to the compiler.
template <class Real, int n>
HWY_INLINE Complexes<Real> turn_by(const Complexes<Real>& a, int e) {
  const D<Real> d;
  if (e == 0) return a;
  if (4 * e == n) return {a.im, hn::Neg(a.re)};
  if (8 * e == n || 8 * e == 3 * n) {
    const auto half = hn::Set(d, Circle<n>::template cosine<Real>[n / 8]);
    const auto sum = hn::Mul(hn::Add(a.re, a.im), half), difference = hn::Mul(hn::Sub(a.im, a.re), half);
    return 8 * e == n ? Complexes<Real>{sum, difference} : Complexes<Real>{difference, hn::Neg(sum)};
  }
  return turn<Real>(a, hn::Set(d, Circle<n>::template cosine<Real>[e]), hn::Set(d, -Circle<n>::template sine<Real>[e]));
}

// Transforms r points in registers, in place. All loop bounds are constants, so the loops are unrolled completely.
template <class Real, int r>
struct Butterfly;

template <class Real>
struct Butterfly<Real, 2> {
  static HWY_INLINE void run(Complexes<Real>* x) {
    const auto a = x[0];
    x[0] = a + x[1];
    x[1] = a - x[1];
  }
};

template <class Real>
struct Butterfly<Real, 4> {
  static HWY_INLINE void run(Complexes<Real>* x) {
    const auto a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], e = x[1] - x[3];
    x[0] = a + c;
    x[2] = a - c;
    x[1] = {hn::Add(b.re, e.im), hn::Sub(b.im, e.re)};
    x[3] = {hn::Sub(b.re, e.im), hn::Add(b.im, e.re)};
  }
};

/// The butterfly of an odd prime uses sums and differences of the points i and r − i.
template <class Real, int r>
struct OddButterfly {
  static HWY_INLINE void run(Complexes<Real>* x) {
    constexpr int half = r / 2;
    const D<Real> d;
    const auto first = x[0];
    Complexes<Real> sum[half], difference[half];
    TESSERA_UNROLL
    for (int j = 0; j < half; ++j) {
      sum[j] = x[j + 1] + x[r - 1 - j];
      difference[j] = x[j + 1] - x[r - 1 - j];
      x[0] = x[0] + sum[j];
    }
    TESSERA_UNROLL
    for (int k = 1; k <= half; ++k) {
      Complexes<Real> even = first, odd;
      TESSERA_UNROLL
      for (int j = 0; j < half; ++j) {
        const int e = (j + 1) * k % r;
        const auto c = hn::Set(d, Circle<r>::template cosine<Real>[e]);
        const auto s = hn::Set(d, Circle<r>::template sine<Real>[e]);
        even = {simd::MulAdd(sum[j].re, c, even.re), simd::MulAdd(sum[j].im, c, even.im)};
        if (j == 0)
          odd = {hn::Mul(difference[j].re, s), hn::Mul(difference[j].im, s)};
        else
          odd = {simd::MulAdd(difference[j].re, s, odd.re), simd::MulAdd(difference[j].im, s, odd.im)};
      }
      x[k] = {hn::Add(even.re, odd.im), hn::Sub(even.im, odd.re)};
      x[r - k] = {hn::Sub(even.re, odd.im), hn::Add(even.im, odd.re)};
    }
  }
};
template <class Real>
struct Butterfly<Real, 3> : OddButterfly<Real, 3> {};
template <class Real>
struct Butterfly<Real, 5> : OddButterfly<Real, 5> {};
template <class Real>
struct Butterfly<Real, 7> : OddButterfly<Real, 7> {};

/// The butterfly of r = a b does b transforms of a points, multiplies by twiddle factors, and does a transforms of b
/// points.
template <class Real, int a, int b>
struct ProductButterfly {
  static HWY_INLINE void run(Complexes<Real>* x) {
    Complexes<Real> between[a * b];
    TESSERA_UNROLL
    for (int j = 0; j < b; ++j) {
      Complexes<Real> y[a];
      TESSERA_UNROLL
      for (int i = 0; i < a; ++i) y[i] = x[b * i + j];
      Butterfly<Real, a>::run(y);
      TESSERA_UNROLL
      for (int k = 0; k < a; ++k) between[j * a + k] = turn_by<Real, a * b>(y[k], j * k);
    }
    TESSERA_UNROLL
    for (int k = 0; k < a; ++k) {
      Complexes<Real> y[b];
      TESSERA_UNROLL
      for (int j = 0; j < b; ++j) y[j] = between[j * a + k];
      Butterfly<Real, b>::run(y);
      TESSERA_UNROLL
      for (int i = 0; i < b; ++i) x[k + a * i] = y[i];
    }
  }
};
template <class Real>
struct Butterfly<Real, 6> : ProductButterfly<Real, 3, 2> {};
template <class Real>
struct Butterfly<Real, 8> : ProductButterfly<Real, 2, 4> {};
template <class Real>
struct Butterfly<Real, 9> : ProductButterfly<Real, 3, 3> {};
template <class Real>
struct Butterfly<Real, 10> : ProductButterfly<Real, 5, 2> {};
template <class Real>
struct Butterfly<Real, 12> : ProductButterfly<Real, 3, 4> {};
template <class Real>
struct Butterfly<Real, 16> : ProductButterfly<Real, 4, 4> {};

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

// The following types load and store the points of a pass; v is the first lane.

/// Points stored as all real parts, then all imaginary parts.
template <class Real>
struct SplitPoints {
  Real* at;

  HWY_INLINE Complexes<Real> load(std::int64_t j, std::int64_t v) const {
    const Real* p = at + 2 * j * lanes<Real> + v;
    return {hn::Load(D<Real>(), p), hn::Load(D<Real>(), p + lanes<Real>)};
  }
  HWY_INLINE void prefetch(std::int64_t) const {}
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
  HWY_INLINE void prefetch(std::int64_t j) const {
    hwy::Prefetch(rows[j] + 2 * lanes<Real>);
    hwy::Prefetch(rows[j] + 3 * lanes<Real>);
  }
};

/// Points 2j and 2j + 1, combined into a complex one.
template <class Real>
struct FromReal {
  const Real* const* rows;

  HWY_INLINE Complexes<Real> load(std::int64_t j, std::int64_t v) const {
    return {hn::LoadU(D<Real>(), rows[2 * j] + v), hn::LoadU(D<Real>(), rows[2 * j + 1] + v)};
  }
  HWY_INLINE void prefetch(std::int64_t j) const {
    hwy::Prefetch(rows[2 * j] + lanes<Real>);
    hwy::Prefetch(rows[2 * j + 1] + lanes<Real>);
  }
};

HWY_INLINE void prefetch_to_write(const void* p) { __builtin_prefetch(p, 1); }

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
      prefetch_to_write(p + 2 * lanes<Real> + hn::Lanes(d));
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

template <int r, bool is_last, class Real, class From, class To>
void run_radix(const RadixPass& pass, const Real* turns, const From& from, const To& to) {
  const D<Real> d;
  const std::int64_t m = is_last ? 1 : pass.m, s = pass.s;
  for (std::int64_t v = 0; v < lanes<Real>; v += static_cast<std::int64_t>(hn::Lanes(d)))
    for (std::int64_t p = 0; p < m; ++p) {
      const Real* w = turns + pass.first_turn + 2 * (r - 1) * p;
      for (std::int64_t q = 0; q < s; ++q) {
        Complexes<Real> x[r];
        TESSERA_UNROLL
        for (int i = 0; i < r; ++i) from.prefetch(q + s * (p + m * i));
        TESSERA_UNROLL
        for (int i = 0; i < r; ++i) x[i] = from.load(q + s * (p + m * i), v);
        Butterfly<Real, r>::run(x);
        TESSERA_UNROLL
        for (int i = 0; i < r; ++i) {
          if (!is_last && i > 0) x[i] = turn<Real>(x[i], hn::Set(d, w[2 * i - 2]), hn::Set(d, w[2 * i - 1]));
          to.store(x[i], q + s * (r * p + i), v);
        }
      }
    }
}

template <bool is_last, class Real, class From, class To>
void run_pass(const RadixPass& pass, const Real* turns, const From& from, const To& to) {
  switch (pass.radix) {
#define TESSERA_RADIX(r) \
  case r:                \
    return run_radix<r, is_last>(pass, turns, from, to);
    TESSERA_RADIX(2)
    TESSERA_RADIX(3)
    TESSERA_RADIX(4)
    TESSERA_RADIX(5)
    TESSERA_RADIX(6)
    TESSERA_RADIX(7)
    TESSERA_RADIX(8)
    TESSERA_RADIX(9)
    TESSERA_RADIX(10)
    TESSERA_RADIX(12)
    TESSERA_RADIX(16)
#undef TESSERA_RADIX
  }
}

/// Computes the transform of n real points from that of n/2 complex ones. Lanes of real lines are in an order of their
/// own.
template <class Real>
void from_halves(const RadixPlan<Real>& plan, const SplitPoints<Real>& from, Real* const* out, Real scale) {
  const D<Real> d;
  const std::int64_t h = plan.n / 2;
  const auto half = hn::Set(d, static_cast<Real>(0.5));
  for (std::int64_t v = 0; v < lanes<Real>; v += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto store = [&](const Complexes<Real>& x, std::int64_t k) HWY_ATTR {
      const auto by = hn::Set(d, scale);
      hn::StoreInterleaved2(hn::Mul(x.re, by), hn::Mul(x.im, by), d, out[k] + 2 * v);
    };
    const auto first = from.load(0, v);
    store({hn::Add(first.re, first.im), hn::Zero(d)}, 0);
    store({hn::Sub(first.re, first.im), hn::Zero(d)}, h);
    for (std::int64_t k = 1; 2 * k <= h; ++k) {
      const auto a = from.load(k, v), b = from.load(h - k, v);
      const Complexes<Real> even{hn::Mul(half, hn::Add(a.re, b.re)), hn::Mul(half, hn::Sub(a.im, b.im))};
      const Complexes<Real> odd{hn::Mul(half, hn::Add(a.im, b.im)), hn::Mul(half, hn::Sub(b.re, a.re))};
      const Real* w = plan.halves.data() + 2 * k;
      const auto turned = turn<Real>(odd, hn::Set(d, w[0]), hn::Set(d, w[1]));
      const auto low = even + turned, high = even - turned;
      store(low, k);
      store({high.re, hn::Neg(high.im)}, h - k);
    }
  }
}

/// Inverts from_halves() except for a factor of 2. The imaginary parts of the first and the last wave are taken as
/// zero.
template <class Real>
void to_halves(const RadixPlan<Real>& plan, const Real* const* in, const SplitPoints<Real>& to) {
  const D<Real> d;
  const auto load = [&](std::int64_t k, std::int64_t v) HWY_ATTR {
    Complexes<Real> x;
    hn::LoadInterleaved2(d, in[k] + 2 * v, x.re, x.im);
    return x;
  };
  const std::int64_t h = plan.n / 2;
  for (std::int64_t v = 0; v < lanes<Real>; v += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto first = load(0, v).re, last = load(h, v).re;
    to.store({hn::Add(first, last), hn::Sub(first, last)}, 0, v);
    for (std::int64_t k = 1; 2 * k <= h; ++k) {
      const auto a = load(k, v), b = load(h - k, v);
      const Complexes<Real> even{hn::Add(a.re, b.re), hn::Sub(a.im, b.im)};
      const Complexes<Real> turned{hn::Sub(a.re, b.re), hn::Add(a.im, b.im)};
      const Real* w = plan.halves.data() + 2 * k;
      const auto odd = turn<Real>(turned, hn::Set(d, w[0]), hn::Set(d, -w[1]));
      to.store({hn::Sub(even.re, odd.im), hn::Add(even.im, odd.re)}, k, v);
      to.store({hn::Add(even.re, odd.im), hn::Sub(odd.re, even.im)}, h - k, v);
    }
  }
}

template <class Real>
HWY_INLINE void execute(const RadixPlan<Real>& plan, const Real* const* in, Real** out, Real scale, bool* streams,
                        Real* scratch) {
  const bool is_real = plan.kind == LineKind::real_forward || plan.kind == LineKind::real_backward;
  const bool is_backward = plan.kind == LineKind::backward || plan.kind == LineKind::real_backward;
  const std::int64_t n = is_real ? plan.n / 2 : plan.n;
  const Real* turns = plan.turns.data();
  SplitPoints<Real> here{scratch}, there{scratch + 2 * n * lanes<Real>};
  const auto& passes = plan.passes;
  if (plan.kind == LineKind::real_backward) {
    to_halves(plan, in, there);
    run_pass<false>(passes.front(), turns, there, here);
  } else if (is_real) {
    run_pass<false>(passes.front(), turns, FromReal<Real>{in}, here);
  } else {
    run_pass<false>(passes.front(), turns, FromComplex<Real>{in}, here);
  }
  for (std::size_t i = 1; i + 1 < passes.size(); ++i) {
    run_pass<false>(passes[i], turns, here, there);
    std::swap(here, there);
  }
  const std::int64_t first = is_backward ? n : 0, step = is_backward ? -1 : 1;
  if (plan.kind == LineKind::real_forward) {
    run_pass<true>(passes.back(), turns, here, there);
    from_halves(plan, there, out, scale);
  } else if (is_real) {
    out[2 * n] = out[0];
    out[2 * n + 1] = out[1];
    run_pass<true>(passes.back(), turns, here, ToReal<Real>{out, first, step, scale});
  } else {
    out[n] = out[0];
    if (streams != nullptr) {
      streams[n] = streams[0];
      run_pass<true>(passes.back(), turns, here, ToComplex<Real, true>{out, streams, first, step, scale});
    } else {
      run_pass<true>(passes.back(), turns, here, ToComplex<Real, false>{out, streams, first, step, scale});
    }
  }
}

void ExecuteDouble(const RadixPlan<double>& plan, const double* const* in, double** out, double scale, bool* streams,
                   double* scratch) {
  execute(plan, in, out, scale, streams, scratch);
}
void ExecuteFloat(const RadixPlan<float>& plan, const float* const* in, float** out, float scale, bool* streams,
                  float* scratch) {
  execute(plan, in, out, scale, streams, scratch);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::fft
HWY_AFTER_NAMESPACE();
