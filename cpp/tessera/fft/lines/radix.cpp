// Compiles the passes once for each instruction set; sources and conventions: radix.h.
#include "tessera/fft/lines/radix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "tessera/fft/lines/circle.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/fft/lines/radix.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/fft/lines/radix-inl.h"

#if HWY_ONCE

namespace tessera::fft {

HWY_EXPORT(ExecuteDouble);
HWY_EXPORT(ExecuteFloat);

namespace {

constexpr std::array radices{16, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2};

/// Finds the factorisation of n into at least two radices, in descending order, with the fewest factors and among these
/// the least sum.
struct Factors {
  std::vector<int> best, now;
  int best_sum = 0;

  void search(std::int64_t n, std::size_t from, int sum) {
    if (n == 1 && now.size() >= 2) {
      if (best.empty() || now.size() < best.size() || (now.size() == best.size() && sum < best_sum)) {
        best = now;
        best_sum = sum;
      }
      return;
    }
    for (std::size_t i = from; i < radices.size(); ++i) {
      if (n % radices[i] != 0) continue;
      now.push_back(radices[i]);
      search(n / radices[i], i, sum + radices[i]);
      now.pop_back();
    }
  }
};

/// Writes cos and sin of −2π k/n, exact to the last bit, from angles of at most an eighth of the circle.
template <class Real>
void write_turn(std::int64_t k, std::int64_t n, Real* to) {
  k %= n;
  const bool is_mirrored = 2 * k > n;  // k → n − k
  if (is_mirrored) k = n - k;
  const bool is_left = 4 * k > n;  // n/2 − k, in units of 1/2n
  std::int64_t twice = is_left ? n - 2 * k : 2 * k;
  const bool is_steep = 4 * twice > n;
  const auto angle = [&](std::int64_t part, std::int64_t whole) {
    return 2 * pi * static_cast<long double>(part) / static_cast<long double>(whole);
  };
  const long double x = is_steep ? angle(n - 2 * twice, 4 * n) : angle(twice, 2 * n);
  const long double c = is_steep ? std::sin(x) : std::cos(x), s = is_steep ? std::cos(x) : std::sin(x);
  to[0] = static_cast<Real>(is_left ? -c : c);
  to[1] = static_cast<Real>(is_mirrored ? s : -s);
}

}  // namespace

template <class Real>
RadixPlan<Real> plan_radix(LineKind kind, std::int64_t n) {
  const bool is_real = kind == LineKind::real_forward || kind == LineKind::real_backward;
  RadixPlan<Real> plan;
  plan.kind = kind;
  plan.n = n;
  if (n < 1 || (is_real && n % 2 != 0)) return plan;
  const std::int64_t points = is_real ? n / 2 : n;
  Factors factors;
  factors.search(points, 0, 0);
  std::int64_t m = points, s = 1, n_turns = 0;
  for (const int radix : factors.best) {
    m /= radix;
    plan.passes.push_back({radix, m, s, n_turns});
    s *= radix;
    n_turns += 2 * (radix - 1) * m;
  }
  plan.turns = AlignedBuffer<Real>(n_turns);
  for (const auto& pass : plan.passes)
    for (std::int64_t p = 0; p < pass.m; ++p)
      for (std::int64_t i = 1; i < pass.radix; ++i)
        write_turn(p * i, pass.m * pass.radix,
                   plan.turns.data() + pass.first_turn + 2 * ((pass.radix - 1) * p + i - 1));
  if (is_real) {
    plan.halves = AlignedBuffer<Real>(2 * (n / 4 + 1));
    for (std::int64_t k = 0; k <= n / 4; ++k) write_turn(k, n, plan.halves.data() + 2 * k);
  }
  return plan;
}

template <>
void execute_radix(const RadixPlan<double>& plan, const double* const* in, double** out, double scale, bool* streams,
                   double* scratch) {
  HWY_DYNAMIC_DISPATCH(ExecuteDouble)(plan, in, out, scale, streams, scratch);
}
template <>
void execute_radix(const RadixPlan<float>& plan, const float* const* in, float** out, float scale, bool* streams,
                   float* scratch) {
  HWY_DYNAMIC_DISPATCH(ExecuteFloat)(plan, in, out, scale, streams, scratch);
}

template RadixPlan<float> plan_radix(LineKind, std::int64_t);
template RadixPlan<double> plan_radix(LineKind, std::int64_t);

}  // namespace tessera::fft

#endif
