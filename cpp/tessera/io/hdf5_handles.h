// What the sources of Hdf5File share: handles, errors and properties of HDF5's C API.
#pragma once

#include <fmt/format.h>
#include <hdf5.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/files/descriptor.h"

namespace tessera::io::hdf5 {

static_assert(sizeof(hid_t) == sizeof(std::int64_t));

/// An HDF5 handle and the call that gives it back.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }
  bool is_valid() const { return id_ >= 0; }
  /// Gives up the handle without closing it: closing what can't be written crashes HDF5.
  void abandon() { id_ = -1; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// Stops HDF5 from printing errors; every first call comes after it. Data that could not be written are not tried again
/// when the program ends.
inline void silence() {
  static const herr_t once = H5dont_atexit();
  static_cast<void>(once);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

/// Returns the innermost description of HDF5's last error.
inline std::string last_error() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_DOWNWARD,
      [](unsigned, const H5E_error2_t* error, void* data) -> herr_t {
        if (error->desc && error->desc[0]) *static_cast<std::string*>(data) = error->desc;
        return 0;
      },
      &text);
  return text;
}

inline std::string stack_text() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned, const H5E_error2_t* error, void* data) -> herr_t {
        if (error->desc) *static_cast<std::string*>(data) += std::string(error->desc) + "; ";
        return 0;
      },
      &text);
  return text;
}

template <class Value>
hid_t memory_type() {
  if constexpr (std::is_same_v<Value, double>) return H5T_NATIVE_DOUBLE;
  if constexpr (std::is_same_v<Value, float>) return H5T_NATIVE_FLOAT;
  if constexpr (std::is_same_v<Value, std::int32_t>) return H5T_NATIVE_INT32;
  if constexpr (std::is_same_v<Value, std::int64_t>) return H5T_NATIVE_INT64;
  if constexpr (std::is_same_v<Value, std::uint8_t>) return H5T_NATIVE_UINT8;
}

[[noreturn]] inline void refuse(const std::string& path, const std::string& what) {
  throw InputError(fmt::format("{}: {}", path, what));
}

/// Returns why the last write failed: the system's reason where HDF5's stack of errors holds its number.
inline std::string write_error() {
  const std::string stack = stack_text(), mark = "errno = ";
  const auto at = stack.find(mark);
  int number = 0;
  if (at != std::string::npos) std::from_chars(stack.data() + at + mark.size(), stack.data() + stack.size(), number);
  return number > 0 ? system_error_text(number) : last_error() + "; is the disk full, or the file in use?";
}

inline Handle open_dataset(const std::string& path, hid_t file, const std::string& name, hid_t access = H5P_DEFAULT) {
  silence();
  const hid_t id = H5Dopen2(file, name.c_str(), access);
  if (id < 0) refuse(path, fmt::format("there is no dataset {}; the file is incomplete or of another kind", name));
  return {id, H5Dclose};
}

inline std::vector<hsize_t> extents(hid_t space) {
  const int rank = H5Sget_simple_extent_ndims(space);
  std::vector<hsize_t> dimensions(static_cast<std::size_t>(std::max(rank, 0)));
  if (rank > 0) H5Sget_simple_extent_dims(space, dimensions.data(), nullptr);
  return dimensions;
}

inline std::vector<hsize_t> extents_of_dataset(hid_t set) {
  const Handle space(H5Dget_space(set), H5Sclose);
  return extents(space);
}

inline std::size_t product(const std::vector<hsize_t>& dimensions, std::size_t first = 0) {
  std::size_t n = 1;
  for (std::size_t d = first; d < dimensions.size(); ++d) n *= static_cast<std::size_t>(dimensions[d]);
  return n;
}

inline std::vector<hsize_t> sizes(const std::vector<std::int64_t>& shape) { return {shape.begin(), shape.end()}; }

inline Handle link_properties() {
  const hid_t id = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_char_encoding(id, H5T_CSET_UTF8);
  return {id, H5Pclose};
}

/// Returns the path of the group that a group or dataset is in; empty: the root.
inline std::string parent_of(const std::string& name) {
  const auto end = name.find_last_of('/');
  return end == std::string::npos ? "" : name.substr(0, end);
}

/// Returns properties of a new file, group or dataset without the time of day, so that the same contents have the same
/// bytes but for what HDF5 keeps in the file's first 108 bytes.
inline Handle creation_properties(hid_t kind) {
  const hid_t id = H5Pcreate(kind);
  H5Pset_obj_track_times(id, false);
  return {id, H5Pclose};
}

}  // namespace tessera::io::hdf5
