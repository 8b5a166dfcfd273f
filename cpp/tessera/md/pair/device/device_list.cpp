#include "tessera/md/pair/device/device_list.h"

#include <iterator>

namespace tessera::md::pair {

MaskedRows masked_rows(const PairList& list) {
  MaskedRows made;
  for (const auto* parts : {&list.inner, &list.outer}) {
    for (const auto& part : *parts)
      for (std::size_t row = 0; row < part.n_rows(); ++row) {
        const auto entries = part.masked_of(row);
        if (entries.empty()) continue;
        const auto add = [&](bool by_table) {
          const auto begin = std::ssize(made.masked);
          for (const auto& entry : entries)
            if (entry.by_table == by_table)
              made.masked.push_back({entry.j, entry.interact | static_cast<std::uint32_t>(entry.excluded) << 16});
          return begin;
        };
        const auto by_table_begin = add(true), masked_begin = add(false);
        made.rows.push_back({part.rows[row].i_cluster, by_table_begin, masked_begin, std::ssize(made.masked)});
      }
    if (parts == &list.inner) made.n_inner_rows = std::ssize(made.rows);
  }
  return made;
}

}  // namespace tessera::md::pair
