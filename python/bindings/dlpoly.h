#pragma once

#include <nanobind/nanobind.h>

/// DL_POLY's HISTORY and CONFIG.
void register_history(nanobind::module_& module);
void register_config(nanobind::module_& module);
