// A GPU in use: its memory, streams, events and kernels. All throw RunError, with one line that names the device, which
// outlives them. They are used on the thread that made the Device, or called Device::make_current() last.
#pragma once

#include <bit>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/device/driver.h"

namespace tessera::device {

struct DeviceFacts {
  std::string name;
  int major, minor;  // compute capability
  int multiprocessors;
  std::int64_t bytes;  // of memory

  std::string capability() const { return std::to_string(major) + "." + std::to_string(minor); }
};

/// Returns what the driver knows of a device, which is not used for that.
DeviceFacts facts_of_device(const Driver& driver, int number);

class Device {
 public:
  /// Takes the device's primary context and makes it that of this thread.
  Device(const Driver& driver, int number);

  const Driver& driver() const { return driver_; }
  const DeviceFacts& facts() const { return facts_; }
  const std::string& subject() const { return subject_; }  // of messages
  std::int64_t free_bytes() const;
  /// Lets this thread use the device.
  void make_current() const { call(driver_.cuCtxSetCurrent, context_); }
  /// Does that and returns the device, for members of what uses it.
  const Device& made_current() const {
    make_current();
    return *this;
  }

  template <class Function, class... Arguments>
  void call(const Function& function, Arguments... arguments) const {
    driver_.call(subject_, function, arguments...);
  }

 private:
  const Driver& driver_;
  DeviceFacts facts_;
  std::string subject_;
  abi::Context context_ = nullptr;
  Owned<abi::Device> primary_;
};

/// Does what it is given in order, beside the host.
class Stream {
 public:
  explicit Stream(const Device& device);

  const Device& device() const { return device_; }
  abi::Stream get() const { return handle_.get(); }
  /// Waits until all is done.
  void wait() const { device_.call(device_.driver().cuStreamSynchronize, get()); }
  /// Waits before what it uses goes, on whatever thread that is; what has failed there was told before.
  void end() const noexcept;

 private:
  const Device& device_;
  Owned<abi::Stream> handle_;
};

/// A point in what a stream does.
class Event {
 public:
  explicit Event(const Device& device);

  void record(const Stream& stream) const { device_.call(device_.driver().cuEventRecord, handle_.get(), stream.get()); }
  void wait() const { device_.call(device_.driver().cuEventSynchronize, handle_.get()); }
  /// Returns the time on the device since another event; both must have passed.
  double seconds_since(const Event& begin) const;

 private:
  const Device& device_;
  Owned<abi::Event> handle_;
};

/// Bytes of the device's memory.
class Memory {
 public:
  Memory(const Device& device, std::size_t bytes);

  abi::Address address() const { return handle_.get(); }
  std::size_t bytes() const { return bytes_; }
  /// Begins to copy, to bytes from `first` on. The host's memory must stay as it is until the stream has done so.
  void start_copy_from(const void* host, std::size_t bytes, const Stream& stream, std::size_t first = 0) const;
  void start_copy_to(void* host, std::size_t bytes, const Stream& stream) const;
  /// Begins to set all bytes to zero.
  void start_clear(const Stream& stream) const;

 private:
  std::size_t bytes_;
  Owned<abi::Address> handle_;
};

/// Bytes of the host's memory that stay where they are, so that a device copies them by itself, several times as fast.
class HostMemory {
 public:
  HostMemory(const Device& device, std::size_t bytes);

  void* data() const { return handle_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  Owned<void*> handle_;
};

/// Values in such memory, as many as are needed from time to time.
template <class T>
class HostArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit HostArray(const Device& device) : memory_(device, 0) {}

  /// Makes room for so many values, which is what get() returns. Those that were there are lost.
  void resize(const Device& device, std::size_t size) {
    size_ = size;
    if (size * sizeof(T) <= memory_.bytes()) return;
    memory_ = HostMemory(device, 0);
    memory_ = HostMemory(device, (size + size / 8) * sizeof(T));
  }
  std::span<T> get() const { return {static_cast<T*>(memory_.data()), size_}; }
  std::size_t bytes() const { return memory_.bytes(); }

 private:
  std::size_t size_ = 0;
  HostMemory memory_;
};

/// Values in the device's memory.
template <class T>
class DeviceArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  DeviceArray(const Device& device, std::size_t size) : memory_(device, size * sizeof(T)) {}

  std::size_t size() const { return memory_.bytes() / sizeof(T); }
  T* data() const { return std::bit_cast<T*>(memory_.address()); }  // for kernels' arguments
  /// Begins to copy, to values from `first` on.
  void start_copy_from(std::span<const T> host, const Stream& stream, std::size_t first = 0) const {
    memory_.start_copy_from(host.data(), host.size_bytes(), stream, first * sizeof(T));
  }
  void start_copy_to(std::span<T> host, const Stream& stream) const {
    memory_.start_copy_to(host.data(), host.size_bytes(), stream);
  }
  void start_clear(const Stream& stream) const { memory_.start_clear(stream); }

 private:
  Memory memory_;
};

/// Values in the device's memory, as many as are needed from time to time.
template <class T>
class GrowingArray {
 public:
  static constexpr double room = 1.0625;  // bytes that are held over those that were needed when it grew

  explicit GrowingArray(const Device& device) : array_(device, 0) {}

  T* data() const { return array_.data(); }
  std::size_t bytes() const { return array_.size() * sizeof(T); }
  /// Makes room for so many values. Those that were there are lost.
  void reserve(const Device& device, std::size_t size) {
    if (size <= array_.size()) return;
    array_ = DeviceArray<T>(device, 0);  // both may not fit
    array_ = DeviceArray<T>(device, static_cast<std::size_t>(room * static_cast<double>(size)));
  }
  void start_copy_from(std::span<const T> host, const Stream& stream, std::size_t first = 0) const {
    array_.start_copy_from(host, stream, first);
  }
  void start_copy_to(std::span<T> host, const Stream& stream) const { array_.start_copy_to(host, stream); }
  void start_clear(const Stream& stream) const { array_.start_clear(stream); }

 private:
  DeviceArray<T> array_;
};

inline constexpr int lanes_of_warp = 32, warps_of_block = 4;  // as kernels are compiled
/// Returns how many warps have so many lanes at least.
constexpr std::int64_t warps_of(std::int64_t lanes) { return (lanes + lanes_of_warp - 1) / lanes_of_warp; }

/// A function of the device, which takes its arguments as one object.
class Kernel {
 public:
  /// Begins so many warps at least, in whole blocks; without any it does nothing.
  template <class Arguments>
  void start_warps(const Stream& stream, std::int64_t warps, const Arguments& arguments) const {
    const auto blocks = static_cast<unsigned>((warps + warps_of_block - 1) / warps_of_block);
    if (blocks > 0) start(stream, blocks, warps_of_block * lanes_of_warp, arguments);
  }
  /// Begins so many blocks of threads.
  template <class Arguments>
  void start(const Stream& stream, unsigned blocks, unsigned threads_of_block, const Arguments& arguments) const {
    static_assert(std::is_trivially_copyable_v<Arguments>);
    start_with(&arguments, stream, blocks, threads_of_block);
  }

 private:
  friend class Kernels;
  explicit Kernel(abi::Function function) : function_(function) {}
  void start_with(const void* arguments, const Stream& stream, unsigned blocks, unsigned threads_of_block) const;

  abi::Function function_;
};

/// The kernels of all fat binaries in a folder, on one device.
class Kernels {
 public:
  Kernels(const Device& device, const std::filesystem::path& folder);

  Kernel find(const std::string& name) const;

 private:
  const Device& device_;
  std::filesystem::path folder_;
  std::vector<Owned<abi::Module>> modules_;
};

/// Returns the fat binaries in a folder, `tessera-*.fatbin`, by name.
std::vector<std::filesystem::path> fat_binaries(const std::filesystem::path& folder);
/// Returns the folder of the program that runs, beside which fat binaries are installed.
std::filesystem::path folder_of_program();

/// A device that a run uses, with the kernels beside the program.
class DeviceInUse {
 public:
  /// Opens the device whose turn it is: processes of a host, counted from 0, take its devices in turn. Tests give another
  /// driver, and another folder of kernels.
  explicit DeviceInUse(int turn, const std::string& driver = driver_library,
                       const std::filesystem::path& kernels = folder_of_program())
      : driver_(driver), device_(driver_, turn % driver_.n_devices()), kernels_(device_, kernels) {}

  const Device& device() const { return device_; }
  const Kernels& kernels() const { return kernels_; }
  /// Calls a function that uses the device, unless that has been given up; gives it up where the function throws RunError.
  /// Returns whether all was done: what was not, processors can do.
  template <class Function>
  bool attempt(const Function& function) {
    if (!error_.empty()) return false;
    try {
      function();
      return true;
    } catch (const RunError& error) {
      give_up(error.what());
      return false;
    }
  }
  /// Says why the device is not to be used any more, also by what is made later.
  void give_up(const std::string& why) {
    if (error_.empty()) error_ = why;
  }
  /// Returns why it is not used any more; empty while it is.
  const std::string& error() const { return error_; }

 private:
  Driver driver_;
  Device device_;
  Kernels kernels_;
  std::string error_;
};

}  // namespace tessera::device
