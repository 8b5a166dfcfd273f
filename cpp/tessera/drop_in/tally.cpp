#include "tessera/drop_in/tally.h"

#include <fmt/format.h>

namespace tessera::drop_in {

void Tally::add(collectives::Operation operation, std::int64_t bytes, const std::string& by, double seconds,
                double saved) {
  auto& row = rows_[{operation, bytes, by}];
  ++row.n_calls;
  row.seconds += seconds;
  row.saved += saved;
}

void Tally::add(const Tally& other) {
  for (const auto& [key, more] : other.rows_) {
    auto& row = rows_[key];
    row.n_calls += more.n_calls;
    row.seconds += more.seconds;
    row.saved += more.saved;
  }
}

std::string Tally::text() const {
  constexpr auto line = "  {:<14} {:>12} {:>10} {:>12} {:>12}  {}\n";
  auto text = fmt::format(line, "operation", "about bytes", "calls", "seconds", "saved, s", "by");
  Row all;
  for (const auto& [key, row] : rows_) {
    const auto& [operation, bytes, by] = key;
    text += fmt::format(line, collectives::name_of(operation), bytes > 0 ? fmt::to_string(bytes) : "-", row.n_calls,
                        fmt::format("{:.6f}", row.seconds), fmt::format("{:.6f}", row.saved), by);
    all.n_calls += row.n_calls;
    all.seconds += row.seconds;
    all.saved += row.saved;
  }
  return text + fmt::format(line, "all", "", all.n_calls, fmt::format("{:.6f}", all.seconds),
                            fmt::format("{:.6f}", all.saved), "");
}

}  // namespace tessera::drop_in
