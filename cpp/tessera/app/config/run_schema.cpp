#include "tessera/app/config/baths.h"
#include "tessera/app/config/schema_builder.h"
#include "tessera/fft/exchange.h"
#include "tessera/fft/schemes.h"
#include "tessera/md/integrate/integrator.h"

namespace tessera::app {
namespace {

bool has_thermostat(const RunConfig& config) { return thermostat_of(config.dynamics) != nullptr; }
bool has_barostat(const RunConfig& config) { return barostat_of(config.dynamics) != nullptr; }
/// Tells whether this key is that of a bath which acts.
bool is_read(const RunConfig& config, std::string_view key) {
  const auto reads = [&](const auto* bath) { return bath != nullptr && bath->reads == key; };
  return reads(thermostat_of(config.dynamics)) || reads(barostat_of(config.dynamics));
}
/// Returns whether the chain's length must be in checkpoints: the usual one is not, as in checkpoints of earlier
/// versions.
bool has_other_chain(const RunConfig& config) {
  return is_read(config, "chain") && config.dynamics.chain != DynamicsConfig{}.chain;
}
bool tries_boxes(const RunConfig& config) { return is_read(config, "monte_carlo_every"); }
bool draws_noise(const RunConfig& config) { return has_noise(config.dynamics); }
bool minimizes(const RunConfig& config) { return config.kind == StageKind::minimize; }
bool has_fixed_atoms(const RunConfig& config) { return !config.dynamics.fixed.empty(); }
bool has_lj_mesh(const RunConfig& config) {
  return config.pme.lj_alpha > 0 || config.interactions.lj == LjModifier::pme;
}
bool has_mesh(const RunConfig& config) { return config.interactions.electrostatics == Electrostatics::pme; }

template <class Entries>
std::vector<std::string> names_in(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.emplace_back(entry.name);
  return names;
}

/// Describes what may be chosen: "bussi: stochastic velocity rescaling; …".
template <class Entries>
std::string described(const Entries& entries) {
  std::string text;
  for (const auto& entry : entries)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", entry.name, entry.description);
  return text;
}

std::vector<md::integrate::IntegratorEntry> offered_integrators() {
  std::vector<md::integrate::IntegratorEntry> offered;
  for (const auto& entry : md::integrate::integrators())
    if (entry.is_offered) offered.push_back(entry);
  return offered;
}

Schema make_run_schema() {
  Schema schema;

  auto input = add_section(schema, "input", "What is simulated.", &RunConfig::input);
  input.key("system", &InputConfig::system, "the system file (*.tsr); needed").path().must_be_given("\"system.tsr\"");
  input
      .key("start", &InputConfig::start,
           "a run's folder, or a checkpoint: a new run begins with the positions, velocities and box at its end; "
           "\"\": those of the system file")
      .path_or_none()
      .decides_start();

  auto interactions =
      add_section(schema, "interactions", "Forces between atoms that no bond joins.", &RunConfig::interactions);
  interactions
      .key("cutoff", &InteractionsConfig::cutoff,
           "cut-off of the direct interactions; auto: as the source of the system has it")
      .unit("Å")
      .above(0, 1e6)
      .decides_bits();
  interactions
      .key("switch", &InteractionsConfig::switch_distance,
           "where the switching of Lennard-Jones begins; auto: as far below the cut-off as the source has it, or 2 Å")
      .unit("Å")
      .range(0, 1e6)
      .decides_bits();
  interactions
      .key("lj", &InteractionsConfig::lj,
           "how Lennard-Jones goes to zero at the cut-off; auto: as the source of the system has it")
      .decides_bits();
  interactions
      .key("lj_tail", &InteractionsConfig::lj_tail,
           "add the mean energy and pressure of Lennard-Jones beyond the cut-off; auto: as the source of the system, "
           "false without a box")
      .decides_bits();
  interactions
      .key("electrostatics", &InteractionsConfig::electrostatics,
           "particle-mesh Ewald, or a cut-off with or without shift or switch")
      .decides_bits();
  interactions
      .key("coulomb_switch", &InteractionsConfig::coulomb_switch,
           "where the switching begins with electrostatics = \"force-switch\"")
      .unit("Å")
      .range(0, 1e6)
      .decides_bits();

  auto pme =
      add_section(schema, "pme", "Particle-mesh Ewald; of no effect with other electrostatics.", &RunConfig::pme);
  pme.key("order", &PmeConfig::order, "order of the B-splines").one_of({4, 6, 8}).decides_bits().used_where(has_mesh);
  pme.key("cutoff", &PmeConfig::cutoff,
          "cut-off of the direct sum, at least interactions.cutoff; 0: equal to it. A longer one allows a coarser grid")
      .unit("Å")
      .range(0, 1e6)
      .decides_bits()
      .used_where(has_mesh);
  pme.key("spacing", &PmeConfig::spacing, "greatest distance of grid points").unit("Å").range(0.1, 10);
  pme.key("tolerance", &PmeConfig::tolerance, "relative error of the direct sum at its cut-off, erfc(alpha·cutoff)")
      .above(0, 0.1);
  pme.key("alpha", &PmeConfig::alpha, "Ewald splitting parameter; 0: from the tolerance")
      .unit("1/Å")
      .range(0, 10)
      .decides_bits()
      .used_where(has_mesh);
  pme.key("lj_tolerance", &PmeConfig::lj_tolerance,
          "with interactions.lj = \"pme\": relative error of the dispersion at the cut-off")
      .range(1e-4, 0.1);
  pme.key("lj_alpha", &PmeConfig::lj_alpha,
          "Ewald splitting parameter with interactions.lj = \"pme\"; 0: from lj_tolerance")
      .unit("1/Å")
      .range(0, 10)
      .decides_bits()
      .used_where(has_lj_mesh);
  pme.key("grid", &PmeConfig::grid, "three numbers of grid points; []: from the spacing")
      .range(4, 65536)
      .decides_bits()
      .used_where(has_mesh);

  std::vector<std::string> layouts = {"auto", "trial"};
  for (const auto& scheme : fft::schemes()) layouts.emplace_back(scheme.name);
  std::vector<std::string> exchanges = {"auto"};
  exchanges.insert(exchanges.end(), fft::exchanges().begin(), fft::exchanges().end());
  auto transform =
      add_section(schema, "fft", "Transforms of the mesh; the result does not depend on it.", &RunConfig::fft);
  transform
      .key("scheme", &FftConfig::scheme,
           "how the mesh is laid out over ranks; auto: the one of least predicted time; trial: of least measured time, "
           "which is remembered")
      .one_of(std::move(layouts));
  transform
      .key("exchange", &FftConfig::exchange,
           "how parts of the mesh go between ranks; auto: pairwise, or collectives where parallel.machine predicts a "
           "gain")
      .one_of(std::move(exchanges));

  auto dynamics = add_section(schema, "dynamics", "How the atoms move.", &RunConfig::dynamics);
  dynamics.key("steps", &DynamicsConfig::steps, "number of steps, counted from the start of the first run")
      .range(0, any_count);
  dynamics.key("timestep", &DynamicsConfig::timestep, "length of a step").femtoseconds().above(0, 100).decides_bits();
  dynamics.key("integrator", &DynamicsConfig::integrator, described(offered_integrators()))
      .one_of(names_in(offered_integrators()))
      .decides_bits();
  dynamics
      .key("ensemble", &DynamicsConfig::ensemble,
           "nve: constant energy and box; nvt: constant temperature; npt: constant temperature and pressure")
      .decides_bits();
  dynamics
      .key("constraints", &DynamicsConfig::constraints,
           "bonds of fixed length; rigid waters are rigid unless this is none; h-bonds leaves bonds flexible that are "
           "so in the input of DL_POLY, GROMACS or OpenMM")
      .decides_bits();
  dynamics
      .key("constraint_tolerance", &DynamicsConfig::constraint_tolerance, "greatest relative error of a fixed length")
      .above(0, 1e-3)
      .decides_bits();
  dynamics
      .key("temperature", &DynamicsConfig::temperature,
           "temperature of generated velocities and of the heat bath; points: linear between them in time, then "
           "constant")
      .unit("K")
      .range(0, 1e6)
      .decides_start()
      .decides_bits_where(has_thermostat);
  dynamics
      .key("velocities", &DynamicsConfig::velocities,
           "where the first velocities come from; file: from input.start or the system file; auto: from there if it "
           "has any, else generated")
      .decides_start();
  dynamics.key("seed", &DynamicsConfig::seed, "seed of the random numbers")
      .range(0, any_count)
      .decides_start()
      .decides_bits_where(draws_noise);
  dynamics
      .key("com_removal_every", &DynamicsConfig::com_removal_every,
           "steps between removals of the motion of the centre of mass; 0: never")
      .range(0, any_count)
      .decides_bits();
  dynamics
      .key(
          "hydrogen_mass", &DynamicsConfig::hydrogen_mass,
          "hydrogens get this mass from the atoms they are bonded to, but for rigid waters; 3 allows steps of 4 fs; 0: "
          "as the system has it")
      .unit("amu")
      .range(0, 10)
      .decides_bits();
  dynamics
      .key("direct_every", &DynamicsConfig::direct_every,
           "steps from one action of the direct sum's forces to the next (r-RESPA); bonded forces act in every step")
      .range(1, 8)
      .decides_bits();
  dynamics
      .key("mesh_every", &DynamicsConfig::mesh_every,
           "steps from one action of the mesh's forces to the next, a multiple of direct_every; 1: as direct_every")
      .range(1, 16)
      .decides_bits()
      .used_where(has_mesh);
  dynamics
      .key("fixed", &DynamicsConfig::fixed,
           "atoms that do not move: a selection of MDAnalysis, \"index 0:99\" (ids, from 0) or \"bynum 1:100\" (from "
           "1); "
           "\"\": none")
      .selects_atoms()
      .decides_bits()
      .used_where(has_fixed_atoms);
  dynamics
      .key("thermostat", &DynamicsConfig::thermostat,
           "heat bath of nvt and npt; " + described(md::integrate::thermostats()))
      .one_of(names_in(md::integrate::thermostats()))
      .decides_bits()
      .used_where(has_thermostat);
  dynamics.key("tau_t", &DynamicsConfig::tau_t, "time in which the temperature follows that of the bath")
      .unit("ps")
      .above(0, 1e6)
      .decides_bits()
      .used_where(has_thermostat);
  dynamics
      .key(
          "chain", &DynamicsConfig::chain,
          "variables of a Nosé–Hoover chain, for thermostat = \"nose-hoover\"; 1: the equations of Nosé and Hoover, as "
          "in DL_POLY")
      .range(1, 3)
      .decides_bits()
      .used_where(has_other_chain);
  dynamics.key("barostat", &DynamicsConfig::barostat, "pressure bath of npt; " + described(md::integrate::barostats()))
      .one_of(names_in(md::integrate::barostats()))
      .decides_bits()
      .used_where(has_barostat);
  dynamics
      .key("coupling", &DynamicsConfig::edges,
           "which edges of the box change together; semi-isotropic: x and y; constant-area: z alone changes")
      .decides_bits()
      .used_where(has_barostat);
  dynamics
      .key("pressure", &DynamicsConfig::pressure,
           "target pressure of the barostat; points: linear between them in time, then constant")
      .unit("bar")
      .range(-1e6, 1e6)
      .decides_bits()
      .used_where(has_barostat);
  dynamics.key("tau_p", &DynamicsConfig::tau_p, "time in which the pressure follows that of the bath")
      .unit("ps")
      .above(0, 1e6)
      .decides_bits()
      .used_where(has_barostat);
  dynamics
      .key("compressibility", &DynamicsConfig::compressibility, "compressibility of the system, about; scales tau_p")
      .unit("1/bar")
      .above(0, 1)
      .decides_bits()
      .used_where(has_barostat);
  dynamics
      .key("surface_tension", &DynamicsConfig::surface_tension,
           "tension of all surfaces along x and y together; with coupling = \"semi-isotropic\"")
      .unit("bar nm")
      .range(-1e9, 1e9)
      .decides_bits()
      .used_where(has_barostat);
  dynamics.key("coupling_every", &DynamicsConfig::coupling_every, "steps between actions of the baths")
      .range(1, 10000)
      .decides_bits()
      .used_where(has_thermostat);
  dynamics
      .key("monte_carlo_every", &DynamicsConfig::monte_carlo_every,
           "steps between the trials of barostat = \"monte-carlo\"")
      .range(1, 10000)
      .decides_bits()
      .used_where(tries_boxes);

  auto bath = add_repeated_section(schema, "bath",
                                   "A heat bath of its own for some atoms, of the kind that dynamics.thermostat says. "
                                   "Where there are any, every atom is in one.",
                                   &RunConfig::baths);
  bath.key("select", &BathConfig::select, "the atoms, a selection as in dynamics.fixed, with whole hydrogen groups")
      .selects_atoms()
      .must_be_given("\"protein\"")
      .decides_bits();
  bath.key("temperature", &BathConfig::temperature, "temperature of the bath; points as in dynamics.temperature")
      .unit("K")
      .range(0, 1e6)
      .must_be_given("300.0")
      .decides_bits();
  bath.key("tau_t", &BathConfig::tau_t, "time in which the temperature of the atoms follows that of the bath")
      .unit("ps")
      .above(0, 1e6)
      .decides_bits();

  auto restraint = add_repeated_section(schema, "restraint",
                                        "A potential that holds atoms, or a quantity that groups of atoms have; its "
                                        "energy is the term restraint.",
                                        &RunConfig::restraints);
  restraint
      .key("kind", &RestraintConfig::kind,
           "what is held: each atom of select at its reference, the distance, angle or dihedral of the centres of mass "
           "of groups, or the root mean square deviation of select from its reference after superposition (rmsd)")
      .must_be_given("\"position\"")
      .decides_bits();
  restraint
      .key("k", &RestraintConfig::k,
           "force constant in E = k·d², without a factor ½; d is the distance from the reference or the difference "
           "from target")
      .unit("kcal/mol/Å² or kcal/mol/rad²")
      .range(0, 1e6)
      .must_be_given("1.0")
      .decides_bits();
  restraint
      .key("select", &RestraintConfig::select,
           "kind = \"position\" or \"rmsd\": the atoms, a selection as in dynamics.fixed")
      .selects_atoms()
      .decides_bits();
  restraint
      .key("reference", &RestraintConfig::reference,
           "kind = \"position\" or \"rmsd\": a system file, or with tessera run any file of coordinates, with the "
           "places; those of positions keep their fractions of the box when it changes; "
           "\"\": where the run starts")
      .path_or_none()
      .decides_start();
  restraint.key("axes", &RestraintConfig::axes, "kind = \"position\": the components that are held").decides_bits();
  restraint
      .key("groups", &RestraintConfig::groups,
           "distance, angle, dihedral: two, three or four selections, each of one atom or of a group smaller than half "
           "the box")
      .selects_atoms()
      .decides_bits();
  restraint
      .key("target", &RestraintConfig::target,
           "other kinds than position: the distance, angle, dihedral or deviation without force")
      .unit("Å or degrees")
      .range(-360, 1e6)
      .decides_bits();
  restraint.key("flat", &RestraintConfig::flat, "no force where d is less than this; beyond it, E = k·(d − flat)²")
      .unit("Å or degrees")
      .range(0, 1e6)
      .decides_bits();

  auto minimize = add_section(schema, "minimize", "When a stage of kind \"minimize\" ends; of no effect elsewhere.",
                              &RunConfig::minimize);
  minimize
      .key("max_force", &MinimizeConfig::max_force,
           "it has converged where the force on every atom, without what constraints take of it, is below this")
      .unit("kcal/mol/Å")
      .above(0, 1e9)
      .decides_bits()
      .used_where(minimizes);
  minimize
      .key("steps", &MinimizeConfig::steps,
           "moves that it tries at most, each with one calculation of the forces; then the protocol goes on with the "
           "lowest energy found")
      .range(1, any_count)
      .decides_bits()
      .used_where(minimizes);

  const auto add_precision = [](auto& section) {
    section
        .key("precision", &FrameContents::precision,
             "positions are rounded to multiples of it (compression = \"rounded\")")
        .unit("Å")
        .range(1e-6, 1);
  };
  auto output = add_section(schema, "output", "What is written, and how often.", &RunConfig::output);
  output.key("folder", &OutputConfig::folder, "where everything that the run writes goes").path();
  output.key(
      "overwrite", &OutputConfig::overwrite,
      "move the files of an earlier run into previous-1 (or -2, …) in that folder once step 1 is done; false: refuse");
  output.key("trajectory", &OutputConfig::trajectory, "format of the trajectory")
      .one_of(std::vector<std::string>(trajectory_names.begin(), trajectory_names.end()));
  output.key("trajectory_every", &OutputConfig::trajectory_every, "steps between frames; 0: no trajectory")
      .range(0, any_count);
  output
      .key(
          "select", &OutputConfig::select,
          "the atoms of the trajectory, for example \"protein\"; empty: all. tessera export --select writes a topology "
          "of them")
      .selects_atoms();
  output.key("velocities", &OutputConfig::velocities,
             "frames hold velocities too (trajectory = \"segments\", \"h5md\" or \"history\")");
  output.key("forces", &OutputConfig::forces, "frames hold forces too (trajectory = \"segments\" or \"history\")");
  output.key("compression", &OutputConfig::compression,
             "how frames in segments are compressed; lossless: exactly what was calculated; rounded: positions to "
             "output.precision");
  add_precision(output);
  output
      .key(
          "writers", &OutputConfig::writers,
          "ranks that write frames, at most all, or compress those of an XTC in turn (at most 8); 0: as many as frames "
          "of this size and the machine file suggest")
      .range(0, most_parts);
  output.key(
      "method", &OutputConfig::method,
      "how ranks write a frame (docs/guide/io.md): pdaw, mpiw-independent, mpiw-collective or sdaw for a HISTORY; "
      "others have one each: segments, pdaw for DCD and H5MD, sdaw for XTC; auto: as the machine file suggests");
  output
      .key("batch", &OutputConfig::batch,
           "atoms of a HISTORY that a rank sends or formats at a time; 0: as the machine file suggests")
      .range(0, 1'000'000'000);
  output.key(
      "order", &OutputConfig::order,
      "order of the atoms in a HISTORY: by number, or as ranks own them, which saves sending them (wrap = false)");
  output.key("energy_every", &OutputConfig::energy_every, "steps between rows of energy.csv; 0: none")
      .range(0, any_count);
  output.key("checkpoint_every", &OutputConfig::checkpoint_every, "steps between checkpoints; 0: at the end only")
      .range(0, any_count);
  output
      .key("checkpoint_minutes", &OutputConfig::checkpoint_minutes,
           "a checkpoint is written where none has been for so long, too; 0: by steps alone")
      .unit("min")
      .range(0, 1e6);
  output.key(
      "black_box", &OutputConfig::black_box,
      "true: the last good states stay in memory (64 bytes an atom), and a run that blows up leaves its last steps "
      "in folder/black_box and says what to try");
  output
      .key("imd", &OutputConfig::imd,
           "port at which programs may watch the run by the protocol IMD (docs/guide/watching.md); 0: none")
      .range(0, 65535);
  output.key("imd_host", &OutputConfig::imd_host,
             "address at which rank 0 listens for them; 0.0.0.0: whoever reaches the host may watch");
  output.key("imd_every", &OutputConfig::imd_every, "steps between their frames, unless they ask for another number")
      .range(1, any_count);
  output.key("imd_version", &OutputConfig::imd_version, "version of the protocol: 3, or 2 for VMD").range(2, 3);
  output.key("imd_select", &OutputConfig::imd_select, "the atoms of their frames, a selection as in output.select")
      .selects_atoms();
  output.key("wrap", &OutputConfig::wrap,
             "true: frames hold whole molecules, first atoms in the box; false: every atom in the box");
  output.key("progress", &OutputConfig::progress,
             "one line rewritten, a new line each minute, or none; auto: line on a terminal, else log");

  auto selection = add_repeated_section(
      schema, "output.selection", "Frames of some atoms at a rate of their own, in segments (folder/NAME.segments).",
      &OutputConfig::selections, [](auto& config) -> auto& { return config.output; });
  selection.key("name", &SelectionConfig::name, "name of the folder NAME.segments: letters, digits, - and _")
      .must_be_given("\"protein\"");
  selection.key("select", &SelectionConfig::select, "the atoms, a selection as in output.select")
      .selects_atoms()
      .must_be_given("\"protein\"");
  selection.key("every", &SelectionConfig::every, "steps between frames").range(1, any_count).must_be_given("1000");
  selection.key("velocities", &SelectionConfig::velocities, "frames hold velocities too");
  selection.key("forces", &SelectionConfig::forces, "frames hold forces too");
  selection.key("compression", &SelectionConfig::compression, "compression of the frames, as output.compression");
  add_precision(selection);
  selection
      .key("moved", &SelectionConfig::moved,
           "a frame holds only atoms that have moved further than this since they were written last, all in each 64th; "
           "0: all in each")
      .unit("Å")
      .range(0, 1000);

  auto parallel = add_section(schema, "parallel", "How the work is done; results do not depend on threads or ranks.",
                              &RunConfig::parallel);
  parallel.key(
      "mode", &ParallelConfig::mode,
      "cells: a rank has the atoms of its cells and of those around; replicated: it has all atoms, and sums an "
      "even share of the pairs; the result is the same");
  parallel.key("threads", &ParallelConfig::threads, "threads of each rank").range(1, 4096);
  parallel
      .key("pair_search_every", &ParallelConfig::pair_search_every,
           "greatest number of steps between searches, which sort atoms into cells")
      .range(1, 10000)
      .decides_bits();
  parallel
      .key("buffer", &ParallelConfig::buffer,
           "how far two atoms together may move between searches (Verlet buffer); more where cells have room for it")
      .unit("Å")
      .range(0, 100)
      .decides_bits();
  parallel
      .key("list_steps", &ParallelConfig::list_steps,
           "about how many steps a list of near pairs lasts; few: shorter lists, made more often; the result is the "
           "same; auto: 4, and 12 where a GPU sums pairs")
      .range(0, 100);
  parallel.key(
      "balance", &ParallelConfig::balance,
      "give cells to other ranks where some have more to do than others, in mode \"cells\"; the result is the same");
  parallel.key(
      "reorder", &ParallelConfig::reorder,
      "give neighbouring cells to ranks of one host, then of one subnet of the map, whatever their numbers; the "
      "result is the same");
  parallel
      .key("precision", &ParallelConfig::precision,
           "precision of the direct sum: single with exact accumulation, or double")
      .decides_bits();
  parallel.key(
      "device", &ParallelConfig::device,
      "gpu: pairs of atoms, bonded terms, and on one rank the mesh and whole steps, are computed on a GPU of NVIDIA, which ranks of a host take in turn, all else by the CPU; the result is the same. "
      "cpu: all by the CPU; auto: cpu, until whole steps run on a GPU");
  parallel.key("on_device_error", &ParallelConfig::on_device_error,
               "when a GPU fails during a run: continue by the CPU, with the same result, or stop with a checkpoint");
  parallel
      .key(
          "machine", &ParallelConfig::machine,
          "the map that tessera machine measure wrote, by which layout and collective operations are chosen; \"\": TESSERA_MACHINE of the "
          "environment, or no map")
      .path_or_none();

  auto stage = add_repeated_section(
      schema, "stage",
      "A part of a protocol, which starts from the end of the one above and writes into a folder of its own in "
      "output.folder. It has sections as this file does ([stage.dynamics], or dynamics.steps = …); a key that it does "
      "not set is as in the stage above, in the first one as outside of stages.",
      &RunConfig::stages);
  schema.sections.back().holds_sections = true;
  stage.key("name", &StageConfig::name, "name of the stage and its folder: letters, digits, - and _")
      .must_be_given("\"heat\"");
  stage.key("kind", &StageConfig::kind, "what the stage does: dynamics, or minimise the potential energy");
  return schema;
}

}  // namespace

const Schema& run_schema() {
  static const Schema schema = make_run_schema();
  return schema;
}

}  // namespace tessera::app
