// Batches of one-dimensional transforms with FFTW: always the same number of lines, the same strides, the same
// alignment.
//
//   forward   X(k) = Σ_j x(j) exp(−2πi jk/n)        backward   x(j) = Σ_k X(k) exp(+2πi jk/n), both without 1/n
//
// A line's bits depend only on its values and its length: plans follow from (kind, length), never from timings
// (FFTW_ESTIMATE) nor from how many lines a rank has; short batches have lanes that nobody reads. That a line's place
// in the batch makes no difference is checked when the plan is made.
//
// Source: M. Frigo, S. G. Johnson, Proc. IEEE 93, 216 (2005), doi:10.1109/JPROC.2004.840301.
// Cost: 5 n log2 n operations a complex line.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace tessera::fft {

/// Memory on a cache line's edge, which FFTW's vector code and the plans' promise of alignment need.
template <class Value>
class AlignedBuffer {
 public:
  explicit AlignedBuffer(std::int64_t n = 0)
      : values_(n > 0 ? static_cast<Value*>(::operator new(static_cast<std::size_t>(n) * sizeof(Value), alignment))
                      : nullptr) {
    for (std::int64_t i = 0; i < n; ++i) new (values_.get() + i) Value();
  }
  Value* data() const { return values_.get(); }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(Value* p) const { ::operator delete(p, alignment); }
  };
  std::unique_ptr<Value, Free> values_;
};

enum class LineKind {
  real_forward,   // n reals to n/2+1 complexes
  real_backward,  // n/2+1 complexes to n reals; spoils its input
  forward,        // n complexes to n complexes
  backward
};

template <class Real>
class LinePlan {
 public:
  /// `lanes` lines at once, interleaved: point j of line l at j·lanes + l.
  LinePlan(LineKind kind, std::int64_t n, int lanes);
  ~LinePlan();
  LinePlan(LinePlan&&) noexcept;
  LinePlan& operator=(LinePlan&&) = delete;

  /// Both aligned to 64 bytes and distinct; Real or std::complex<Real> as the kind says.
  void execute(void* in, void* out) const;

  int lanes() const { return lanes_; }

 private:
  void check_lanes() const;

  LineKind kind_;
  std::int64_t n_;
  int lanes_;
  void* plan_ = nullptr;  // fftw_plan or fftwf_plan
};

}  // namespace tessera::fft
