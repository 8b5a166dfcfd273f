#include "tessera/machine/survey/rtt_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "tessera/base/error.h"
#include "tessera/machine/json_reader.h"
#include "tessera/machine/survey/read_text.h"

namespace tessera::machine {
namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Returns the fields of a line, without the quotes around them (doubled quotes inside stand for one).
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && is_quoted && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[++i];
    else if (line[i] == '"')
      is_quoted = !is_quoted;
    else if (line[i] == ',' && !is_quoted)
      fields.emplace_back();
    else
      fields.back() += line[i];
  }
  for (auto& field : fields) field = trimmed(field);
  return fields;
}

double time_of(const std::string& field, const std::string& where) {
  std::string lower = field;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (lower.empty() || lower == "nan") return std::numeric_limits<double>::quiet_NaN();
  double time = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), time);
  if (error != std::errc{} || end != field.data() + field.size())
    throw InputError(fmt::format("{}: {} is not a number; an unknown time is an empty field or nan", where, field));
  if (!is_time(time))
    throw InputError(fmt::format(
        "{}: the time {} is not from 1e-15 to 1e15 s; an unknown time is an empty field or nan", where, field));
  return time;
}

}  // namespace

RttTable rtt_table_from_text(const std::string& text, const std::string& name) {
  RttTable table;
  std::size_t n_rows = 0;
  int line_number = 0;
  std::size_t begin = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;  // byte order mark, which spreadsheets write
  while (begin < text.size()) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const auto line = text.substr(begin, end - begin);
    begin = end + 1;
    ++line_number;
    if (trimmed(line).empty()) continue;
    const auto fields = fields_of(line);
    const auto where = [&](std::size_t column) { return fmt::format("{}:{}:{}", name, line_number, column + 1); };
    if (table.hosts.empty()) {
      table.hosts.assign(fields.begin() + 1, fields.end());
      std::set<std::string> seen;
      for (std::size_t h = 0; h < table.hosts.size(); ++h) {
        if (table.hosts[h].empty()) throw InputError(where(h + 1) + ": a host without name in the first row");
        if (!seen.insert(table.hosts[h]).second)
          throw InputError(fmt::format("{}: host {} is listed twice in the first row", where(h + 1), table.hosts[h]));
      }
      if (table.hosts.empty())
        throw InputError(
            where(0) + ": the first row has no host names, expected an empty field and then the names, between commas");
      table.times = TimeMatrix(static_cast<int>(table.hosts.size()));
      continue;
    }
    if (n_rows == table.hosts.size())
      throw InputError(fmt::format("{}: a row more than the {} hosts of the first row", where(0), table.hosts.size()));
    if (fields[0] != table.hosts[n_rows])
      throw InputError(fmt::format("{}: the row of {}, expected {}; rows and columns have the hosts in one order",
                                   where(0), fields[0].empty() ? "nobody" : fields[0], table.hosts[n_rows]));
    if (fields.size() != table.hosts.size() + 1)
      throw InputError(fmt::format("{}: the row of {} has {} times, expected {}",
                                   where(std::min(fields.size(), table.hosts.size() + 1)), fields[0], fields.size() - 1,
                                   table.hosts.size()));
    for (std::size_t h = 0; h < table.hosts.size(); ++h)
      if (h != n_rows)
        table.times.at(static_cast<int>(n_rows), static_cast<int>(h)) = time_of(fields[h + 1], where(h + 1));
    ++n_rows;
  }
  if (table.hosts.empty()) throw InputError(fmt::format("{}: is empty, expected a matrix of times", name));
  if (n_rows < table.hosts.size())
    throw InputError(fmt::format("{}:{}:1: ends after {} of {} rows; the row of {} is missing", name, line_number + 1,
                                 n_rows, table.hosts.size(), table.hosts[n_rows]));
  return table;
}

RttTable read_rtt_csv(const std::filesystem::path& path) { return rtt_table_from_text(read_text(path), path.string()); }

}  // namespace tessera::machine
