// The report of a run: its results and a table of phases for people, report.json for programs. Names in the JSON are
// stable, because other programs read them.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tessera/comm/communicator.h"
#include "tessera/machine/machine.h"

namespace tessera::app {

/// A phase of a step: seconds of the mean and of the slowest rank over the whole run.
struct Phase {
  std::string name;
  double mean_seconds = 0, max_seconds = 0;

  /// Returns the slowest over the mean; 1 is perfect balance.
  double imbalance() const { return mean_seconds > 0 ? max_seconds / mean_seconds : 1.0; }
};

/// The memory that ranks use between steps, by owner.
struct Memory {
  struct Owner {
    std::string name;
    std::int64_t bytes = 0;  // of all ranks
  };
  std::vector<Owner> owners;
  std::int64_t peak = 0, most_peak = 0;  // bytes: peak of all ranks together and of the largest

  std::int64_t bytes() const;
};

/// How evenly ranks worked: the longest over the mean of the processor time that they spent on their own atoms.
struct BalanceHistory {
  double first = 1, last = 1;
  int moves = 0;  // of cells between ranks
};

/// Whose cells the halos of all ranks hold at the end of the run.
struct HaloTraffic {
  int hosts = 1;
  std::int64_t cells = 0, between_hosts = 0;
  std::int64_t as_numbered = 0;  // between hosts, if bricks were given to ranks by their numbers
};

/// Mean and fluctuation of a sampled quantity; both are NaN where nothing was sampled.
struct Mean {
  std::string name, unit;
  double mean = 0, fluctuation = 0;
};

struct Report {
  std::int64_t n_atoms = 0;
  int ranks = 1, threads = 1;
  std::int64_t first_step = 0, last_step = 0;
  double timestep = 0;      // ps
  double wall_seconds = 0;  // of the steps alone
  std::vector<Mean> averages;
  double drift = std::numeric_limits<double>::quiet_NaN();  // kT/ns/dof
  std::string folder;                                       // of the output
  std::vector<std::string> files;                           // in it
  std::string to_go_on;                                     // a command
  nlohmann::json earlier_legs = nlohmann::json::array();    // of a run that was continued: as read_legs()
  Memory memory;
  std::vector<Phase> phases;                    // in the order of the step
  std::optional<BalanceHistory> balance;        // of several ranks
  std::optional<HaloTraffic> halo;              // of several hosts
  std::vector<comm::PlanUse> plans;             // of collective operations that were not the MPI library's own
  std::string state_hash;                       // SHA-256 of positions and velocities by atom id; empty: not computed
  std::map<std::string, std::string> versions;  // "tessera", "mpi", "compiler", …
  machine::Machine machine;
  nlohmann::json settings;  // the configuration in effect
  nlohmann::json results;   // numbers of this run: temperature, drift, list sizes

  std::int64_t steps() const { return last_step - first_step; }
  double ns_per_day() const;
  double ms_per_step() const;
};

/// Describes the memory: "537 bytes an atom: pairs: list 201, mesh 115, …", with the largest owner first.
std::string memory_text(const Memory& memory, std::int64_t n_atoms);

/// Writes first what people look for first: length, speed, means, where the output is and how to continue. Then the
/// table of phases with their shares of the wall time, and the memory.
std::string report_text(const Report& report);
/// Writes the first part of the report.
std::string summary_text(const Report& report);

nlohmann::json report_to_json(const Report& report);

/// Reads the legs of a run from its last report.json: steps, size and speed from each start to its end. Empty, with a
/// note, where there is no such report.
nlohmann::json read_legs(const std::string& path, std::string& note);

/// Returns the shell command that continues a run. `steps` is the new dynamics.steps, of a protocol of this stage, 0
/// for the present one; `threads` 0: not given.
std::string restart_command(const std::string& run_file, const std::vector<std::string>& overrides, int ranks,
                            int threads, std::int64_t steps, const std::string& stage = {});

/// Writes report.json, whole or not at all. Throws RunError.
void write_report(const std::string& path, const Report& report);

}  // namespace tessera::app
