#pragma once

#include <nanobind/nanobind.h>

/// The map of the machine, host orders and the choice of collectives. Values travel as JSON text, which Python turns
/// into its own; InputError arrives in Python as tessera._core.InputError.
void register_machine(nanobind::module_& module);
