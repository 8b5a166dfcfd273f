// Allocates memory that is aligned to cache lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace tessera::fft {

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

}  // namespace tessera::fft
