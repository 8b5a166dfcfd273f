// The library that is preloaded. It is loaded into every program of a job, also into shells and launchers, so it needs
// nothing but libc: it refers to no symbol of an MPI library, and loads what does (plans.cpp) when the program starts
// the MPI that this file was compiled for.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

#include "tessera/drop_in/preload.h"

#ifdef OPEN_MPI
#define LIBRARY "openmpi"
static const char* const beginnings[] = {"Open MPI", NULL};
#else
#define LIBRARY "mpich"
static const char* const beginnings[] = {"MPICH", "Intel(R) MPI", "MVAPICH", "CRAY MPICH", NULL};
#endif

// Returns a function of the next library in line, as profilers do, so that those behind this one see the call. A module
// that was loaded with its MPI library for itself alone, as Python does, is asked for its own.
static function next(const char* name, const void* caller) {
  void* found = dlsym(RTLD_NEXT, name);
  Dl_info module;
  if (!found && dladdr(caller, &module)) {
    void* handle = dlopen(module.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle) {
      found = dlsym(handle, name);
      dlclose(handle);
    }
  }
  function result;
  memcpy(&result, &found, sizeof result);
  return result;
}

// Finds the next function once. Threads that do this at the same time find the same.
function once(function* found, const char* name, const void* caller) {
  function known = __atomic_load_n(found, __ATOMIC_RELAXED);
  if (known) return known;
  known = next(name, caller);
  if (!known) {
    dprintf(STDERR_FILENO, "tessera-collectives: error: this program's MPI library has no %s\n", name);
    abort();
  }
  __atomic_store_n(found, known, __ATOMIC_RELAXED);
  return known;
}

// Tells whether this process is the first of its job, as far as launchers say so in its environment.
static int may_speak(void) {
  static const char* const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", NULL};
  for (const char* const* name = names; *name; ++name) {
    const char* rank = getenv(*name);
    if (rank) return strcmp(rank, "0") == 0;
  }
  return 1;
}

static void say(const char* what, const char* of) {
  if (may_speak()) dprintf(STDERR_FILENO, "tessera-collectives: note: %s%s\n", what, of);
}

// Tells whether all ranks of the job may make plans. A rank that has not preloaded this library would be waited for in
// vain, so that is said after a while.
static int may_all(int may, const void* caller) {
#ifdef OPEN_MPI
  const MPI_Comm world = (MPI_Comm)dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
  const MPI_Datatype integer = (MPI_Datatype)dlsym(RTLD_DEFAULT, "ompi_mpi_int");
  const MPI_Op least = (MPI_Op)dlsym(RTLD_DEFAULT, "ompi_mpi_op_min");
  if (!world || !integer || !least) return 0;
#else
  const MPI_Comm world = MPI_COMM_WORLD;
  const MPI_Datatype integer = MPI_INT;
  const MPI_Op least = MPI_MIN;
#endif
  typedef int (*reduction)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*);
  typedef int (*question)(MPI_Request*, int*, MPI_Status*);
  const reduction reduce = (reduction)next("PMPI_Iallreduce", caller);
  const question test = (question)next("PMPI_Test", caller);
  if (!reduce || !test) return 0;
  MPI_Request request;
  int may_they = 0, is_done = 0;
  reduce(&may, &may_they, 1, integer, least, world, &request);
  const time_t begin = time(NULL);
  for (int is_said = 0; !is_done;) {
    test(&request, &is_done, MPI_STATUS_IGNORE);
    if (is_done || time(NULL) - begin < 10) continue;
    if (!is_said)
      say("waiting for ranks without this library: pass LD_PRELOAD on (Open MPI: mpirun -x LD_PRELOAD)", "");
    is_said = 1;
    usleep(1000);
  }
  return may_they;
}

// From here on handles, which are ints in MPICH and pointers in Open MPI, are as wide as the wider: what is handed on
// suits the MPI library that the program runs, even if it is not the one that this file was compiled for.
typedef void* handle;
#define MPI_Comm handle
#define MPI_Datatype handle
#define MPI_Op handle
#define MPI_Info handle
#define MPI_Group handle
#include "tessera/drop_in/plans.h"

const struct tessera_plans* plans;  // null before MPI starts, after it ends, and where nothing is done

// Tells whether a module is a program of Tessera, or one of its Python modules. These choose by themselves.
static int is_ours(const char* path) {
  const char* name = strrchr(path, '/');
  if (!name) return strncmp(path, "tessera-", 8) == 0;
  return strncmp(name + 1, "tessera-", 8) == 0 ||
         (name[1] == '_' && name - path >= 8 && !strncmp(name - 8, "/tessera", 8));
}

// Tells whether the program runs the MPI that this library is for. MPICH also has libmpi_abi, which takes other handles.
static int is_our_mpi(const void* caller, const char* name_of_file) {
  char text[8192] = "";
  int length = 0;
  const function version = next("PMPI_Get_library_version", caller);
  if (!version || strncmp(name_of_file, "libmpi_abi", 10) == 0) return 0;
  ((int (*)(char*, int*))version)(text, &length);
  for (const char* const* beginning = beginnings; *beginning; ++beginning)
    if (strncmp(text, *beginning, strlen(*beginning)) == 0) return 1;
  return 0;
}

// Loads the library with the plans, which lies beside this one.
static void* load_plans(void) {
  Dl_info self;
  char path[PATH_MAX];
  if (!dladdr(&plans, &self)) return NULL;
  const char* name = strrchr(self.dli_fname, '/');
  const int folder = name ? (int)(name - self.dli_fname) : 1;
  snprintf(path, sizeof path, "%.*s/libtessera-plans-" LIBRARY ".so", folder, name ? self.dli_fname : ".");
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

// Starts making plans, in a program whose `caller` has just started MPI.
void start(const void* caller) {
  Dl_info module, mpi;
  const function own = next("PMPI_Init", caller);
  const void* address;
  memcpy(&address, &own, sizeof address);
  if (plans || !own || !dladdr(address, &mpi)) return;
  const char* off = getenv("TESSERA_OFF");
  int may = !(off && *off && strcmp(off, "0") != 0) && !(dladdr(caller, &module) && is_ours(module.dli_fname));
  const char* slash = strrchr(mpi.dli_fname, '/');
  const char* name_of_file = slash ? slash + 1 : mpi.dli_fname;
  if (!is_our_mpi(caller, name_of_file)) {
    if (may)
      say("nothing is done, as this library is for " LIBRARY " and the program runs another MPI: ", name_of_file);
    return;
  }
  // From here on everybody finds the program's MPI library, whichever module loaded it, and whatever its file is called.
  dlopen(mpi.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  void* library = may ? load_plans() : NULL;
  if (may && !library) {
    const char* why = dlerror();
    say("nothing is done: ", why ? why : "the library with the plans is not found");
    may = 0;
  }
  if (!may_all(may, caller)) {
    if (may) say("nothing is done, as other ranks of the job do without", "");
    return;
  }
  void* found = dlsym(library, "tessera_start_plans");
  const struct tessera_plans* (*start_plans)(void);
  memcpy(&start_plans, &found, sizeof start_plans);
  plans = start_plans();
}

int MPI_Init(int* argc, char*** argv) {
  static function found;
  const int code = ((int (*)(int*, char***))once(&found, "MPI_Init", __builtin_return_address(0)))(argc, argv);
  if (code == MPI_SUCCESS) start(__builtin_return_address(0));
  return code;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  static function found;
  const int code = ((int (*)(int*, char***, int, int*))once(&found, "MPI_Init_thread", __builtin_return_address(0)))(
      argc, argv, required, provided);
  if (code == MPI_SUCCESS) start(__builtin_return_address(0));
  return code;
}

void stop(void) {
  if (plans) plans->stop();
  plans = NULL;
}

int MPI_Finalize(void) {
  static function found;
  stop();
  return ((int (*)(void))once(&found, "MPI_Finalize", __builtin_return_address(0)))();
}

#define TESSERA_DEFINE(name, END, parameters, arguments)                                                         \
  int take_##name##END parameters __asm__("MPI_" #name #END);                                                    \
  int take_##name##END parameters {                                                                              \
    static function found;                                                                                       \
    if (plans) {                                                                                                 \
      const int code = plans->name##END arguments;                                                               \
      if (code != TESSERA_LEFT) return code;                                                                     \
    }                                                                                                            \
    const int code = ((int(*) parameters)once(&found, "MPI_" #name #END, __builtin_return_address(0)))arguments; \
    if (plans && plans->end_left) plans->end_left();                                                             \
    return code;                                                                                                 \
  }
TESSERA_OPERATIONS(TESSERA_DEFINE)

#define TESSERA_DEFINE_SPLIT(name, END, parameters, arguments)                                              \
  int take_##name parameters __asm__("MPI_" #name);                                                         \
  int take_##name parameters {                                                                              \
    static function found;                                                                                  \
    const int code = ((int(*) parameters)once(&found, "MPI_" #name, __builtin_return_address(0)))arguments; \
    if (plans && code == MPI_SUCCESS) plans->note_split(comm, *made);                                       \
    return code;                                                                                            \
  }
TESSERA_SPLITS(TESSERA_SMALL_ROW, TESSERA_DEFINE_SPLIT)
