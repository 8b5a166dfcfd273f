// How a system would be laid out over ranks by the engine: planned, not run.
#pragma once

#include <nanobind/nanobind.h>

void register_md_plans(nanobind::module_& module);
