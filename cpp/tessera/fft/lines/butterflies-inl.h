// Contains the transforms of a few points in registers; radix.cpp includes it once for each instruction set. Complex
// numbers are split into vectors of real and imaginary parts, so that a multiplication by i is free and no lanes are
// permuted between the first and the last pass.
#include "tessera/base/simd/rounding-inl.h"
#include "tessera/base/simd/stage-inl.h"

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
struct Butterfly<Real, 1> {
  static HWY_INLINE void run(Complexes<Real>*) {}
};

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
  static TESSERA_STAGE void run(Complexes<Real>* x) {
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
  static TESSERA_STAGE void run(Complexes<Real>* x) {
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
}  // namespace HWY_NAMESPACE
}  // namespace tessera::fft
HWY_AFTER_NAMESPACE();
