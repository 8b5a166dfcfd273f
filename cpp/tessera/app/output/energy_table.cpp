#include "tessera/app/output/energy_table.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "tessera/base/error.h"

namespace tessera::app {
namespace {

std::string header_line(const std::vector<Column>& columns) {
  std::string line = "step,time [ps]";
  for (const auto& column : columns)
    line += column.unit.empty() ? "," + column.name : fmt::format(",{} [{}]", column.name, column.unit);
  return line + "\n";
}

/// Returns the step of a row as append() writes it; nothing where the line is no such row.
std::optional<std::int64_t> step_of_row(std::string_view line, std::size_t n_columns) {
  std::int64_t step = 0;
  const auto* const end = line.data() + line.size();
  auto parsed = std::from_chars(line.data(), end, step);
  for (std::size_t number = 0; number < 1 + n_columns; ++number) {  // the time is first
    double value = 0;
    if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != ',') return std::nullopt;
    parsed = std::from_chars(parsed.ptr + 1, end, value);
  }
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(step) : std::nullopt;
}

}  // namespace

EnergyTable EnergyTable::create(const std::string& path, const std::vector<Column>& columns) {
  EnergyTable table(Descriptor::create(path), columns.size());
  const std::string header = header_line(columns);
  table.file_.write_at(header.data(), header.size(), 0);
  table.end_ = static_cast<std::int64_t>(header.size());
  return table;
}

EnergyTable EnergyTable::continue_after(const std::string& path, const std::vector<Column>& columns,
                                        std::int64_t last_step, std::int64_t n_rows) {
  std::string text;
  {
    const auto file = Descriptor::open_to_read(path);
    text.resize(static_cast<std::size_t>(file.size()));
    text.resize(file.read_at(text.data(), text.size(), 0));
  }
  const std::string header = header_line(columns);
  if (text.compare(0, header.size(), header) != 0)
    throw InputError(fmt::format(
        "{}: begins with \"{}\", this run writes \"{}\"; move the file away to begin another from the checkpoint on",
        path, text.substr(0, text.find('\n')), header.substr(0, header.size() - 1)));
  constexpr std::string_view advice = "put the table back, or move it away to begin another from the checkpoint on";
  std::size_t end = header.size();
  std::int64_t found = 0, step_before = -1;
  for (std::size_t begin = end; begin < text.size(); ++found) {
    const auto newline = text.find('\n', begin);
    if (newline == std::string::npos) break;
    const auto step = step_of_row(std::string_view(text).substr(begin, newline - begin), columns.size());
    const bool is_damaged = !step || *step <= step_before;
    // What is behind the rows that the checkpoint counts is dropped, as the row that only the end of a run has.
    if (found >= n_rows && (is_damaged || *step >= last_step)) break;
    if (!is_damaged && *step > last_step) break;
    if (is_damaged)
      throw InputError(fmt::format("{}: line {} is damaged, expected {} numbers, the first above {}; {}", path,
                                   found + 2, columns.size() + 2, step_before, advice));
    step_before = *step;
    begin = newline + 1;
    if (found < n_rows) end = begin;
  }
  if (found != n_rows)
    throw InputError(fmt::format("{}: holds {} whole rows up to step {}, the checkpoint says {}; {}", path, found,
                                 last_step, n_rows, advice));
  EnergyTable table(Descriptor::open_to_change(path), columns.size());
  table.n_rows_ = n_rows;
  table.end_ = static_cast<std::int64_t>(end);
  return table;
}

void EnergyTable::append(std::int64_t step, double time, std::span<const double> values) {
  TESSERA_CHECK(values.size() == n_columns_);
  std::string line = fmt::format("{},{:.10g}", step, time);
  for (const double value : values) line += fmt::format(",{}", value);
  line += '\n';
  file_.write_at(line.data(), line.size(), end_);
  end_ += static_cast<std::int64_t>(line.size());
  ++n_rows_;
}

}  // namespace tessera::app
