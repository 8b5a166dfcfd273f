#include "tessera/md/pair/device/device_list.h"

namespace tessera::md::pair {

DeviceList make_device_list(const PairList& list) {
  DeviceList made;
  const auto add_masked = [&](const PairListPart& part, std::size_t row, bool by_table) {
    for (const auto& entry : part.masked_of(row))
      if (entry.by_table == by_table)
        made.masked.push_back({entry.j, entry.interact | static_cast<std::uint32_t>(entry.excluded) << 16});
    return std::ssize(made.masked);
  };
  for (const auto* parts : {&list.inner, &list.outer}) {
    for (const auto& part : *parts)
      for (std::size_t row = 0; row < part.n_rows(); ++row) {
        const auto by_table_begin = std::ssize(made.masked), masked_begin = add_masked(part, row, true);
        made.rows.push_back({part.rows[row].i_cluster, by_table_begin, masked_begin, std::ssize(made.plain)});
        add_masked(part, row, false);
        const auto plain = part.plain_of(row);
        made.plain.insert(made.plain.end(), plain.begin(), plain.end());
      }
    if (parts == &list.inner) made.n_inner_rows = std::ssize(made.rows);
  }
  made.rows.push_back({-1, std::ssize(made.masked), std::ssize(made.masked), std::ssize(made.plain)});
  return made;
}

}  // namespace tessera::md::pair
