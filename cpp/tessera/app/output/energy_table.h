// energy.csv has one row for each sample, which is handed to the operating system at once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/files/descriptor.h"

namespace tessera::app {

/// A column and its unit; the header says "name [unit]", or "name" for a pure number.
struct Column {
  std::string name, unit;
};

/// The columns are `step`, `time [ps]` and those given. Numbers have enough digits to restore their bits.
class EnergyTable {
 public:
  /// Begins a file; nothing may have the name. Throws RunError.
  static EnergyTable create(const std::string& path, const std::vector<Column>& columns);
  /// Continues after the first `n_rows` rows, which are those up to `last_step`, but for a row at that step that only
  /// the end of the run has; drop_later_rows() drops the others. Throws InputError if the file is missing, has other
  /// columns, or rows are damaged or missing.
  static EnergyTable continue_after(const std::string& path, const std::vector<Column>& columns, std::int64_t last_step,
                                    std::int64_t n_rows);
  void drop_later_rows() { file_.truncate(end_); }

  /// Adds a row: time in ps, one value a column given. Throws RunError.
  void append(std::int64_t step, double time, std::span<const double> values);
  std::int64_t n_rows() const { return n_rows_; }
  /// Returns false once the file was removed, moved or replaced.
  bool is_in_place() const { return file_.is_in_place(); }

 private:
  EnergyTable(Descriptor file, std::size_t n_columns) : file_(std::move(file)), n_columns_(n_columns) {}

  Descriptor file_;
  std::size_t n_columns_;
  std::int64_t n_rows_ = 0;
  std::int64_t end_ = 0;  // bytes
};

}  // namespace tessera::app
