#include "tessera/machine/hostfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "tessera/base/error.h"

namespace tessera::machine {
namespace {

constexpr std::array<std::pair<const char*, HostFileFormat>, 4> formats = {{{"openmpi", HostFileFormat::open_mpi},
                                                                            {"mpich", HostFileFormat::mpich},
                                                                            {"slurm", HostFileFormat::slurm},
                                                                            {"plain", HostFileFormat::plain}}};

std::string name_of(const Network& network, int host) { return network.hosts[static_cast<std::size_t>(host)].name; }

/// Returns the length of the shortest prefix that the order repeats; the last repetition may be incomplete.
std::size_t period(const RankOrder& order) {
  for (std::size_t length = 1; length < order.size(); ++length)
    if (std::equal(order.begin() + static_cast<std::ptrdiff_t>(length), order.end(), order.begin())) return length;
  return order.size();
}

/// Writes a host file for MPICH's launcher, which goes around a list of hosts repeatedly. It treats a host that is
/// listed twice as two nodes, whose ranks do not share memory. Therefore only one round is written if the order
/// consists of rounds.
std::string mpich_file(const Network& network, const RankOrder& order) {
  std::string text = fmt::format("# MPICH: mpiexec -n {} -f THIS_FILE PROGRAM\n", order.size());
  std::string lines;
  std::set<int> seen;
  bool revisits = false;
  const auto end = period(order);
  for (std::size_t i = 0; i < end;) {
    std::size_t n = 1;
    while (i + n < end && order[i + n] == order[i]) ++n;
    revisits |= !seen.insert(order[i]).second;
    lines += fmt::format("{}:{}\n", name_of(network, order[i]), n);
    i += n;
  }
  if (revisits)
    text += "# Hosts are listed more than once: MPICH does not use shared memory between ranks of different lines.\n";
  return text + lines;
}

}  // namespace

HostFileFormat host_file_format(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [known_name, format] : formats) {
    if (name == known_name) return format;
    known.emplace_back(known_name);
  }
  refuse_name("host file format", name, known);
}

std::string host_file(const Network& network, const RankOrder& order, HostFileFormat format) {
  std::string text;
  switch (format) {
    case HostFileFormat::mpich:
      return mpich_file(network, order);
    case HostFileFormat::open_mpi:
      // The slots of a host are filled together unless the sequential mapper takes the lines one by one.
      text = fmt::format("# Open MPI: mpirun -n {} --hostfile THIS_FILE --map-by seq PROGRAM\n", order.size());
      break;
    case HostFileFormat::slurm:
      text =
          fmt::format("# Slurm: SLURM_HOSTFILE=THIS_FILE srun -n {} --distribution=arbitrary PROGRAM\n", order.size());
      break;
    case HostFileFormat::plain:
      text = fmt::format("# the host of each of {} ranks in turn\n", order.size());
      break;
  }
  for (const int host : order) text += name_of(network, host) + "\n";
  return text;
}

}  // namespace tessera::machine
