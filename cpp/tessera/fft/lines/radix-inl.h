// Contains the passes of radix.h; radix.cpp includes it once for each instruction set, after butterflies-inl.h and
// points-inl.h.
HWY_BEFORE_NAMESPACE();
namespace tessera::fft {
namespace HWY_NAMESPACE {

template <int r, bool is_last, class Real, class From, class To>
void run_radix(const RadixPass& pass, const Real* turns, const From& from, const To& to) {
  const D<Real> d;
  const std::int64_t m = is_last ? 1 : pass.m, s = pass.s;
  for (std::int64_t v = 0; v < lanes<Real>; v += static_cast<std::int64_t>(hn::Lanes(d)))
    for (std::int64_t p = 0; p < m; ++p) {
      const Real* w = turns + pass.first_turn + 2 * (r - 1) * p;
      for (std::int64_t q = 0; q < s; ++q) {
        const auto load = [&](int i) HWY_ATTR {
          from.prefetch(q + s * (p + m * i), v);
          return from.load(q + s * (p + m * i), v);
        };
        const auto turned = [&](const Complexes<Real>& x, int i) HWY_ATTR {
          return is_last ? x : turn<Real>(x, hn::Set(d, w[2 * i - 2]), hn::Set(d, w[2 * i - 1]));
        };
        transform_points<Real, r>(
            load, turned, [&](const Complexes<Real>& x, int i) HWY_ATTR { to.store(x, q + s * (r * p + i), v); });
      }
    }
}

/// Transforms a prime number of points by the sums and differences of the points i and radix − i, as OddButterfly does.
/// Two results are computed side by side, because loads would take more time than multiplications.
template <bool is_last, class Real, class From, class To>
void run_large_prime(const RadixPass& pass, const Real* turns, const From& from, const To& to) {
  const D<Real> d;
  const int r = pass.radix, half = r / 2;
  const std::int64_t m = is_last ? 1 : pass.m, s = pass.s;
  const Real* const circle = turns + pass.circle;
  Complexes<Real> sum[greatest_radix / 2], difference[greatest_radix / 2];
  for (std::int64_t v = 0; v < lanes<Real>; v += static_cast<std::int64_t>(hn::Lanes(d)))
    for (std::int64_t p = 0; p < m; ++p) {
      const Real* const w = turns + pass.first_turn + 2 * (r - 1) * p - 2;
      const auto store = [&](const Complexes<Real>& x, std::int64_t q, int i) HWY_ATTR {
        const auto turned = is_last ? x : turn<Real>(x, hn::Set(d, w[2 * i]), hn::Set(d, w[2 * i + 1]));
        to.store(turned, q + s * (r * p + i), v);
      };
      for (std::int64_t q = 0; q < s; ++q) {
        const auto first = from.load(q + s * p, v);
        auto total = first;
        for (int j = 0; j < half; ++j) {
          const auto a = from.load(q + s * (p + m * (j + 1)), v), b = from.load(q + s * (p + m * (r - 1 - j)), v);
          sum[j] = a + b;
          difference[j] = a - b;
          total = total + sum[j];
        }
        to.store(total, q + s * r * p, v);
        for (int k = 1; k <= half; k += 2) {
          Complexes<Real> even[2] = {first, first}, odd[2];
          odd[0].re = odd[0].im = odd[1].re = odd[1].im = hn::Zero(d);
          int e[2] = {0, 0};
          for (int j = 0; j < half; ++j) {
            TESSERA_UNROLL
            for (int i = 0; i < 2; ++i) {
              e[i] += k + i;
              if (e[i] >= r) e[i] -= r;
              const auto c = hn::Set(d, circle[2 * e[i]]), sine = hn::Set(d, circle[2 * e[i] + 1]);
              even[i] = {simd::MulAdd(sum[j].re, c, even[i].re), simd::MulAdd(sum[j].im, c, even[i].im)};
              odd[i] = {simd::MulAdd(difference[j].re, sine, odd[i].re),
                        simd::MulAdd(difference[j].im, sine, odd[i].im)};
            }
          }
          for (int i = 0; i < 2 && k + i <= half; ++i) {
            store({hn::Add(even[i].re, odd[i].im), hn::Sub(even[i].im, odd[i].re)}, q, k + i);
            store({hn::Sub(even[i].re, odd[i].im), hn::Add(even[i].im, odd[i].re)}, q, r - k - i);
          }
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
    TESSERA_RADIX(1)
    TESSERA_RADICES(TESSERA_RADIX)
#undef TESSERA_RADIX
    default:
      return run_large_prime<is_last>(pass, turns, from, to);
  }
}

/// Computes the transform of n real points from that of n/2 complex ones. Lanes of real lines are in an order of their
/// own.
template <class Real>
void from_halves(const LinePlan<Real>& plan, const SplitPoints<Real>& from, Real* const* out, Real scale) {
  const D<Real> d;
  const std::int64_t h = plan.n / 2;
  for (std::int64_t v = 0; v < lanes<Real>; v += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto store = [&](const Complexes<Real>& x, std::int64_t k) HWY_ATTR {
      const auto by = hn::Set(d, scale);
      hn::StoreInterleaved2(hn::Mul(x.re, by), hn::Mul(x.im, by), d, out[k] + 2 * v);
    };
    const auto first = from.load(0, v);
    store({hn::Add(first.re, first.im), hn::Zero(d)}, 0);
    store({hn::Sub(first.re, first.im), hn::Zero(d)}, h);
    for (std::int64_t k = 1; 2 * k <= h; ++k) {
      const Real* w = plan.halves.data() + 2 * k;
      const auto waves =
          waves_of_halves<Real>(from.load(k, v), from.load(h - k, v), hn::Set(d, w[0]), hn::Set(d, w[1]));
      store(waves.low, k);
      store(waves.high, h - k);
    }
  }
}

/// Inverts from_halves() except for a factor of 2. The imaginary parts of the first and the last wave are taken as
/// zero.
template <class Real>
void to_halves(const LinePlan<Real>& plan, const Real* const* in, const SplitPoints<Real>& to) {
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
      const Real* w = plan.halves.data() + 2 * k;
      const auto halves = halves_of_waves<Real>(load(k, v), load(h - k, v), hn::Set(d, w[0]), hn::Set(d, -w[1]));
      to.store(halves.low, k, v);
      to.store(halves.high, h - k, v);
    }
  }
}

template <class Real, class From, class To>
void copy_points(std::int64_t n, const From& from, const To& to) {
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t v = 0; v < lanes<Real>; v += static_cast<std::int64_t>(hn::Lanes(D<Real>())))
      to.store(from.load(j, v), j, v);
}

/// Runs all passes over `points`, whose place the results take, and leaves the other place as `spare`.
template <class Real>
void run_passes(const LinePlan<Real>& plan, SplitPoints<Real>& points, SplitPoints<Real>& spare) {
  for (std::size_t i = 0; i + 1 < plan.passes.size(); ++i) {
    run_pass<false>(plan.passes[i], plan.turns.data(), points, spare);
    std::swap(points, spare);
  }
  run_pass<true>(plan.passes.back(), plan.turns.data(), points, spare);
  std::swap(points, spare);
}

/// Stores the products of points with complex numbers, the same for all lines.
template <class Real>
void multiply(std::int64_t n, const SplitPoints<Real>& from, const Real* by, const SplitPoints<Real>& to) {
  const D<Real> d;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t v = 0; v < lanes<Real>; v += static_cast<std::int64_t>(hn::Lanes(d)))
      to.store(turn<Real>(from.load(j, v), hn::Set(d, by[2 * j]), hn::Set(d, by[2 * j + 1])), j, v);
}

/// Transforms points as a convolution: −2jk = (k − j)² − j² − k². The inverse of the transform of a product is a
/// forward one whose result k is at place −k.
template <class Real>
void convolve(const LinePlan<Real>& plan, SplitPoints<Real>& points, SplitPoints<Real>& spare) {
  const std::int64_t length = plan.convolved;
  multiply(plan.points, points, plan.chirp.data(), points);
  std::fill(points.at + 2 * plan.points * lanes<Real>, points.at + 2 * length * lanes<Real>, Real(0));
  run_passes(plan, points, spare);
  multiply(length, points, plan.filter.data(), points);
  run_passes(plan, points, spare);
  for (std::int64_t k = 0; k < plan.points; ++k)
    std::copy_n(points.at + 2 * (k == 0 ? 0 : length - k) * lanes<Real>, 2 * lanes<Real>,
                spare.at + 2 * k * lanes<Real>);
  multiply(plan.points, spare, plan.chirp.data(), points);
}

template <class Real>
HWY_INLINE void execute(const LinePlan<Real>& plan, const Real* const* in, Real** out, Real scale, bool* streams,
                        Real* scratch) {
  const bool is_real = plan.kind == LineKind::real_forward || plan.kind == LineKind::real_backward;
  const bool is_backward = plan.kind == LineKind::backward || plan.kind == LineKind::real_backward;
  const bool is_odd = is_real && plan.n % 2 != 0, is_apart = is_odd || plan.convolved > 0;
  const std::int64_t n = plan.points;
  const Real* turns = plan.turns.data();
  SplitPoints<Real> here{scratch}, there{scratch + plan.scratch_size() / 2};
  const auto& passes = plan.passes;
  // Most lengths are loaded by their first pass and stored by the last, the others before and after all passes.
  const auto begin = [&](const auto& from) HWY_ATTR {
    if (is_apart)
      copy_points<Real>(n, from, there);
    else
      run_pass<false>(passes.front(), turns, from, here);
  };
  const auto end = [&](const auto& to) HWY_ATTR {
    if (is_apart)
      copy_points<Real>(n, there, to);
    else
      run_pass<true>(passes.back(), turns, here, to);
  };
  if (is_odd && is_backward) {
    copy_points<Real>(n, FromWaves<Real>{in, n}, there);
  } else if (is_odd) {
    copy_points<Real>(n, FromOddReal<Real>{in}, there);
  } else if (plan.kind == LineKind::real_backward) {
    to_halves(plan, in, there);
    if (!is_apart) run_pass<false>(passes.front(), turns, there, here);
  } else if (is_real) {
    begin(FromReal<Real>{in});
  } else {
    begin(FromComplex<Real>{in});
  }
  if (plan.convolved > 0) {
    convolve(plan, there, here);
  } else if (is_apart) {
    run_passes(plan, there, here);
  } else {
    for (std::size_t i = 1; i + 1 < passes.size(); ++i) {
      run_pass<false>(passes[i], turns, here, there);
      std::swap(here, there);
    }
  }
  const std::int64_t first = is_backward ? n : 0, step = is_backward ? -1 : 1;
  if (is_odd && is_backward) {
    out[n] = out[0];
    copy_points<Real>(n, there, ToOddReal<Real>{out, first, step, scale});
  } else if (is_odd) {
    copy_points<Real>(n / 2 + 1, there, ToWaves<Real>{out, scale});
  } else if (plan.kind == LineKind::real_forward) {
    if (!is_apart) run_pass<true>(passes.back(), turns, here, there);
    from_halves(plan, there, out, scale);
  } else if (is_real) {
    out[2 * n] = out[0];
    out[2 * n + 1] = out[1];
    end(ToReal<Real>{out, first, step, scale});
  } else {
    out[n] = out[0];
    if (streams != nullptr) {
      streams[n] = streams[0];
      end(ToComplex<Real, true>{out, streams, first, step, scale});
    } else {
      end(ToComplex<Real, false>{out, streams, first, step, scale});
    }
  }
}

void ExecuteDouble(const LinePlan<double>& plan, const double* const* in, double** out, double scale, bool* streams,
                   double* scratch) {
  execute(plan, in, out, scale, streams, scratch);
}
void ExecuteFloat(const LinePlan<float>& plan, const float* const* in, float** out, float scale, bool* streams,
                  float* scratch) {
  execute(plan, in, out, scale, streams, scratch);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::fft
HWY_AFTER_NAMESPACE();
