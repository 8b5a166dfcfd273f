// What fills the modules that are linked once for each MPI; module.cpp calls it for the module that the build names.
#pragma once

#include <nanobind/nanobind.h>

void register_fft(nanobind::module_& module);
void register_gpaw(nanobind::module_& module);
void register_grid(nanobind::module_& module);
void register_md(nanobind::module_& module);
void register_ranks(nanobind::module_& module);
