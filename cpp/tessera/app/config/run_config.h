// The settings of a run file as C++ values in internal units (ps, Å, K). The initial values here are the defaults.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/app/select/selections.h"
#include "tessera/base/time_schedule.h"
#include "tessera/md/constraint/groups.h"
#include "tessera/md/integrate/baths/settings.h"
#include "tessera/md/pair/functions.h"
#include "tessera/md/restraint/settings.h"

namespace tessera::app {

// A choice is an enumeration with its names in their order; those of the interactions are the engine's own.
using md::constraint::ConstraintMode;
using md::pair::Electrostatics, md::pair::LjModifier, md::pair::Precision;

using md::restraint::RestraintAxes, md::restraint::RestraintKind;

using md::integrate::Edges;

enum class Ensemble { nve, nvt, npt };
inline constexpr std::array<std::string_view, 3> ensemble_names = {"nve", "nvt", "npt"};
constexpr const auto& names_of(Ensemble) { return ensemble_names; }

/// Where a run's first velocities come from; `file` is where its coordinates come from.
enum class Velocities { automatic, generate, file, zero };
inline constexpr std::array<std::string_view, 4> velocities_names = {"auto", "generate", "file", "zero"};
constexpr const auto& names_of(Velocities) { return velocities_names; }

/// What messages and checkpoints call the trajectory of [output]; rows of [[output.selection]] have names of their own.
inline constexpr std::string_view main_trajectory = "trajectory";

// The formats of trajectories: of output.trajectory, which may be "none" too, and in the order of messages. The entry of
// NAME is NAME_format (trajectory/format.h).
#define TESSERA_TRAJECTORY_FORMATS(FORMAT) \
  FORMAT(segments)                         \
  FORMAT(dcd)                              \
  FORMAT(h5md)                             \
  FORMAT(xtc)                              \
  FORMAT(history)

#define TESSERA_NAME(format) #format,
inline constexpr std::string_view no_trajectory = "none";
inline constexpr std::array trajectory_names = {TESSERA_TRAJECTORY_FORMATS(TESSERA_NAME) "none"};
#undef TESSERA_NAME

/// The greatest number of ranks that write a trajectory in segments.
inline constexpr std::int64_t most_parts = 1024;

/// How the numbers of frames in segments are compressed. `rounded`: positions are rounded to a multiple of
/// output.precision, all else is exact.
enum class Compression { none, lossless, rounded };
inline constexpr std::array<std::string_view, 3> compression_names = {"none", "lossless", "rounded"};
constexpr const auto& names_of(Compression) { return compression_names; }

/// The order of the atoms of a frame: by their numbers, or as ranks own them.
enum class AtomOrder { sorted, owned };
inline constexpr std::array<std::string_view, 2> atom_order_names = {"sorted", "owned"};
constexpr const auto& names_of(AtomOrder) { return atom_order_names; }

enum class Progress { automatic, line, log, none };
inline constexpr std::array<std::string_view, 4> progress_names = {"auto", "line", "log", "none"};
constexpr const auto& names_of(Progress) { return progress_names; }

enum class StageKind { dynamics, minimize };
inline constexpr std::array<std::string_view, 2> stage_kind_names = {"dynamics", "minimize"};
constexpr const auto& names_of(StageKind) { return stage_kind_names; }

struct InputConfig {
  std::string system;  // path, already relative to the working directory
  std::string start;   // of a run's folder or a checkpoint, likewise; empty: the coordinates of the system file
};

struct InteractionsConfig {
  // Without a value they are "auto" and follow the source of the system (interactions.h).
  std::optional<double> cutoff;           // Å
  std::optional<double> switch_distance;  // Å
  std::optional<LjModifier> lj;
  std::optional<bool> lj_tail;
  Electrostatics electrostatics = Electrostatics::pme;
  double coulomb_switch = 0.0;  // Å
};

struct PmeConfig {
  std::int64_t order = 4;
  double cutoff = 0.0;   // Å; 0: that of the interactions
  double spacing = 1.1;  // Å
  double tolerance = 1e-5;
  double alpha = 0.0;  // Å⁻¹; 0: from the tolerance
  double lj_tolerance = 1e-3;
  double lj_alpha = 0.0;           // Å⁻¹; 0: from the tolerance
  std::vector<std::int64_t> grid;  // three, or empty: from the spacing
};

struct FftConfig {
  std::string scheme = "auto";
  std::string exchange = "auto";
};

struct DynamicsConfig {
  std::int64_t steps = 1000;
  double timestep = 0.002;  // ps
  std::string integrator = "velocity-verlet";
  Ensemble ensemble = Ensemble::nve;
  ConstraintMode constraints = ConstraintMode::h_bonds;
  double constraint_tolerance = 1e-10;
  TimeSchedule temperature = 300.0;  // K
  Velocities velocities = Velocities::automatic;
  std::int64_t seed = 1;
  std::int64_t com_removal_every = 100;
  double hydrogen_mass = 0;  // amu; 0: as the system file has it
  std::int64_t direct_every = 1;
  std::int64_t mesh_every = 1;
  std::string fixed;  // a selection; empty: no atom
  // Baths: used with ensemble = "nvt" or "npt".
  std::string thermostat = "bussi";
  double tau_t = 1.0;  // ps
  std::int64_t chain = 3;
  std::string barostat = "c-rescale";
  Edges edges = Edges::isotropic;
  TimeSchedule pressure = 1.0;      // bar
  double tau_p = 5.0;               // ps
  double compressibility = 4.5e-5;  // 1/bar
  double surface_tension = 0.0;     // bar nm
  std::int64_t coupling_every = 10;
  std::int64_t monte_carlo_every = 25;
};

/// A heat bath of some atoms.
struct BathConfig {
  std::string select;
  TimeSchedule temperature = 300.0;  // K
  double tau_t = 1.0;                // ps
};

struct RestraintConfig {
  RestraintKind kind = RestraintKind::position;
  TimeSchedule k = 1.0;   // kcal/mol/Å², kcal/mol/rad²
  std::string select;     // of positions: a selection
  std::string reference;  // path, already relative to the working directory; empty: where the run starts
  RestraintAxes axes = RestraintAxes::xyz;
  std::vector<std::string> groups;  // of the other kinds: selections
  TimeSchedule target = 0.0;        // Å, degrees
  double flat = 0;                  // Å, degrees
};

struct MinimizeConfig {
  double max_force = 10;  // kcal/mol/Å
  std::int64_t steps = 5000;
};

/// What a frame holds beside positions, and how its numbers are packed.
struct FrameContents {
  bool velocities = false, forces = false;
  Compression compression = Compression::none;
  double precision = 0.01;  // Å

  /// Counts the quantities of an atom, with its position.
  std::int64_t n_quantities() const { return 1 + (velocities ? 1 : 0) + (forces ? 1 : 0); }
};

/// Frames of some atoms, in segments of their own.
struct SelectionConfig : FrameContents {
  std::string name;
  std::string select;
  std::int64_t every = 0;
  double moved = 0;  // Å; 0: all atoms in each frame
};

struct OutputConfig : FrameContents {
  std::string folder = "output";  // path, already relative to the working directory
  bool overwrite = false;
  std::string trajectory = "segments";
  std::int64_t trajectory_every = 0;
  std::string select;           // the atoms of a frame; empty: all
  std::string method = "auto";  // of io::write; auto: chosen
  std::int64_t writers = 0;     // 0: chosen
  std::int64_t batch = 0;       // atoms; 0: chosen
  AtomOrder order = AtomOrder::sorted;
  std::int64_t energy_every = 100;
  std::int64_t checkpoint_every = 10000;
  double checkpoint_minutes = 0;
  bool wrap = true;
  bool black_box = true;
  std::int64_t imd = 0;                // port; 0: none
  std::string imd_host = "127.0.0.1";  // address of this host
  std::int64_t imd_every = 10;         // steps
  std::int64_t imd_version = 3;        // of the protocol
  std::string imd_select;              // the atoms of a frame; empty: all
  Progress progress = Progress::automatic;
  std::vector<SelectionConfig> selections;
};

/// Which atoms a rank has: those of its cells and of the cells around them, or all.
enum class DataMode { cells, replicated };
inline constexpr std::array<std::string_view, 2> data_mode_names = {"cells", "replicated"};
constexpr const auto& names_of(DataMode) { return data_mode_names; }

/// What computes forces; the automatic choice is the CPU as long as a GPU computes pairs alone.
enum class DeviceChoice { automatic, cpu, gpu };
inline constexpr std::array<std::string_view, 3> device_choice_names = {"auto", "cpu", "gpu"};
constexpr const auto& names_of(DeviceChoice) { return device_choice_names; }

/// What a run does when its GPU has failed.
enum class OnDeviceError { go_on, stop };
inline constexpr std::array<std::string_view, 2> on_device_error_names = {"continue", "stop"};
constexpr const auto& names_of(OnDeviceError) { return on_device_error_names; }

struct ParallelConfig {
  DataMode mode = DataMode::cells;
  std::int64_t threads = 1;
  std::int64_t pair_search_every = 40;
  double buffer = 2.8;  // Å
  std::optional<double> list_steps;
  bool balance = true;
  bool reorder = true;
  Precision precision = Precision::mixed;
  DeviceChoice device = DeviceChoice::automatic;
  OnDeviceError on_device_error = OnDeviceError::go_on;
  std::string machine;  // path, already relative to the working directory; empty: none
};

/// The keys that [[stage]] has of its own; its sections are in the configuration of the stage (stages/protocol.h).
struct StageConfig {
  std::string name;
  StageKind kind = StageKind::dynamics;
};

/// A key of earlier versions that a run file sets (removed_keys.h).
struct RemovedSetting {
  std::string place, value;  // "run.toml:3"
};

struct RunConfig {
  InputConfig input;
  InteractionsConfig interactions;
  PmeConfig pme;
  FftConfig fft;
  DynamicsConfig dynamics;
  std::vector<BathConfig> baths;
  std::vector<RestraintConfig> restraints;
  MinimizeConfig minimize;
  OutputConfig output;
  ParallelConfig parallel;
  std::vector<StageConfig> stages;  // of the file of a protocol; otherwise empty

  StageKind kind = StageKind::dynamics;           // of a stage; other runs are dynamics
  Selections selections;                          // the atoms of selections of MDAnalysis in the run file
  std::map<std::string, RemovedSetting> removed;  // by full name
};

}  // namespace tessera::app
