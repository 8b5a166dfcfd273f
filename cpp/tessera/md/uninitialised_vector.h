// Leaves new elements of a vector uninitialised. The system assigns no pages to memory that is never written, so a
// generous size costs nothing.
#pragma once

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace tessera::md {

template <class Value>
struct UninitialisedAllocator : std::allocator<Value> {
  template <class Other>
  struct rebind {
    using other = UninitialisedAllocator<Other>;
  };
  template <class Other>
  void construct(Other* place) noexcept {
    ::new (static_cast<void*>(place)) Other;
  }
  template <class Other, class... Arguments>
  void construct(Other* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) Other(std::forward<Arguments>(arguments)...);
  }
};

template <class Value>
using UninitialisedVector = std::vector<Value, UninitialisedAllocator<Value>>;

}  // namespace tessera::md
