// Memory in large pages, which the system assigns several times as fast as small ones, and which disks read and write
// in larger requests.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace tessera::io {

/// Makes vectors that begin at a large page, and leaves new elements of trivial types without a value.
template <class Value>
struct LargePageAllocator {
  using value_type = Value;
  static constexpr std::size_t large = std::size_t{2} << 20;

  LargePageAllocator() = default;
  template <class Other>
  explicit LargePageAllocator(const LargePageAllocator<Other>& /*other*/) {}

  Value* allocate(std::size_t n) {
    // Whole large pages: the system gives none for a part of one.
    const auto bytes = (n * sizeof(Value) + large - 1) / large * large;
    void* memory = ::operator new (bytes, std::align_val_t{large});
#ifdef MADV_HUGEPAGE
    ::madvise(memory, bytes, MADV_HUGEPAGE);  // a hint
#endif
    return static_cast<Value*>(memory);
  }
  void deallocate(Value* memory, std::size_t /*n*/) { ::operator delete (memory, std::align_val_t{large}); }
  void construct(Value* at) { ::new (static_cast<void*>(at)) Value; }
  template <class... From>
  void construct(Value* at, From&&... from) {
    ::new (static_cast<void*>(at)) Value(std::forward<From>(from)...);
  }
  bool operator==(const LargePageAllocator& /*other*/) const { return true; }
};

/// Bytes as direct I/O wants them (Descriptor::direct).
using DirectBytes = std::vector<std::byte, LargePageAllocator<std::byte>>;

/// Makes room for so many elements, in large pages where the system has some.
template <class Value>
void reserve_in_large_pages(std::vector<Value>& values, std::size_t n) {
  values.reserve(n);
#ifdef MADV_HUGEPAGE
  constexpr std::size_t large = LargePageAllocator<Value>::large;
  void* begin = values.data() + values.size();
  std::size_t room = (values.capacity() - values.size()) * sizeof(Value);
  if (std::align(large, large, begin, room) != nullptr)     // whole ones alone
    ::madvise(begin, room / large * large, MADV_HUGEPAGE);  // a hint
#endif
}

template <class Value>
std::vector<Value> zeros_in_large_pages(std::size_t n) {
  std::vector<Value> values;
  reserve_in_large_pages(values, n);
  values.resize(n);
  return values;
}

}  // namespace tessera::io
