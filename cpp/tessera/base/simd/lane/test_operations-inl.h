// Applies every operation of operations.h that Highway has to given numbers. Tests include it once for each instruction
// set and once for lanes of a device, after headers of the standard library.
#include "tessera/base/simd/lane/test_operations.h"
#include "tessera/base/simd/rounding-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::simd {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Keeps what operations return, in order.
class Recorder {
 public:
  explicit Recorder(test::Results& results) : results_(results) {}

  /// Adds the lanes of an operation's result. Numbers that are none count as the same.
  template <class V>
  HWY_INLINE void Add(const char* name, V v) {
    using T = hn::TFromV<V>;
    T lanes[test::step];
    hn::StoreU(v, hn::DFromV<V>(), lanes);
    auto& bits = results_[std::string(name) + test::name_of<T>];
    for (std::size_t i = 0; i < Count(sizeof(T)); ++i) bits.push_back(test::bits_of(lanes[i]));
  }
  /// Returns how many lanes of this size a value has.
  static constexpr std::size_t Count(std::size_t size) {
#ifdef TESSERA_LANE
    return size > 0 ? test::step : 0;
#else
    return size == 4 ? hn::MaxLanes(hn::CappedTag<float, 16>()) : hn::MaxLanes(hn::CappedTag<double, 8>());
#endif
  }

 private:
  test::Results& results_;
};

/// Records operations on floating point.
template <class D>
HWY_INLINE void RecordFloating(D d, hn::Vec<D> a, hn::Vec<D> b, hn::Vec<D> c, Recorder& record) {
  namespace simd = tessera::simd::HWY_NAMESPACE;
  const auto mask = [&](const char* name, hn::Mask<D> m)
                        HWY_ATTR { record.Add(name, hn::IfThenElse(m, hn::Set(d, 1), hn::Zero(d))); };
  record.Add("Add", hn::Add(a, b));
  record.Add("Sub", hn::Sub(a, b));
  record.Add("Mul", hn::Mul(a, b));
  record.Add("Div", hn::Div(a, b));
  record.Add("Sqrt", hn::Sqrt(a));
  record.Add("MulAdd", simd::MulAdd(a, b, c));
  record.Add("MulSub", simd::MulSub(a, b, c));
  record.Add("NegMulAdd", simd::NegMulAdd(a, b, c));
  record.Add("Neg", hn::Neg(a));
  record.Add("Abs", hn::Abs(a));
  record.Add("CopySign", hn::CopySign(a, b));
  mask("Eq", hn::Eq(a, b));
  mask("Lt", hn::Lt(a, b));
  mask("Le", hn::Le(a, b));
  mask("Gt", hn::Gt(a, b));
  mask("Ge", hn::Ge(a, b));
  mask("And", hn::And(hn::Lt(a, b), hn::Lt(b, c)));
  mask("Or", hn::Or(hn::Lt(a, b), hn::Lt(b, c)));
  mask("Not", hn::Not(hn::Lt(a, b)));
  mask("AndNot", hn::AndNot(hn::Lt(a, b), hn::Lt(b, c)));
  record.Add("IfThenElse", hn::IfThenElse(hn::Lt(a, b), a, c));
  record.Add("IfThenElseZero", hn::IfThenElseZero(hn::Lt(a, b), c));
  record.Add("IfThenZeroElse", hn::IfThenZeroElse(hn::Lt(a, b), c));
  // Which of two equal numbers, or of one and none, is the greater differs between instruction sets, as does whether
  // none differs from itself.
  const auto number = [&](hn::Vec<D> v) HWY_ATTR { return hn::IfThenElseZero(hn::Eq(v, v), v); };
  mask("Ne", hn::Ne(number(a), number(b)));
  record.Add("Max", hn::Add(hn::Max(number(a), number(b)), hn::Zero(d)));
  record.Add("Min", hn::Add(hn::Min(number(a), number(b)), hn::Zero(d)));
}

/// Records operations on integers.
template <class D>
HWY_INLINE void RecordIntegers(D d, hn::Vec<D> a, hn::Vec<D> b, Recorder& record) {
  record.Add("Add", hn::Add(a, b));
  record.Add("Sub", hn::Sub(a, b));
  record.Add("And", hn::And(a, b));
  record.Add("Or", hn::Or(a, b));
  record.Add("Xor", hn::Xor(a, b));
  record.Add("ShiftLeft", hn::ShiftLeft<5>(a));
  record.Add("ShiftRight", hn::ShiftRight<5>(a));
  record.Add("Eq", hn::IfThenElse(hn::Eq(a, b), a, hn::Zero(d)));
  record.Add("Lt", hn::IfThenElse(hn::Lt(a, b), a, hn::Zero(d)));
  record.Add("Gt", hn::IfThenElse(hn::Gt(a, b), a, hn::Zero(d)));
  record.Add("TestBit", hn::IfThenElse(hn::TestBit(a, hn::Set(d, 8)), a, hn::Zero(d)));
}

void RecordOperations(const test::Inputs& in, test::Results& results) {
  namespace simd = tessera::simd::HWY_NAMESPACE;
  const hn::CappedTag<float, 16> f32;
  const hn::CappedTag<double, 8> f64;
  const hn::RebindToSigned<decltype(f32)> i32;
  const hn::RebindToSigned<decltype(f64)> i64;
  Recorder record(results);
  for (std::size_t i = 0; i < in.size(); i += Recorder::Count(4)) {
    const auto a = hn::LoadU(f32, in.f32[0].data() + i), b = hn::LoadU(f32, in.f32[1].data() + i);
    const auto ia = hn::BitCast(i32, a), ib = hn::BitCast(i32, b);
    RecordFloating(f32, a, b, hn::LoadU(f32, in.f32[2].data() + i), record);
    RecordIntegers(i32, ia, ib, record);
    record.Add("Mul", hn::Mul(ia, ib));
    record.Add("Max", hn::Max(ia, ib));
    record.Add("Min", hn::Min(ia, ib));
    record.Add("ConvertTo", hn::ConvertTo(f32, ia));
    record.Add("BitCast", hn::BitCast(f32, hn::And(ia, hn::Set(i32, 0x3FFFFFFF))));
    const auto fits = hn::LoadU(f32, in.f32_that_fits.data() + i);
    record.Add("ToIntegers", simd::ToIntegers(fits));
    record.Add("ConvertTo", hn::ConvertTo(i32, fits));
    record.Add("GatherIndex", hn::GatherIndex(f32, in.f32[0].data(), hn::And(ia, hn::Set(i32, 63))));
    const auto all = hn::Eq(fits, fits), none = hn::Ne(fits, fits);
    const int alike[] = {hn::AllTrue(f32, all), hn::AllTrue(f32, none), hn::AllFalse(f32, all),
                         hn::AllFalse(f32, none)};
    record.Add("AllTrue", hn::Set(i32, alike[0] | alike[1] << 1 | alike[2] << 2 | alike[3] << 3));
  }
  for (std::size_t i = 0; i < in.size(); i += Recorder::Count(8)) {
    const auto a = hn::LoadU(f64, in.f64[0].data() + i), b = hn::LoadU(f64, in.f64[1].data() + i);
    RecordFloating(f64, a, b, hn::LoadU(f64, in.f64[2].data() + i), record);
    RecordIntegers(i64, hn::BitCast(i64, a), hn::BitCast(i64, b), record);
    const auto fits = hn::LoadU(f64, in.f64_that_fits.data() + i);
    record.Add("Round", simd::Round(fits));
    record.Add("signs", (a + b) * a - b / a);
    record.Add("Xor", hn::Xor(a, b));
    record.Add("IsFinite", hn::IfThenElse(hn::IsFinite(a), b, hn::Zero(f64)));
    record.Add("comparing signs", hn::IfThenElse(hn::Or(hn::And(a < b, b >= a), hn::And(b > a, a <= b)), a, b));
    record.Add("RebindMask",
               hn::IfThenElse(hn::RebindMask(f64, hn::TestBit(hn::BitCast(i64, a), hn::Set(i64, 1))), a, b));
    record.Add("ToIntegers", simd::ToIntegers(fits));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::simd
HWY_AFTER_NAMESPACE();
