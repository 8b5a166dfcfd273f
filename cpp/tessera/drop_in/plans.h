// What the preloaded library (preload.c) calls in the library that it loads (plans.cpp).
#pragma once

#include "tessera/drop_in/prototypes.h"

#ifdef __cplusplus
extern "C" {
#endif

// An operation returns this instead of MPI's code where it did nothing: the MPI library is to carry it out.
#define TESSERA_LEFT (-1)

struct tessera_plans {
#define TESSERA_MEMBER(name, END, parameters, arguments) int(*name##END) parameters;
  TESSERA_OPERATIONS(TESSERA_MEMBER)
#undef TESSERA_MEMBER
  void (*note_split)(MPI_Comm whole,
                     MPI_Comm part);  // called by all ranks when the MPI library has divided a communicator
  void (*end_left)(void);  // called when the MPI library has carried out what was left to it; null where nobody asks
  void (*stop)(void);      // called before MPI ends
};

// Reads the environment and the map, on all ranks of the job after MPI has started. Returns null where nothing is to be
// done, after saying why on rank 0.
__attribute__((visibility("default"))) const struct tessera_plans* tessera_start_plans(void);

#ifdef __cplusplus
}
#endif
