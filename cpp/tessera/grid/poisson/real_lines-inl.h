// The passes over bundles of lines, compiled for each instruction set by real_lines.cpp. A row of a bundle has one
// number of each line: a cache line.
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "tessera/grid/poisson/real_lines.h"

#if defined(TESSERA_GRID_POISSON_REAL_LINES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_GRID_POISSON_REAL_LINES_INL_H
#undef TESSERA_GRID_POISSON_REAL_LINES_INL_H
#else
#define TESSERA_GRID_POISSON_REAL_LINES_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::grid {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Calls visit(d, first lane) for the vectors of a row.
template <class Real, class Visit>
HWY_INLINE void ForVectors(Visit&& visit) {
  const hn::CappedTag<Real, fft::lanes<Real>> d;
  for (std::size_t l = 0; l < static_cast<std::size_t>(fft::lanes<Real>); l += hn::Lanes(d)) visit(d, l);
}

/// Computes points(r) = (f(r) + f(n − r)) sin(πr/n) + (f(r) − f(n − r))/2, where f(r) is row r − 1 of `from`.
template <class Real>
HWY_INLINE void FoldSines(const Real* HWY_RESTRICT sine, std::int64_t n, const Real* HWY_RESTRICT from,
                          std::int64_t stride, Real* HWY_RESTRICT points) {
  constexpr std::int64_t lanes = fft::lanes<Real>;
  ForVectors<Real>([&](auto d, std::size_t l) HWY_ATTR { hn::Store(hn::Zero(d), d, points + l); });
  for (std::int64_t r = 1; 2 * r <= n; ++r)
    ForVectors<Real>([&](auto d, std::size_t l) HWY_ATTR {
      const auto low = hn::LoadU(d, from + (r - 1) * stride + l), high = hn::LoadU(d, from + (n - r - 1) * stride + l);
      const auto sum = hn::Mul(hn::Add(low, high), hn::Set(d, sine[r]));
      const auto half = hn::Mul(hn::Sub(low, high), hn::Set(d, Real(0.5)));
      hn::Store(hn::Add(sum, half), d, points + r * lanes + l);
      hn::Store(hn::Sub(sum, half), d, points + (n - r) * lanes + l);
    });
}

/// Writes the sum over sin(πk·/n) to row k − 1 of `to`: even ones are −im of the waves, and odd ones sums of re.
template <class Real>
HWY_INLINE void UnfoldSines(std::int64_t n, const Real* HWY_RESTRICT waves, Real* HWY_RESTRICT to,
                            std::int64_t stride) {
  constexpr std::int64_t lanes = fft::lanes<Real>;
  ForVectors<Real>([&](auto d, std::size_t l) HWY_ATTR {
    hn::Vec<decltype(d)> re, im;
    hn::LoadInterleaved2(d, waves + 2 * l, re, im);
    auto odd = hn::Mul(re, hn::Set(d, Real(0.5)));
    hn::StoreU(odd, d, to + l);
    for (std::int64_t k = 1; 2 * k < n; ++k) {
      hn::LoadInterleaved2(d, waves + 2 * k * lanes + 2 * l, re, im);
      hn::StoreU(hn::Neg(im), d, to + (2 * k - 1) * stride + l);
      odd = hn::Add(odd, re);
      if (2 * k + 1 < n) hn::StoreU(odd, d, to + 2 * k * stride + l);
    }
  });
}

/// Writes rows cos 0, cos 1, sin 1, cos 2, … from the waves.
template <class Real>
HWY_INLINE void SplitWaves(std::int64_t n, const Real* HWY_RESTRICT waves, Real* HWY_RESTRICT to, std::int64_t stride) {
  constexpr std::int64_t lanes = fft::lanes<Real>;
  for (std::int64_t k = 0; k <= n / 2; ++k)
    ForVectors<Real>([&](auto d, std::size_t l) HWY_ATTR {
      hn::Vec<decltype(d)> re, im;
      hn::LoadInterleaved2(d, waves + 2 * k * lanes + 2 * l, re, im);
      hn::StoreU(re, d, to + (k == 0 ? 0 : 2 * k - 1) * stride + l);
      if (k > 0 && 2 * k < n) hn::StoreU(im, d, to + 2 * k * stride + l);
    });
}

template <class Real>
HWY_INLINE void JoinWaves(std::int64_t n, const Real* HWY_RESTRICT from, std::int64_t stride,
                          Real* HWY_RESTRICT waves) {
  constexpr std::int64_t lanes = fft::lanes<Real>;
  for (std::int64_t k = 0; k <= n / 2; ++k)
    ForVectors<Real>([&](auto d, std::size_t l) HWY_ATTR {
      const auto re = hn::LoadU(d, from + (k == 0 ? 0 : 2 * k - 1) * stride + l);
      const auto im = k > 0 && 2 * k < n ? hn::LoadU(d, from + 2 * k * stride + l) : hn::Zero(d);
      hn::StoreInterleaved2(re, im, d, waves + 2 * k * lanes + 2 * l);
    });
}

template <class Real>
HWY_INLINE void Divide(std::int64_t n, const Real* HWY_RESTRICT second, const Real* HWY_RESTRICT mean,
                       const Real* HWY_RESTRICT by_second, const Real* HWY_RESTRICT by_mean, Real* HWY_RESTRICT rows) {
  constexpr std::int64_t lanes = fft::lanes<Real>;
  ForVectors<Real>([&](auto d, std::size_t l) HWY_ATTR {
    const auto a = hn::LoadU(d, by_second + l), b = hn::LoadU(d, by_mean + l);
    for (std::int64_t k = 0; k < n; ++k) {
      const auto eigenvalue = hn::Add(hn::Mul(hn::Set(d, second[k]), a), hn::Mul(hn::Set(d, mean[k]), b));
      Real* row = rows + k * lanes + l;
      const auto quotient = hn::Div(hn::Load(d, row), eigenvalue);
      hn::Store(hn::IfThenElseZero(hn::Lt(eigenvalue, hn::Zero(d)), quotient), d, row);
    }
  });
}

#define TESSERA_LINES_OF(Real, Name)                                                                                  \
  void FoldSines##Name(const Real* sine, std::int64_t n, const Real* from, std::int64_t stride, Real* points) {       \
    FoldSines(sine, n, from, stride, points);                                                                         \
  }                                                                                                                   \
  void UnfoldSines##Name(std::int64_t n, const Real* waves, Real* to, std::int64_t stride) {                          \
    UnfoldSines(n, waves, to, stride);                                                                                \
  }                                                                                                                   \
  void SplitWaves##Name(std::int64_t n, const Real* waves, Real* to, std::int64_t stride) {                           \
    SplitWaves(n, waves, to, stride);                                                                                 \
  }                                                                                                                   \
  void JoinWaves##Name(std::int64_t n, const Real* from, std::int64_t stride, Real* waves) {                          \
    JoinWaves(n, from, stride, waves);                                                                                \
  }                                                                                                                   \
  void Divide##Name(std::int64_t n, const Real* second, const Real* mean, const Real* by_second, const Real* by_mean, \
                    Real* rows) {                                                                                     \
    Divide(n, second, mean, by_second, by_mean, rows);                                                                \
  }

TESSERA_LINES_OF(float, Float)
TESSERA_LINES_OF(double, Double)
#undef TESSERA_LINES_OF

}  // namespace HWY_NAMESPACE
}  // namespace tessera::grid
HWY_AFTER_NAMESPACE();

#endif
