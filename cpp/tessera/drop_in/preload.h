// What the files of the preloaded library share.
#pragma once

#include "tessera/drop_in/plans.h"

#pragma GCC visibility push(hidden)

typedef void (*function)(void);

extern const struct tessera_plans* plans;

// Returns a function of the next library in line; `caller` is an address in the module that calls. Null: there is none.
function next(const char* name, const void* caller);

// Finds the next function once, and keeps it.
function once(function* found, const char* name, const void* caller);

// Start and stop making plans: after MPI has started, before it ends.
void start(const void* caller);
void stop(void);

#pragma GCC visibility pop
