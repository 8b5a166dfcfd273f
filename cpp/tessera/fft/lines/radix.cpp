// Compiles the passes once for each instruction set; sources and conventions: radix.h.
#include "tessera/fft/lines/radix.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/fft/lines/circle.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/fft/lines/radix.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/fft/lines/butterflies-inl.h"
#include "tessera/fft/lines/points-inl.h"

#include "tessera/fft/lines/radix-inl.h"

#if HWY_ONCE

namespace tessera::fft {

HWY_EXPORT(ExecuteDouble);
HWY_EXPORT(ExecuteFloat);

template <>
void transform_lines(const LinePlan<double>& plan, const double* const* in, double** out, double scale, bool* streams,
                     double* scratch) {
  HWY_DYNAMIC_DISPATCH(ExecuteDouble)(plan, in, out, scale, streams, scratch);
}
template <>
void transform_lines(const LinePlan<float>& plan, const float* const* in, float** out, float scale, bool* streams,
                     float* scratch) {
  HWY_DYNAMIC_DISPATCH(ExecuteFloat)(plan, in, out, scale, streams, scratch);
}

namespace {

constexpr std::array radices{16, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2};

/// Finds the factorisation of n into at least so many radices, in descending order, with the fewest factors and among
/// these the least sum. There is none if n has other factors or too few.
struct Factors {
  std::size_t fewest;
  std::vector<int> best, now;
  int best_sum = 0;

  void search(std::int64_t n, std::size_t from, int sum) {
    if (n == 1 && now.size() >= fewest) {
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

/// Divides n by its factors 2, 3, 5 and 7.
std::int64_t without_small_factors(std::int64_t n) {
  for (const std::int64_t prime : {2, 3, 5, 7})
    while (n % prime == 0) n /= prime;
  return n;
}

/// Returns the radices of passes over n points, at least two; none if n has a prime factor above the greatest radix.
std::vector<int> radices_of(std::int64_t n) {
  std::vector<int> found;
  std::int64_t large = without_small_factors(n);
  for (int prime = greatest_radix; prime > 10; prime -= 2)  // others than primes do not divide what is left
    for (; large % prime == 0; large /= prime) found.push_back(prime);
  if (large > 1) return {};
  std::int64_t small = n;
  for (const int prime : found) small /= prime;
  Factors factors{found.size() < 2 ? 2 - found.size() : 0, {}, {}};
  while (small > 1 && factors.best.empty()) {
    factors.search(small, 0, 0);
    if (factors.best.empty()) --factors.fewest;
  }
  found.insert(found.end(), factors.best.begin(), factors.best.end());
  while (found.size() < 2) found.insert(found.begin(), 1);
  return found;
}

/// Writes cos and sin of −2π k/n.
template <class Real>
void write_turn(std::int64_t k, std::int64_t n, Real* to) {
  const auto turn = math::sincos_of_turn(-k, n);
  to[0] = static_cast<Real>(turn.cos);
  to[1] = static_cast<Real>(turn.sin);
}

template <class Real>
void plan_passes(std::int64_t points, LinePlan<Real>& plan) {
  std::int64_t m = points, s = 1, n_turns = 0;
  for (const int radix : radices_of(points)) {
    m /= radix;
    plan.passes.push_back({radix, m, s, n_turns, n_turns + 2 * (radix - 1) * m});
    s *= radix;
    n_turns = plan.passes.back().circle + (is_large_prime(radix) ? 2 * radix : 0);
  }
  plan.turns = AlignedBuffer<Real>(n_turns);
  for (const auto& pass : plan.passes) {
    for (std::int64_t p = 0; p < pass.m; ++p)
      for (std::int64_t i = 1; i < pass.radix; ++i)
        write_turn(p * i, pass.m * pass.radix,
                   plan.turns.data() + pass.first_turn + 2 * ((pass.radix - 1) * p + i - 1));
    if (!is_large_prime(pass.radix)) continue;
    for (int e = 0; e < pass.radix; ++e) write_turn(-e, pass.radix, plan.turns.data() + pass.circle + 2 * e);
  }
}

/// Computes the filter in double, in one lane of a bundle.
template <class Real>
void plan_convolution(LinePlan<Real>& plan) {
  const std::int64_t n = plan.points;
  plan.convolved = 2 * n - 1;
  while (without_small_factors(plan.convolved) > 1) ++plan.convolved;
  const std::int64_t length = plan.convolved;
  plan.chirp = AlignedBuffer<Real>(2 * n);
  plan.filter = AlignedBuffer<Real>(2 * length);
  const auto transform = plan_lines<double>(LineKind::forward, length);
  const AlignedBuffer<double> values(2 * length * lanes<double>), scratch(transform.scratch_size());
  std::vector<double*> rows;
  for (std::int64_t j = 0; j < length; ++j) rows.push_back(values.data() + 2 * j * lanes<double>);
  for (std::int64_t j = 0; j < n; ++j) {
    write_turn(j * j, 2 * n, plan.chirp.data() + 2 * j);
    write_turn(-j * j, 2 * n, rows[static_cast<std::size_t>(j)]);
    if (j > 0) write_turn(-j * j, 2 * n, rows[static_cast<std::size_t>(length - j)]);
  }
  rows.resize(rows.size() + 2);
  transform_lines<double>(transform, rows.data(), rows.data(), 1 / static_cast<double>(length), nullptr,
                          scratch.data());
  for (std::int64_t j = 0; j < length; ++j)
    for (std::int64_t part = 0; part < 2; ++part)
      plan.filter.data()[2 * j + part] = static_cast<Real>(rows[static_cast<std::size_t>(j)][part]);
}

}  // namespace

template <class Real>
LinePlan<Real> plan_lines(LineKind kind, std::int64_t n) {
  TESSERA_CHECK(n >= 1 && n < (std::int64_t{1} << 30));
  const bool is_real = kind == LineKind::real_forward || kind == LineKind::real_backward;
  LinePlan<Real> plan;
  plan.kind = kind;
  plan.n = n;
  plan.points = is_real && n % 2 == 0 ? n / 2 : n;
  if (radices_of(plan.points).empty()) plan_convolution(plan);
  plan_passes(plan.convolved > 0 ? plan.convolved : plan.points, plan);
  if (is_real && n % 2 == 0) {
    plan.halves = AlignedBuffer<Real>(2 * (n / 4 + 1));
    for (std::int64_t k = 0; k <= n / 4; ++k) write_turn(k, n, plan.halves.data() + 2 * k);
  }
  return plan;
}

template LinePlan<float> plan_lines(LineKind, std::int64_t);
template LinePlan<double> plan_lines(LineKind, std::int64_t);

}  // namespace tessera::fft

#endif
