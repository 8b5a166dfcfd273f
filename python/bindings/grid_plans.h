#pragma once

#include <nanobind/nanobind.h>

/// Times of stencils on distributed grids, predicted for any number of ranks on the machine of a map. InputError
/// arrives in Python as tessera._core.InputError.
void register_grid_plans(nanobind::module_& module);
