// HDF5 files as named arrays, a thin wrapper of the C API that owns its handles. Every failure is an InputError
// (reading) or a RunError (writing) that names the file and the dataset; HDF5's own error messages are switched off.
//
// The library is the serial one: calls come from one thread of a process at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/files/descriptor.h"
#include "tessera/io/checked_file.h"

namespace tessera::io {

/// One open HDF5 file. Names are paths inside it ("/coordinates/id"); arrays are flat, in row-major order.
/// `Value` is one of double, float, std::int32_t, std::int64_t, std::uint8_t.
class Hdf5File {
 public:
  /// Opens for reading. Of a checked file (checked_file.h) HDF5 sees only what was written: all but the bulk arrays is
  /// checked here, and their rows are when they are read. Throws InputError: missing, no HDF5 file, truncated, damaged.
  static Hdf5File open(const std::string& path);
  /// Opens the bytes of a file for reading; `name` stands for it in messages. HDF5 makes a copy. Throws InputError.
  static Hdf5File open_image(const std::string& name, std::span<const std::byte> image);
  /// Opens an existing file for reading and writing, even if a killed run left it marked as open.
  static Hdf5File open_to_append(const std::string& path);
  /// Makes a new file; nothing may have the name. Throws RunError.
  static Hdf5File create(const std::string& path);

  Hdf5File(Hdf5File&&) noexcept;
  Hdf5File& operator=(Hdf5File&&) noexcept;
  ~Hdf5File();

  const std::string& path() const { return path_; }
  bool is_checked() const { return checked_.has_value(); }
  /// Throws InputError where the file is too damaged to find out.
  bool has(const std::string& name) const;
  /// Returns the paths of all groups and datasets. Throws InputError where one can't be read from this file alone: it
  /// is a soft or external link, its numbers are in another file, or it was compressed by a filter that is none of
  /// HDF5's own.
  std::vector<std::string> names() const;

  std::vector<std::int64_t> shape(const std::string& dataset) const;
  /// Reads the whole dataset. Integers are converted to wider ones and to double; a conversion to a narrower type is an
  /// InputError.
  template <class Value>
  std::vector<Value> read(const std::string& dataset) const;
  /// Reads `count` rows (of the first dimension) from `begin`.
  template <class Value>
  std::vector<Value> read_rows(const std::string& dataset, std::int64_t begin, std::int64_t count) const;
  /// Calls a function with the numbers of rows, as `Value`s, part by part, so that large arrays need not stand in
  /// memory twice. What was passed before an error is right.
  template <class Value>
  void for_rows(const std::string& dataset, std::int64_t begin, std::int64_t count,
                const std::function<void(std::span<const std::byte>)>& take) const;
  std::vector<std::string> read_text(const std::string& dataset) const;

  bool has_attribute(const std::string& object, const std::string& name) const;
  /// Reads all elements of a numeric attribute (one for a scalar).
  template <class Value>
  std::vector<Value> attribute(const std::string& object, const std::string& name) const;
  std::string text_attribute(const std::string& object, const std::string& name) const;

  /// Makes a group and the ones above it; one that exists stays as it is.
  void make_group(const std::string& group);
  template <class Value>
  void write(const std::string& dataset, std::span<const Value> values, const std::vector<std::int64_t>& shape);
  void write_text(const std::string& dataset, const std::vector<std::string>& values);
  /// Makes a dataset without rows that `append` lengthens; `row_shape` is without the first dimension.
  template <class Value>
  void make_extendible(const std::string& dataset, const std::vector<std::int64_t>& row_shape,
                       std::int64_t rows_per_chunk);
  /// Adds whole rows to an extendible dataset.
  template <class Value>
  void append(const std::string& dataset, std::span<const Value> values);
  /// Adds a row to an extendible dataset and returns the byte of the file at which it begins, so that others can write
  /// its numbers there.
  std::int64_t add_row(const std::string& dataset);
  /// Reads the index of the chunks of an extendible dataset. Throws InputError where it is damaged: once the file
  /// grows, HDF5 would take that for an index that is not written yet, and wait for it.
  void check_index(const std::string& dataset) const;
  /// Cuts an extendible dataset to its first `rows` rows.
  void truncate(const std::string& dataset, std::int64_t rows);
  /// Gives an object a second name (hard link).
  void link(const std::string& existing, const std::string& name);

  template <class Value>
  void write_attribute(const std::string& object, const std::string& name, std::span<const Value> values);
  void write_text_attribute(const std::string& object, const std::string& name, const std::string& value);
  void write_text_attribute(const std::string& object, const std::string& name, const std::vector<std::string>& values);

  /// Lets datasets only grow from here on, and lets the file on disk be read at any moment, also after a kill: children
  /// are written before what points at them (HDF5's single writer, multiple readers), and the mark that such a file is
  /// being written is taken off again after each flush, so that readers which know nothing of it open it too.
  void start_growing();

  /// Hands everything to the operating system, so that it is kept even if this process is killed.
  void flush();
  /// Waits until what was flushed of a growing file is on the disk.
  void synchronize() const { growing_->synchronize(); }
  /// Returns whether the path of a growing file still names it.
  bool is_in_place() const { return growing_->is_in_place(); }

 private:
  Hdf5File(std::string path, std::int64_t handle, std::optional<CheckedFile> checked = std::nullopt)
      : path_(std::move(path)), handle_(handle), checked_(std::move(checked)) {}
  /// Reads values of a bulk array of a checked file past HDF5; false where the dataset is none, or has numbers that
  /// HDF5 converts.
  template <class Value>
  bool read_checked(std::int64_t set, std::int64_t type, std::int64_t first_value, std::int64_t count,
                    const CheckedFile::Take& take) const;
  template <class Value>
  bool read_checked(std::int64_t set, std::int64_t type, std::int64_t first_value, std::vector<Value>& values) const;
  [[noreturn]] void fail_write(const std::string& what);
  [[noreturn]] void fail_write(const std::string& what, const std::string& reason);

  std::string path_;
  std::int64_t handle_;  // hid_t
  std::optional<CheckedFile> checked_;
  std::optional<Descriptor> growing_;  // HDF5's own file, once it grows
  /// Where the chunk of add_row()'s last row begins in the file, by dataset.
  std::map<std::string, std::int64_t, std::less<>> chunk_places_;
  bool has_failed_ = false;  // HDF5 holds what it can't write, and must not try again
};

}  // namespace tessera::io
