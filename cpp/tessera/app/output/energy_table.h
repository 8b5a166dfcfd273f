// energy.csv: one row a sample, handed to the operating system as it is written.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/descriptor.h"

namespace tessera::app {

/// A column and its unit; the header says "name [unit]", or "name" for a pure number.
struct Column {
  std::string name, unit;
};

/// Columns `step` and `time [ps]` stand first, then those given. Numbers have as many digits as bring back their bits.
class EnergyTable {
 public:
  /// Begins a file (an old one is emptied). Throws RunError.
  static EnergyTable create(const std::string& path, const std::vector<Column>& columns);
  /// Goes on after the row of `last_step`; later rows and half a row are dropped. Throws InputError if the file is
  /// missing or has other columns.
  static EnergyTable continue_after(const std::string& path, const std::vector<Column>& columns,
                                    std::int64_t last_step);

  /// Adds a row: time in ps, one value a column given. Throws RunError.
  void append(std::int64_t step, double time, std::span<const double> values);

 private:
  EnergyTable(Descriptor file, std::size_t n_columns) : file_(std::move(file)), n_columns_(n_columns) {}

  Descriptor file_;
  std::size_t n_columns_;
  std::int64_t end_ = 0;  // bytes
};

}  // namespace tessera::app
