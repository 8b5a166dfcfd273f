// Transforms lines on a device, a few to a block, in memory that its threads share: each step is a phase, in which lanes
// take points, or the points of a butterfly, line by line. The operations are those of radix.h, whatever the lane.
#include "tessera/base/simd/lane/run.h"
#include "tessera/fft/device/line_kernel.h"
#include "tessera/fft/lines/butterflies-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::fft {
namespace HWY_NAMESPACE {

using DF = D<float>;
using VF = hn::Vec<DF>;
using DI = hn::RebindToSigned<DF>;
using VI = hn::Vec<DI>;
using M = hn::Mask<DI>;
using Point = Complexes<float>;

using simd::Integer;

struct LineKernel {
  static constexpr int warps_of_block = 8, blocks_at_once = 2;
  using Arguments = LineArguments;
  struct Shared {
    float re[2][most_shared_points], im[2][most_shared_points];
  };

  static HWY_INLINE int Phases(const Arguments& a) { return a.n_steps; }

  static HWY_INLINE void Run(const Arguments& a, Shared& shared, const simd::Place& place, int phase) {
    const LineStep& step = a.steps[phase];
    const Block block{a, shared, place};
    switch (step.work) {
      case LineWork::load_points:
        return block.Load(step, a.waves);
      case LineWork::load_pairs:
        return block.LoadPairs(step);
      case LineWork::pass:
        return block.Pass(step);
      case LineWork::waves_of_halves:
        return block.WavesOfHalves(step);
      case LineWork::halves_of_waves:
        return block.HalvesOfWaves(step);
      case LineWork::multiply:
        return block.Multiply(step);
      case LineWork::store_points:
        return block.Store(step, a.waves);
      case LineWork::store_pairs:
        return block.StorePairs(step);
    }
  }

 private:
  /// Names a point in each lane: its line, that in the block and that of all, and its number there.
  struct Points {
    VI in_block, line, number;
    M exists;
  };

  struct Block {
    const Arguments& a;
    Shared& shared;
    const simd::Place& place;

    /// Calls a function with n points of each line, or n of what else lines have. Points are in order line by line where
    /// those of a line are neighbours in memory, else lines are, point by point.
    template <class Function>
    HWY_INLINE void ForPoints(std::int32_t n, bool by_line, Function function) const {
      const VI first_line = Integer(place.block * a.together), last = Integer(a.lines.count - 1);
      simd::ForShare(place, n * a.together, [&](VI at, M is_inside) HWY_ATTR {
        const std::int32_t row = by_line ? n : a.together;
        const VI slow = simd::Quotient(at, row), fast = hn::Sub(at, hn::Mul(slow, Integer(row)));
        const VI in_block = by_line ? slow : fast, line = hn::Add(first_line, in_block);
        function(Points{in_block, hn::Min(line, last), by_line ? fast : slow, hn::And(is_inside, hn::Le(line, last))});
      });
    }

    /// Returns where a line begins in memory.
    HWY_INLINE VI Begin(VI line) const {
      const VI of_outer = simd::Quotient(line, a.lines.inner);
      return hn::Add(hn::Mul(of_outer, Integer(a.lines.outer)),
                     hn::Sub(line, hn::Mul(of_outer, Integer(a.lines.inner))));
    }
    HWY_INLINE VI InMemory(const Points& p, VI number) const {
      return hn::Add(Begin(p.line), hn::Mul(number, Integer(a.lines.stride)));
    }
    HWY_INLINE bool IsAlongLines() const { return a.lines.stride == 1; }

    /// Returns where a point is in a place. Rows are longer by one, so that lanes which take points of one line find them
    /// in different banks.
    HWY_INLINE VI InPlace(VI in_block, VI number) const {
      return hn::Add(hn::Mul(number, Integer(a.together + 1)), in_block);
    }
    HWY_INLINE Point Get(int from, VI at) const {
      return {hn::GatherIndex(DF(), shared.re[from], at), hn::GatherIndex(DF(), shared.im[from], at)};
    }
    HWY_INLINE void Put(const Point& x, int to, VI at, M exists) const {
      simd::Scatter(x.re, shared.re[to], at, exists);
      simd::Scatter(x.im, shared.im[to], at, exists);
    }

    HWY_INLINE void Load(const LineStep& step, std::int32_t n) const {
      ForPoints(n, IsAlongLines(), [&](const Points& p) HWY_ATTR {
        const VI at = InMemory(p, p.number);
        Put({hn::GatherIndex(DF(), a.re, at), hn::GatherIndex(DF(), a.im, at)}, step.from,
            InPlace(p.in_block, p.number), p.exists);
      });
    }
    HWY_INLINE void LoadPairs(const LineStep& step) const {
      ForPoints(a.n, false, [&](const Points& p) HWY_ATTR {
        const VI at = InMemory(p, hn::ShiftLeft<1>(p.number));
        Put({hn::GatherIndex(DF(), a.real, at), hn::GatherIndex(DF(), a.real, hn::Add(at, Integer(a.lines.stride)))},
            step.from, InPlace(p.in_block, p.number), p.exists);
      });
    }
    /// Returns to which place of n result j goes.
    static HWY_INLINE VI Placed(const LineStep& step, VI number, std::int32_t n) {
      if (!step.is_backward) return number;
      return hn::IfThenZeroElse(hn::Eq(number, Integer(0)), hn::Sub(Integer(n), number));
    }
    HWY_INLINE void Store(const LineStep& step, std::int32_t n) const {
      ForPoints(n, IsAlongLines(), [&](const Points& p) HWY_ATTR {
        const Point x = Get(step.from, InPlace(p.in_block, p.number));
        const VI at = InMemory(p, Placed(step, p.number, n));
        simd::Scatter(x.re, a.re, at, p.exists);
        simd::Scatter(x.im, a.im, at, p.exists);
      });
    }
    HWY_INLINE void StorePairs(const LineStep& step) const {
      ForPoints(a.n, false, [&](const Points& p) HWY_ATTR {
        const Point x = Get(step.from, InPlace(p.in_block, p.number));
        const VI at = InMemory(p, hn::ShiftLeft<1>(Placed(step, p.number, a.n)));
        simd::Scatter(x.re, a.real, at, p.exists);
        simd::Scatter(x.im, a.real, hn::Add(at, Integer(a.lines.stride)), p.exists);
      });
    }

    HWY_INLINE void Multiply(const LineStep& step) const {
      ForPoints(a.n, IsAlongLines(), [&](const Points& p) HWY_ATTR {
        const VI at = InPlace(p.in_block, p.number);
        const VF by = hn::GatherIndex(DF(), a.factors, InMemory(p, p.number));
        const Point x = Get(step.from, at);
        Put({hn::Mul(x.re, by), hn::Mul(x.im, by)}, step.from, at, p.exists);
      });
    }

    /// Returns (cos, sin) number `at` of those from `first` on.
    HWY_INLINE Point Turn(std::int32_t first, VI at) const {
      const VI both = hn::ShiftLeft<1>(at);
      return {hn::GatherIndex(DF(), a.turns + first, both), hn::GatherIndex(DF(), a.turns + first + 1, both)};
    }

    HWY_INLINE void Pass(const LineStep& step) const {
      switch (step.radix) {
#define TESSERA_RADIX(r) \
  case r:                \
    return PassOf<r>(step);
        TESSERA_RADICES(TESSERA_RADIX)
#undef TESSERA_RADIX
      }
    }
    /// Combines the points q + s (p + m i), i < r, into the points q + s (r p + i).
    template <int r>
    HWY_INLINE void PassOf(const LineStep& step) const {
      ForPoints(step.m * step.s, false, [&](const Points& butterfly) HWY_ATTR {
        const VI p = simd::Quotient(butterfly.number, step.s);
        const VI q = hn::Sub(butterfly.number, hn::Mul(p, Integer(step.s)));
        const VI first = InPlace(butterfly.in_block, butterfly.number);  // q + s p
        const VI result = InPlace(butterfly.in_block, hn::Add(q, hn::Mul(p, Integer(r * step.s))));
        const VI turns = hn::Mul(p, Integer(r - 1));
        const std::int32_t apart = step.s * (a.together + 1);
        transform_points<float, r>(
            [&](int i) HWY_ATTR { return Get(step.from, hn::Add(first, Integer(step.m * i * apart))); },
            [&](const Point& x, int i) HWY_ATTR {
              if (step.is_last) return x;
              const Point by = Turn(step.first_turn, hn::Add(turns, Integer(i - 1)));
              return turn<float>(x, by.re, by.im);
            },
            [&](const Point& x, int i)
                HWY_ATTR { Put(x, 1 - step.from, hn::Add(result, Integer(i * apart)), butterfly.exists); });
      });
    }

    HWY_INLINE void WavesOfHalves(const LineStep& step) const {
      ForPoints(a.n / 2 + 1, false, [&](const Points& p) HWY_ATTR {
        const int to = 1 - step.from;
        const VI k = p.number, low = InPlace(p.in_block, k), high = InPlace(p.in_block, hn::Sub(Integer(a.n), k));
        const M is_first = hn::Eq(k, Integer(0));
        const Point a_k = Get(step.from, low), b = Get(step.from, hn::IfThenElse(is_first, low, high));
        const Point by = Turn(step.first_turn, k);
        const auto waves = waves_of_halves<float>(a_k, b, by.re, by.im);
        const VF none = hn::Zero(DF());
        const auto either = [&](VF first, VF other) HWY_ATTR { return hn::IfThenElse(is_first, first, other); };
        Put({either(hn::Add(a_k.re, a_k.im), waves.low.re), either(none, waves.low.im)}, to, low, p.exists);
        Put({either(hn::Sub(a_k.re, a_k.im), waves.high.re), either(none, waves.high.im)}, to, high, p.exists);
      });
    }
    HWY_INLINE void HalvesOfWaves(const LineStep& step) const {
      ForPoints(a.n / 2 + 1, false, [&](const Points& p) HWY_ATTR {
        const int to = 1 - step.from;
        const VI k = p.number, low = InPlace(p.in_block, k), high = InPlace(p.in_block, hn::Sub(Integer(a.n), k));
        const M is_first = hn::Eq(k, Integer(0));
        const Point a_k = Get(step.from, low), b = Get(step.from, high), by = Turn(step.first_turn, k);
        const auto halves = halves_of_waves<float>(a_k, b, by.re, hn::Neg(by.im));
        const auto either = [&](VF first, VF other) HWY_ATTR { return hn::IfThenElse(is_first, first, other); };
        Put({either(hn::Add(a_k.re, b.re), halves.low.re), either(hn::Sub(a_k.re, b.re), halves.low.im)}, to, low,
            p.exists);
        Put(halves.high, to, high, hn::AndNot(is_first, p.exists));
      });
    }
  };
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::fft
HWY_AFTER_NAMESPACE();
