#include "tessera/md/memory/room.h"

#include <fmt/format.h>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

#include "tessera/base/error.h"

namespace tessera::md {

namespace {

struct Room {
  double bytes;
  std::string_view limit;
};

/// Returns what this process may still take, and what limits it.
Room room_of_process() {
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  Room room{static_cast<double>(sysconf(_SC_PHYS_PAGES)) * page, "this machine's memory"};
  double size = 0;  // pages in use, which count for RLIMIT_AS
  std::ifstream("/proc/self/statm") >> size;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const auto left = std::max(0.0, static_cast<double>(limit.rlim_cur) - size * page);
    if (left < room.bytes) room = {left, "ulimit -v"};
  }
  return room;
}

/// Returns how many of n[0] × n[1] × n[2] cells or points a rank has, which may be more than it can number.
double share_of(const Index3& n, int ranks) {
  return static_cast<double>(n[0]) * static_cast<double>(n[1]) * static_cast<double>(n[2]) / ranks;
}

void check(double bytes, const std::string& what, const std::string& mending) {
  const auto [most, limit] = room_of_process();
  if (bytes > most)
    throw InputError(fmt::format("{}, which takes {:.3g} GB of memory on each rank, and {:.3g} GB are left by {}; {}",
                                 what, bytes / 1e9, most / 1e9, limit, mending));
}

}  // namespace

void check_room_for_cells(const domain::CellGrid& grid, int ranks) {
  if (!grid.is_periodic) return;        // cells without atoms are not there
  constexpr double bytes_of_cell = 50;  // its place, bounds and first slot
  const auto& n = grid.n;
  const double share = share_of(n, ranks);
  const auto what = fmt::format("the box is cut into {} × {} × {} cells", n[0], n[1], n[2]);
  const std::string mending = "take a smaller box, a longer interactions.cutoff or more ranks";
  check(bytes_of_cell * share, what, mending);
  if (share > std::numeric_limits<std::int32_t>::max())
    throw InputError(fmt::format("{}, more than a rank can number; {}", what, mending));
}

void check_room_for_mesh(const EngineSettings& settings, int ranks) {
  if (settings.pair.electrostatics != pair::Electrostatics::pme) return;
  const auto& n = settings.pme_grid;
  const double bytes_of_value = settings.precision == pair::Precision::double_precision ? 8 : 4;
  const double share = share_of(n, ranks);
  check(2 * bytes_of_value * share, fmt::format("the PME mesh has {} × {} × {} points", n[0], n[1], n[2]),
        "take a coarser mesh (pme.grid, pme.spacing), a longer cut-off or more ranks");
}

}  // namespace tessera::md
