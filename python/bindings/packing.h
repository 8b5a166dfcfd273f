#pragma once

#include <nanobind/nanobind.h>

/// Packed numbers of trajectories in segments.
void register_packing(nanobind::module_& module);
