// Does the operations of exp() in elementary.cpp, one argument per lane; compiled once for each instruction set.
#include "tessera/base/math/exponentials.h"

#include <array>
#include <cstddef>
#include <limits>

#include "tessera/base/math/double_double.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/base/math/exponentials.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::math {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, 8>;
using V = hn::Vec<D>;

HWY_INLINE V set(double value) { return hn::Set(D(), value); }

/// Returns 2ᵏ, where the last bits of each number are the integer 2⁵² + k + 1023.
HWY_INLINE V PowerOfTwo(V shifted) {
  const hn::RebindToUnsigned<D> du;
  return hn::BitCast(D(), hn::ShiftLeft<52>(hn::BitCast(du, shifted)));
}

HWY_INLINE V Exp(V x) {
  constexpr auto& series = detail::exp_series;
  const V nearest = set(0x1.8p52);
  const V k = hn::Sub(hn::Add(hn::Mul(x, set(0x1.71547652b82fep+0)), nearest), nearest);
  const V a = hn::Sub(x, hn::Mul(k, set(0x1.62e42fefa2000p-1))), b = hn::Mul(hn::Neg(k), set(0x1.9ef35793c7673p-41));
  const V r = hn::Add(a, b), of_b = hn::Sub(r, a);
  const V r_low = hn::Add(hn::Sub(a, hn::Sub(r, of_b)), hn::Sub(b, of_b));
  V sum = set(series[series.size() - 1]);
  HWY_UNROLL(16)
  for (std::size_t n = series.size() - 1; n-- > 0;) sum = hn::Add(hn::Mul(sum, r), set(series[n]));
  const V one_more = hn::Add(set(1), r), rest = hn::Sub(r, hn::Sub(one_more, set(1)));
  const V correction = hn::Add(hn::Mul(hn::Mul(r, r), sum), hn::Mul(r_low, one_more));
  const V y = hn::Add(one_more, hn::Add(rest, correction));
  // Half of k, rounded to zero as the integers of exp() are, and the other half.
  const V half_size = hn::Sub(hn::Add(hn::Sub(hn::Mul(hn::Abs(k), set(0.5)), set(0.25)), nearest), nearest);
  const V half = hn::CopySign(half_size, k);
  const V shift = set(0x1p52 + 1023);
  const V scaled = hn::Mul(hn::Mul(y, PowerOfTwo(hn::Add(half, shift))), PowerOfTwo(hn::Add(hn::Sub(k, half), shift)));
  const V bounded = hn::IfThenElse(hn::Gt(x, set(710)), set(std::numeric_limits<double>::infinity()),
                                   hn::IfThenElseZero(hn::Ge(x, set(-746)), scaled));
  return hn::IfThenElse(hn::Eq(x, x), bounded, x);
}

void Exponentiate(std::span<double> values) {
  const D d;
  constexpr std::size_t lanes = hn::MaxLanes(D());
  std::size_t i = 0;
  for (; i + lanes <= values.size(); i += lanes) hn::StoreU(Exp(hn::LoadU(d, &values[i])), d, &values[i]);
  if (i == values.size()) return;
  std::array<double, lanes> last{};
  for (std::size_t k = i; k < values.size(); ++k) last[k - i] = values[k];
  hn::StoreU(Exp(hn::LoadU(d, last.data())), d, last.data());
  for (std::size_t k = i; k < values.size(); ++k) values[k] = last[k - i];
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::math {

HWY_EXPORT(Exponentiate);

void exponentiate(std::span<double> values) { HWY_DYNAMIC_DISPATCH(Exponentiate)(values); }

}  // namespace tessera::math
#endif
