#pragma once

#include <nanobind/nanobind.h>

/// Plans of distributed transforms for any number of ranks, their messages, and the choice among them on the machine of
/// a map. InputError arrives in Python as tessera._core.InputError.
void register_fft_plans(nanobind::module_& module);
