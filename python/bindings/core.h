// What fills the module tessera._core; core.cpp calls it. InputError arrives in Python as tessera._core.InputError.
#pragma once

#include <nanobind/nanobind.h>

/// DL_POLY's HISTORY and CONFIG.
void register_history(nanobind::module_& module);
void register_config(nanobind::module_& module);

/// The map of the machine, host orders and the choice of collectives. Values travel as JSON text, which Python turns
/// into its own.
void register_machine(nanobind::module_& module);

/// Adds plans of distributed transforms for any number of ranks, their messages, and the choice among them on the
/// machine of a map.
void register_fft_plans(nanobind::module_& module);

/// Times of stencils on distributed grids, predicted for any number of ranks on the machine of a map.
void register_grid_plans(nanobind::module_& module);

/// How a system would be laid out over ranks by the engine: planned, not run.
void register_md_plans(nanobind::module_& module);

/// Packed numbers of trajectories in segments.
void register_packing(nanobind::module_& module);
