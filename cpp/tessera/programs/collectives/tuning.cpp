#include "tessera/programs/collectives/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "tessera/base/error.h"
#include "tessera/base/files/atomic_file.h"
#include "tessera/collectives/choose.h"
#include "tessera/collectives/registry.h"
#include "tessera/comm/communicator.h"
#include "tessera/comm/mpi/placement/hosts.h"
#include "tessera/machine/survey/machine_file.h"
#include "tessera/programs/collectives/calls.h"
#include "tessera/programs/collectives/timing.h"

namespace tessera::programs {
namespace {

// All-to-all of this many bytes a pair is a job of its own.
constexpr std::int64_t longest_pair = 131072;
constexpr int fewest_turns = 3, most_turns = 25;
constexpr int further_turns = 5;  // at a time
constexpr double confidence = 0.95;

/// Takes the fastest by the model, and then those that differ most from what was taken already: in their entry or in
/// the size of their pieces.
std::vector<std::string> most_promising(const std::vector<std::string>& ranked, int count) {
  std::vector<std::string> taken;
  std::vector<std::pair<std::string, std::int64_t>> kinds;
  for (const auto& text : ranked) {
    if (static_cast<int>(taken.size()) == count) break;
    const auto [name, parameters] = collectives::named_entry(text);
    const std::pair kind{name, parameters ? parameters->segment : 0};
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) continue;
    kinds.push_back(kind);
    taken.push_back(text);
  }
  return taken;
}

/// Returns a lower confidence bound of the median of library / entry over turns side by side: the k-th smallest of n by
/// the binomial distribution, whatever the noise is like; of fewer than five turns the smallest.
double least_gain_of(const std::vector<double>& library, const std::vector<double>& entry) {
  std::vector<double> gains;
  for (std::size_t i = 0; i < entry.size(); ++i) gains.push_back(library[i] / entry[i]);
  std::sort(gains.begin(), gains.end());
  const auto n = static_cast<double>(gains.size());
  double term = std::exp2(-n), below = term;  // that at most k of n turns fall below the median
  std::size_t k = 0;
  while (true) {
    const auto next = static_cast<double>(k) + 1;
    term *= (n - next + 1) / next;
    if (below + term > 1 - confidence) return gains[k];
    below += term;
    ++k;
  }
}

/// An entry and the library in turns.
struct SideBySide {
  std::string entry;
  double predicted = 0;                  // s
  std::vector<double> seconds, library;  // of each turn

  /// Returns the ratio of the medians of the turns or of the best ones, whichever is less, as ranks that sleep dominate
  /// medians of short operations.
  double least_gain() const {
    return std::min(least_gain_of(library, seconds), *std::min_element(library.begin(), library.end()) /
                                                         *std::min_element(seconds.begin(), seconds.end()));
  }
  /// Tells whether it seems to be faster than the library although some turns leave that open.
  bool is_unclear() const {
    return least_gain() < collectives::never_slower && median_of(seconds) < median_of(library);
  }
};

/// Sends rank 0's list to all ranks.
std::vector<std::string> shared(const std::vector<std::string>& list, MPI_Comm comm) {
  std::string text;
  for (const auto& word : list) text += word + "\n";
  text = comm::mpi::agreed_text(text, comm);
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = text.find('\n', begin);
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

double shared(double value, MPI_Comm comm) {
  MPI_Bcast(&value, 1, MPI_DOUBLE, 0, comm);
  return value;
}

/// Adds turns of the library and the fastest entry until it is clear whether the entry gains, or until so many seconds
/// are over. The result is valid on rank 0. Collective.
void clear_up(std::vector<SideBySide>& tried, TimingRequest timing, double seconds, MPI_Comm comm) {
  const auto fastest = std::min_element(tried.begin(), tried.end(), [](const auto& a, const auto& b) {
    return median_of(a.seconds) < median_of(b.seconds);
  });
  const double begin = MPI_Wtime();
  timing.repeats = further_turns;
  while (true) {
    timing.entries.clear();
    if (fastest != tried.end() && fastest->is_unclear() && fastest->seconds.size() < most_turns) {
      const double a_turn = median_of(fastest->seconds) + median_of(fastest->library);
      const double needed = (further_turns + 1) * a_turn;  // the first is not timed
      if (MPI_Wtime() - begin + needed < seconds) timing.entries = {"native", fastest->entry};
    }
    timing.entries = shared(timing.entries, comm);
    if (timing.entries.empty()) return;
    const auto more = time_entries(timing, comm);
    if (fastest == tried.end()) continue;
    const auto add = [&](std::size_t i, std::vector<double>& to) {
      const std::vector<double> times = more["entries"][i]["times"];
      to.insert(to.end(), times.begin(), times.end());
    };
    add(0, fastest->library);
    add(1, fastest->seconds);
  }
}

bool is_same_case(const machine::Trial& a, const machine::Trial& b) {
  return a.library == b.library && a.operation == b.operation && a.n_ranks == b.n_ranks && a.bytes == b.bytes &&
         a.placement == b.placement;
}

}  // namespace

nlohmann::json tune(const TuningRequest& request, MPI_Comm comm) {
  int rank = 0, n_ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &n_ranks);
  for (const auto& operation : request.operations) operation_of(operation);  // throws where there is none
  machine::MachineFile map;
  std::string fault;
  if (rank == 0) {
    try {
      check_place_of_file(request.output);
      map = machine::read_machine_file(request.map);
      if (!map.machine.network)
        throw InputError(request.map + ": knows no network; measure it between the hosts (tessera machine measure)");
    } catch (const InputError& error) {
      fault = error.what();
    }
  }
  if (fault = comm::mpi::agreed_text(fault, comm); !fault.empty()) throw InputError(fault);

  std::vector<machine::Trial> trials;
  std::vector<std::string> left_out;
  const double begin = MPI_Wtime();
  auto sizes = request.sizes;
  std::sort(sizes.begin(), sizes.end());
  auto n_cases_left = static_cast<double>(sizes.size() * request.operations.size());
  for (const auto size : sizes)
    for (const auto& operation : request.operations) {
      const double n_cases = n_cases_left--;
      const bool is_barrier = operation == "barrier";
      if ((is_barrier && size != sizes.front()) || (operation == "all_to_all" && size > longest_pair)) continue;
      const double case_begin = MPI_Wtime();
      const double left = shared(request.seconds - (MPI_Wtime() - begin), comm);
      TimingRequest timing;
      timing.map = request.map;
      timing.operation = operation;
      timing.bytes = is_barrier ? 0 : size;
      timing.repeats = 1;
      timing.entries = {"auto"};
      timing.uses_trials = false;
      nlohmann::json ranked;
      if (left > 0) {
        const auto found = time_entries(timing, comm);
        if (const std::string warning = found["warning"]; !warning.empty()) throw InputError(warning);
        ranked = found["entries"][0];
      }
      const double once = shared(left > 0 ? ranked.value("median", 0.0) : 0, comm);
      // The library may take several times as long as the chosen entry.
      const double a_turn = once * (request.candidates + 3);
      if (left <= 0 || fewest_turns * a_turn > left) {
        left_out.push_back(fmt::format("{} of {} bytes", operation, timing.bytes));
        continue;
      }
      std::vector<std::string> entries;
      if (rank == 0)
        entries = most_promising(ranked.value("candidates", std::vector<std::string>()), request.candidates);
      entries = shared(entries, comm);
      if (entries.empty()) continue;
      entries.insert(entries.begin(), "native");
      timing.entries = entries;
      timing.repeats = std::clamp(static_cast<int>(shared(0.1 * left / a_turn, comm)), fewest_turns, most_turns);
      const auto found = time_entries(timing, comm);
      std::vector<double> library;
      std::vector<SideBySide> tried;
      if (rank == 0) {
        library = found["entries"][0]["times"].get<std::vector<double>>();
        for (const auto& entry : found["entries"])
          if (entry["entry"] != "native" && entry.value("predicted", 0.0) > 0)
            tried.push_back({entry["entry"], entry["predicted"], entry["times"].get<std::vector<double>>(), library});
      }
      const double share = std::min(left, 2 * left / n_cases);
      clear_up(tried, timing, share - (MPI_Wtime() - case_begin), comm);
      if (rank != 0) continue;
      for (const auto& entry : tried)
        if (entry.library.size() > library.size()) library = entry.library;
      const auto keep = [&](const std::string& entry, double predicted, double seconds, double least) {
        if (!(predicted > 0) || !(seconds > 0)) return;
        trials.push_back({comm::Communicator::library_version(), operation, n_ranks, timing.bytes, entry, predicted,
                          seconds, least, found["placement"]});
        fmt::print(stderr, "tessera-collectives: {} of {} bytes, {}: {:.3g} ms, predicted {:.3g}{}\n", operation,
                   timing.bytes, entry, seconds * 1e3, predicted * 1e3,
                   least > 0 ? fmt::format(", library at least {:.2f} times as long", least) : "");
      };
      keep("native", ranked.value("native_predicted", 0.0), median_of(library), 0);
      for (const auto& entry : tried) keep(entry.entry, entry.predicted, median_of(entry.seconds), entry.least_gain());
    }
  nlohmann::json summary{{"trials", trials.size()}, {"left_out", left_out}, {"seconds", MPI_Wtime() - begin}};
  if (rank == 0) {
    try {
      std::erase_if(map.trials, [&](const machine::Trial& old) {
        return std::any_of(trials.begin(), trials.end(), [&](auto& trial) { return is_same_case(old, trial); });
      });
      map.trials.insert(map.trials.end(), trials.begin(), trials.end());
      write_atomically(request.output, machine::machine_file_text(map));
    } catch (const std::exception& error) {
      fault = error.what();
    }
  }
  if (fault = comm::mpi::agreed_text(fault, comm); !fault.empty()) throw InputError(fault);
  return summary;
}

}  // namespace tessera::programs
