#pragma once

#include <nanobind/nanobind.h>

/// DL_POLY's HISTORY.
void register_history(nanobind::module_& module);
