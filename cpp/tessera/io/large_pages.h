// Memory in large pages, which the system assigns several times as fast as small ones.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::io {

/// Makes room for so many elements, in large pages where the system has some.
template <class Value>
void reserve_in_large_pages(std::vector<Value>& values, std::size_t n) {
  values.reserve(n);
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t large = std::uintptr_t{2} << 20;
  const auto first = reinterpret_cast<std::uintptr_t>(values.data() + values.size());
  const auto begin = (first + large - 1) / large * large;
  const auto end = reinterpret_cast<std::uintptr_t>(values.data() + values.capacity()) / large * large;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // a hint
#endif
}

/// So many zeros.
template <class Value>
std::vector<Value> zeros_in_large_pages(std::size_t n) {
  std::vector<Value> values;
  reserve_in_large_pages(values, n);
  values.resize(n);
  return values;
}

}  // namespace tessera::io
