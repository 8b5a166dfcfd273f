// What the files of the preloaded library share.
#pragma once

#pragma GCC visibility push(hidden)

typedef void (*function)(void);

struct tessera_plans;
extern const struct tessera_plans* plans;

// Finds a function of the next library in line once, and keeps it; `caller` is an address in the module that calls.
function once(function* found, const char* name, const void* caller);

// Starts making plans, in a program whose `caller` has just started MPI; nothing where plans are made already.
void start(const void* caller);

// Stops making plans, before MPI ends.
void stop(void);

#pragma GCC visibility pop
