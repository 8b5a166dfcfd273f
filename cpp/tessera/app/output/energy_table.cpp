#include "tessera/app/output/energy_table.h"

#include <fmt/format.h>

#include <charconv>

#include "tessera/base/error.h"

namespace tessera::app {
namespace {

std::string header_line(const std::vector<Column>& columns) {
  std::string line = "step,time [ps]";
  for (const auto& column : columns)
    line += column.unit.empty() ? "," + column.name : fmt::format(",{} [{}]", column.name, column.unit);
  return line + "\n";
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
  std::size_t end = header.size();
  std::int64_t found = 0;
  while (end < text.size()) {
    const auto newline = text.find('\n', end);
    std::int64_t step = 0;
    const auto parsed = std::from_chars(text.data() + end, text.data() + text.size(), step);
    if (newline == std::string::npos || parsed.ec != std::errc() || step > last_step) break;
    end = newline + 1;
    ++found;
  }
  if (found != n_rows)
    throw InputError(fmt::format(
        "{}: holds {} whole rows up to step {}, the checkpoint says {}; put the table back, or move it away "
        "to begin another from the checkpoint on",
        path, found, last_step, n_rows));
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
