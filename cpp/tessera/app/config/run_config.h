// What a run file says, as C++ values in internal units (ps, Å, K). The initial values here are the defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/md/pair/functions.h"

namespace tessera::app {

// Choices stand in the order of their names in schema.cpp.
using md::pair::Electrostatics, md::pair::LjModifier;
enum class PairFunction { automatic, analytic, table };
enum class Ensemble { nve };
enum class Constraints { none, h_bonds, all_bonds };
enum class Velocities { automatic, generate, file, zero };
enum class TrajectoryFormat { dcd, h5md, none };
enum class Progress { automatic, line, log, none };
enum class Precision { mixed, double_precision };

struct InputConfig {
  std::string system;  // path, already relative to the working directory
};

struct InteractionsConfig {
  // Nothing: "auto", by which they follow the source of the system (interactions.h).
  std::optional<double> cutoff;           // Å
  std::optional<double> switch_distance;  // Å
  std::optional<LjModifier> lj;
  std::optional<bool> lj_tail;
  Electrostatics electrostatics = Electrostatics::pme;
  double coulomb_switch = 0.0;  // Å
  PairFunction pair_function = PairFunction::automatic;
  double table_density = 100.0;
};

struct PmeConfig {
  std::int64_t order = 4;
  double cutoff = 0.0;   // Å; 0: that of the interactions
  double spacing = 1.1;  // Å
  double tolerance = 1e-5;
  double alpha = 0.0;              // Å⁻¹; 0: from the tolerance
  std::vector<std::int64_t> grid;  // three, or empty: from the spacing
};

struct FftConfig {
  std::string scheme = "auto";
  std::string exchange = "auto";
};

struct DynamicsConfig {
  std::int64_t steps = 1000;
  double timestep = 0.002;  // ps
  Ensemble ensemble = Ensemble::nve;
  Constraints constraints = Constraints::h_bonds;
  double constraint_tolerance = 1e-10;
  double temperature = 300.0;  // K
  Velocities velocities = Velocities::automatic;
  std::int64_t seed = 1;
  std::int64_t com_removal_every = 100;
};

struct OutputConfig {
  std::string folder = "output";  // path, already relative to the working directory
  bool overwrite = false;
  TrajectoryFormat trajectory = TrajectoryFormat::dcd;
  std::int64_t trajectory_every = 0;
  bool velocities = false;
  std::int64_t energy_every = 100;
  std::int64_t checkpoint_every = 10000;
  bool wrap = true;
  Progress progress = Progress::automatic;
};

struct ParallelConfig {
  std::int64_t threads = 1;
  std::int64_t pair_search_every = 40;
  double buffer = 2.8;  // Å
  double list_steps = 4;
  bool balance = true;
  bool reorder = true;
  Precision precision = Precision::mixed;
  std::string pair_scheme = "auto";
  std::string machine;  // path, already relative to the working directory; empty: none
};

struct RunConfig {
  InputConfig input;
  InteractionsConfig interactions;
  PmeConfig pme;
  FftConfig fft;
  DynamicsConfig dynamics;
  OutputConfig output;
  ParallelConfig parallel;
};

}  // namespace tessera::app
