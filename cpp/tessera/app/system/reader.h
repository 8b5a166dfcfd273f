// Named arrays of a system file, with messages that name the file and the dataset.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tessera/app/system/system_source.h"
#include "tessera/base/error.h"
#include "tessera/io/hdf5.h"

namespace tessera::app {

/// One system file being read; its messages name the file and the dataset.
class Reader {
 public:
  /// Opens and checks the kind, the version and the names. Throws InputError, as everything here does.
  explicit Reader(const SystemSource& source);

  const io::Hdf5File& file() const { return file_; }
  bool has(const std::string& name) const { return std::binary_search(names_.begin(), names_.end(), name); }
  std::int64_t n_templates() const {
    return std::count_if(names_.begin(), names_.end(), [](const std::string& name) {
      return name.starts_with("/templates/") && name.find('/', std::strlen("/templates/")) == std::string::npos;
    });
  }

  [[noreturn]] void fail(const std::string& what) const { throw InputError(fmt::format("{}: {}", file_.path(), what)); }

  [[noreturn]] void fail_in(const std::string& dataset, const std::string& what) const {
    fail(fmt::format("dataset {} {}; the file is damaged or was not written by tessera: make it again", dataset, what));
  }

  /// Reads the rows of a dataset with these inner dimensions; none where it is absent.
  template <class Value>
  std::vector<Value> table(const std::string& dataset, const std::vector<std::int64_t>& inner) const {
    if (!has(dataset)) return {};
    const auto shape = file_.shape(dataset);
    if (shape.size() != inner.size() + 1 || !std::equal(inner.begin(), inner.end(), shape.begin() + 1)) {
      std::string expected = "(·";
      for (const auto extent : inner) expected += fmt::format(",{}", extent);
      fail_in(dataset, fmt::format("has {} dimensions of {} elements in all, expected {})", shape.size(),
                                   file_.read<Value>(dataset).size(), expected));
    }
    return file_.read<Value>(dataset);
  }

  /// Reads finite numbers in rows of `columns`.
  std::vector<double> numbers(const std::string& dataset, std::int64_t columns) const {
    auto values = table<double>(dataset, {columns});
    check_finite(dataset, values);
    return values;
  }

  void check_finite(const std::string& dataset, const std::vector<double>& values) const {
    const auto bad = std::find_if(values.begin(), values.end(), [](double v) { return !std::isfinite(v); });
    if (bad != values.end()) fail_in(dataset, fmt::format("holds {} at element {}", *bad, bad - values.begin()));
  }

  template <class Value>
  std::vector<Value> column(const std::string& dataset, std::size_t rows) const {
    auto values = table<Value>(dataset, {});
    check_rows(dataset, values.size(), rows);
    return values;
  }

  std::vector<std::string> text(const std::string& dataset, std::size_t rows) const {
    std::vector<std::string> values;
    if (has(dataset)) values = file_.read_text(dataset);
    check_rows(dataset, values.size(), rows);
    return values;
  }

  void check_rows(const std::string& dataset, std::size_t found, std::size_t expected) const {
    if (found != expected) fail_in(dataset, fmt::format("has {} rows, expected {}", found, expected));
  }

  template <class Values>
  void check_indices(const std::string& dataset, const Values& values, std::size_t bound) const {
    for (const auto value : values)
      if (value < 0 || static_cast<std::size_t>(value) >= bound)
        fail_in(dataset, fmt::format("names row {}, expected 0 to {}", value, static_cast<std::int64_t>(bound) - 1));
  }

  template <std::size_t Columns>
  std::vector<std::array<std::int32_t, Columns>> tuples(const std::string& dataset, std::size_t bound) const {
    const auto flat = table<std::int32_t>(dataset, {static_cast<std::int64_t>(Columns)});
    check_indices(dataset, flat, bound);
    std::vector<std::array<std::int32_t, Columns>> rows(flat.size() / Columns);
    for (std::size_t i = 0; i < flat.size(); ++i) rows[i / Columns][i % Columns] = flat[i];
    return rows;
  }

  /// Reads local indices; from version 3 on those of a chain's unit may lie in other units, which System::set_chains
  /// checks.
  template <std::size_t Columns>
  std::vector<std::array<std::int32_t, Columns>> atoms(const std::string& dataset, std::size_t n_atoms) const {
    if (!has("/instances/chains")) return tuples<Columns>(dataset, n_atoms);
    const auto flat = table<std::int32_t>(dataset, {static_cast<std::int64_t>(Columns)});
    std::vector<std::array<std::int32_t, Columns>> rows(flat.size() / Columns);
    for (std::size_t i = 0; i < flat.size(); ++i) rows[i / Columns][i % Columns] = flat[i];
    return rows;
  }

 private:
  void check_names() const;

  io::Hdf5File file_;
  std::vector<std::string> names_;  // of groups and datasets, sorted
};

}  // namespace tessera::app
