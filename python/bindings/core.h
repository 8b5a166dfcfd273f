// What fills the module tessera._core; core.cpp calls it. InputError arrives in Python as tessera._core.InputError.
#pragma once

#include <nanobind/nanobind.h>

/// Adds the readers of DL_POLY's HISTORY and CONFIG.
void register_history(nanobind::module_& module);
void register_config(nanobind::module_& module);

/// Adds the map of the machine, host orders and the choice of collectives. Values travel as JSON text, which Python
/// turns into its own.
void register_machine(nanobind::module_& module);

/// Adds chains of linker beads and cores of nucleosomes, and their sampling by Monte Carlo.
void register_fiber(nanobind::module_& module);

/// Adds plans of distributed transforms for any number of ranks, their messages, and the choice among them on the
/// machine of a map.
void register_fft_plans(nanobind::module_& module);

/// Adds the times of stencils on distributed grids, predicted for any number of ranks on the machine of a map.
void register_grid_plans(nanobind::module_& module);

/// Adds plans of how the engine would lay a system out over ranks, without a run.
void register_md_plans(nanobind::module_& module);

/// Adds the spreading of charges on a mesh by B-splines.
void register_mesh(nanobind::module_& module);

/// Adds the packed numbers of trajectories in segments.
void register_packing(nanobind::module_& module);
