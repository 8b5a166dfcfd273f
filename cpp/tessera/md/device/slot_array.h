// Holds values by slot on a device, which follow their atoms to other slots there.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "tessera/device/device.h"

namespace tessera::md {

template <class T>
class SlotArray {
 public:
  explicit SlotArray(const device::Device& device) : now_(device), next_(device) {}

  T* data() const { return now_.data(); }
  std::size_t bytes() const { return now_.bytes() + next_.bytes(); }
  /// Makes room for so many values. Those that were there are lost.
  void reserve(const device::Device& device, std::size_t size) { now_.reserve(device, size); }
  void start_copy_from(std::span<const T> host, const device::Stream& stream, std::size_t first = 0) const {
    now_.start_copy_from(host, stream, first);
  }
  void start_copy_to(std::span<T> host, const device::Stream& stream) const { now_.start_copy_to(host, stream); }
  /// Returns memory for so many values in another order, beside these.
  T* next(const device::Device& device, std::size_t size) {
    next_.reserve(device, size);
    return next_.data();
  }
  /// Makes those the values of this.
  void take_next() { std::swap(now_, next_); }

 private:
  device::GrowingArray<T> now_, next_;
};

}  // namespace tessera::md
