// Contains the transforms of a few points in registers; radix.cpp includes it once for each instruction set, and kernels
// of devices once for lanes. Complex numbers are split into vectors of real and imaginary parts, so that a multiplication
// by i is free and no lanes are permuted between the first and the last pass.
#include <array>
#include <cstdint>

#include "tessera/base/simd/rounding-inl.h"
#include "tessera/base/simd/stage-inl.h"
#include "tessera/fft/lines/circle.h"

// Arrays of vectors stay in registers only if their loops are unrolled early.
#undef TESSERA_UNROLL
#ifdef __CUDACC__
#define TESSERA_UNROLL _Pragma("unroll")
#else
#define TESSERA_UNROLL _Pragma("GCC unroll 16")
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::fft {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = tessera::simd::HWY_NAMESPACE;

template <class Real>
using D = hn::CappedTag<Real, 64 / sizeof(Real)>;  // no more than the lines of a bundle

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

/// Returns the cosine of 2π e/n, with e and n known to the compiler. Devices have no variables of a host.
template <class Real, int n>
HWY_INLINE Real cosine_of(int e) {
  constexpr std::array<Real, n> values = Circle<n>::template cosine<Real>;
  return values[static_cast<std::size_t>(e)];
}
/// Returns the sine likewise.
template <class Real, int n>
HWY_INLINE Real sine_of(int e) {
  constexpr std::array<Real, n> values = Circle<n>::template sine<Real>;
  return values[static_cast<std::size_t>(e)];
}

/// Returns a exp(−2πi e/n), with e and n known to the compiler.
template <class Real, int n>
HWY_INLINE Complexes<Real> turn_by(const Complexes<Real>& a, int e) {
  const D<Real> d;
  if (e == 0) return a;
  if (4 * e == n) return {a.im, hn::Neg(a.re)};
  if (8 * e == n || 8 * e == 3 * n) {
    const auto half = hn::Set(d, cosine_of<Real, n>(n / 8));
    const auto sum = hn::Mul(hn::Add(a.re, a.im), half), difference = hn::Mul(hn::Sub(a.im, a.re), half);
    return 8 * e == n ? Complexes<Real>{sum, difference} : Complexes<Real>{difference, hn::Neg(sum)};
  }
  return turn<Real>(a, hn::Set(d, cosine_of<Real, n>(e)), hn::Set(d, -sine_of<Real, n>(e)));
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
        const auto c = hn::Set(d, cosine_of<Real, r>(e)), s = hn::Set(d, sine_of<Real, r>(e));
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

// Names each radix above 1 that has a butterfly.
#undef TESSERA_RADICES
#define TESSERA_RADICES(X) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(12) X(16)

/// Transforms r points that load(i) returns: what a pass does with them. The results other than the first are turned by
/// turned(x, i) before store(x, i) takes them.
template <class Real, int r, class Load, class Turned, class Store>
HWY_INLINE void transform_points(const Load& load, const Turned& turned, const Store& store) {
  Complexes<Real> x[r];
  TESSERA_UNROLL
  for (int i = 0; i < r; ++i) x[i] = load(i);
  Butterfly<Real, r>::run(x);
  TESSERA_UNROLL
  for (int i = 0; i < r; ++i) store(i > 0 ? turned(x[i], i) : x[i], i);
}

// Lines of an even number n of real points are transformed as n/2 complex ones, "halves".

template <class Real>
struct TwoPoints {
  Complexes<Real> low, high;  // k and n/2 − k
};

/// Returns the waves k and n/2 − k of real points from the transform of their halves there; (c, s) is exp(−2πi k/n).
template <class Real>
HWY_INLINE TwoPoints<Real> waves_of_halves(const Complexes<Real>& a, const Complexes<Real>& b, hn::Vec<D<Real>> c,
                                           hn::Vec<D<Real>> s) {
  const auto half = hn::Set(D<Real>(), static_cast<Real>(0.5));
  const Complexes<Real> even{hn::Mul(half, hn::Add(a.re, b.re)), hn::Mul(half, hn::Sub(a.im, b.im))};
  const Complexes<Real> odd{hn::Mul(half, hn::Add(a.im, b.im)), hn::Mul(half, hn::Sub(b.re, a.re))};
  const auto turned = turn<Real>(odd, c, s), high = even - turned;
  return {even + turned, {high.re, hn::Neg(high.im)}};
}

/// Inverts waves_of_halves() except for a factor of 2; (c, s) is exp(2πi k/n).
template <class Real>
HWY_INLINE TwoPoints<Real> halves_of_waves(const Complexes<Real>& a, const Complexes<Real>& b, hn::Vec<D<Real>> c,
                                           hn::Vec<D<Real>> s) {
  const Complexes<Real> even{hn::Add(a.re, b.re), hn::Sub(a.im, b.im)};
  const auto odd = turn<Real>({hn::Sub(a.re, b.re), hn::Add(a.im, b.im)}, c, s);
  return {{hn::Sub(even.re, odd.im), hn::Add(even.im, odd.re)}, {hn::Add(even.re, odd.im), hn::Sub(odd.re, even.im)}};
}
}  // namespace HWY_NAMESPACE
}  // namespace tessera::fft
HWY_AFTER_NAMESPACE();
