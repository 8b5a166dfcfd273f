// Wrappers for Fortran. Those of Open MPI call PMPI_ functions, so that wrappers of C see nothing of a program in
// Fortran; those of MPICH and its relatives call MPI_ functions, and need none here.
#define _GNU_SOURCE
#include "tessera/drop_in/plans.h"
#include "tessera/drop_in/preload.h"

#ifdef OPEN_MPI
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

// Handles of Fortran are numbers.
static struct {
  MPI_Comm (*comm)(MPI_Fint);
  MPI_Datatype (*type)(MPI_Fint);
  MPI_Op (*op)(MPI_Fint);
  MPI_Info (*info)(MPI_Fint);
  MPI_Fint (*number_of)(MPI_Comm);
} handles;

// What Fortran passes for a constant of MPI is the address of a variable of this name.
enum { SPELLINGS = 4 };
#define TESSERA_SPELLED(lower, UPPER) \
  { "mpi_fortran_" lower "_", "mpi_fortran_" lower, "mpi_fortran_" lower "__", "MPI_FORTRAN_" UPPER }
struct constant {
  const char* names[SPELLINGS];
  const void* addresses[SPELLINGS];
};
static struct constant in_place = {TESSERA_SPELLED("in_place", "IN_PLACE"), {NULL}};
static struct constant bottom = {TESSERA_SPELLED("bottom", "BOTTOM"), {NULL}};
static struct constant unweighted = {TESSERA_SPELLED("unweighted", "UNWEIGHTED"), {NULL}};
static struct constant weights_empty = {TESSERA_SPELLED("weights_empty", "WEIGHTS_EMPTY"), {NULL}};

static void find_constant(struct constant* constant) {
  for (int i = 0; i < SPELLINGS; ++i) constant->addresses[i] = dlsym(RTLD_DEFAULT, constant->names[i]);
}

static int is(const void* address, const struct constant* constant) {
  for (int i = 0; i < SPELLINGS; ++i)
    if (address == constant->addresses[i] && address) return 1;
  return 0;
}

static void* buffer_of(void* address) {
  if (is(address, &in_place)) return MPI_IN_PLACE;
  return is(address, &bottom) ? MPI_BOTTOM : address;
}

static const int* weights_of(const MPI_Fint* address) {
  if (is(address, &unweighted)) return MPI_UNWEIGHTED;
  return is(address, &weights_empty) ? MPI_WEIGHTS_EMPTY : (const int*)address;
}

static int find_all(void) {
  const struct {
    const char* name;
    void* into;
  } needed[] = {{"PMPI_Comm_f2c", &handles.comm},
                {"PMPI_Type_f2c", &handles.type},
                {"PMPI_Op_f2c", &handles.op},
                {"PMPI_Info_f2c", &handles.info},
                {"PMPI_Comm_c2f", &handles.number_of}};
  int n_found = 0;
  for (size_t i = 0; i < sizeof needed / sizeof *needed; ++i) {
    void* found = dlsym(RTLD_DEFAULT, needed[i].name);
    memcpy(needed[i].into, &found, sizeof found);
    n_found += found != NULL;
  }
  find_constant(&in_place);
  find_constant(&bottom);
  find_constant(&unweighted);
  find_constant(&weights_empty);
  return n_found == sizeof needed / sizeof *needed && sizeof(MPI_Fint) == sizeof(int);
}

// Tells whether there are plans and arguments can be converted. Threads that ask at the same time find the same.
static int has_plans(void) {
  static int answer;
  if (!plans) return 0;
  int known = __atomic_load_n(&answer, __ATOMIC_ACQUIRE);
  if (known) return known > 0;
  known = find_all() ? 1 : -1;
  __atomic_store_n(&answer, known, __ATOMIC_RELEASE);
  return known > 0;
}

// All arguments come as addresses. What functions of C take, by the kind of the argument:
#define TESSERA_F(KIND, name) void* name
#define TESSERA_FROM(KIND, name) TESSERA_FROM_##KIND(name)
#define TESSERA_FROM_IN(name) buffer_of(name)
#define TESSERA_FROM_OUT(name) buffer_of(name)
#define TESSERA_FROM_NUMBER(name) (int)*(const MPI_Fint*)name
#define TESSERA_FROM_NUMBERS(name) (const int*)name
#define TESSERA_FROM_COUNT(name) TESSERA_FROM_NUMBER(name)
#define TESSERA_FROM_COUNTS(name) TESSERA_FROM_NUMBERS(name)
#define TESSERA_FROM_PLACES(name) TESSERA_FROM_NUMBERS(name)
#define TESSERA_FROM_FLAG(name) TESSERA_FROM_NUMBER(name)
#define TESSERA_FROM_FLAGS(name) TESSERA_FROM_NUMBERS(name)
#define TESSERA_FROM_WEIGHTS(name) weights_of(name)
#define TESSERA_FROM_TYPE(name) handles.type(TESSERA_FROM_NUMBER(name))
#define TESSERA_FROM_OP(name) handles.op(TESSERA_FROM_NUMBER(name))
#define TESSERA_FROM_COMM(name) handles.comm(TESSERA_FROM_NUMBER(name))
#define TESSERA_FROM_INFO(name) handles.info(TESSERA_FROM_NUMBER(name))
#define TESSERA_FROM_MADE(name) &comm_made

// The last argument of all is MPI's error code, which may be absent in the module mpi_f08: a null address. What is left
// to the MPI library goes to the function of the same spelling.
#define TESSERA_FORTRAN(spelling, name, GIVE)                                                               \
  void spelling(TESSERA_##name(TESSERA_F), MPI_Fint* error) {                                               \
    static function found;                                                                                  \
    MPI_Comm comm_made = NULL;                                                                              \
    const int code = has_plans() ? plans->name(TESSERA_##name(TESSERA_FROM)) : TESSERA_LEFT;                \
    if (code != TESSERA_LEFT) {                                                                             \
      if (comm_made) GIVE;                                                                                  \
      if (error) *error = code;                                                                             \
      return;                                                                                               \
    }                                                                                                       \
    ((void (*)(TESSERA_##name(TESSERA_F), MPI_Fint*))once(&found, #spelling, __builtin_return_address(0)))( \
        TESSERA_##name(TESSERA_NAME), error);                                                               \
    if (plans && plans->end_left) plans->end_left();                                                        \
  }

#define TESSERA_SPELLINGS(GIVE, name, lower, UPPER) \
  TESSERA_FORTRAN(mpi_##lower##_, name, GIVE)       \
  TESSERA_FORTRAN(mpi_##lower, name, GIVE)          \
  TESSERA_FORTRAN(mpi_##lower##__, name, GIVE)      \
  TESSERA_FORTRAN(MPI_##UPPER, name, GIVE)          \
  TESSERA_FORTRAN(mpi_##lower##_f08_, name, GIVE)
#define TESSERA_GIVE_NOTHING (void)0
#define TESSERA_GIVE_COMM *(MPI_Fint*)made = handles.number_of(comm_made)
TESSERA_BARRIERS(TESSERA_SPELLINGS, TESSERA_GIVE_NOTHING)
TESSERA_COUNTED(TESSERA_SPELLINGS, TESSERA_GIVE_NOTHING)
TESSERA_TOPOLOGIES(TESSERA_SPELLINGS, TESSERA_GIVE_COMM)

// What divides communicators is the MPI library's; it is noted what came of it.
#define TESSERA_FORTRAN_SPLIT(spelling, name)                                                                    \
  void spelling(TESSERA_##name(TESSERA_F), MPI_Fint* error) {                                                    \
    static function found;                                                                                       \
    MPI_Fint code = MPI_SUCCESS;                                                                                 \
    ((void (*)(TESSERA_##name(TESSERA_F), MPI_Fint*))once(&found, #spelling, __builtin_return_address(0)))(      \
        TESSERA_##name(TESSERA_NAME), &code);                                                                    \
    if (code == MPI_SUCCESS && has_plans()) plans->note_split(TESSERA_FROM_COMM(comm), TESSERA_FROM_COMM(made)); \
    if (error) *error = code;                                                                                    \
  }
#define TESSERA_SPLIT_SPELLINGS(WRAP, name, lower, UPPER) \
  TESSERA_FORTRAN_SPLIT(mpi_##lower##_, name)             \
  TESSERA_FORTRAN_SPLIT(mpi_##lower, name)                \
  TESSERA_FORTRAN_SPLIT(mpi_##lower##__, name)            \
  TESSERA_FORTRAN_SPLIT(MPI_##UPPER, name)                \
  TESSERA_FORTRAN_SPLIT(mpi_##lower##_f08_, name)
TESSERA_SPLITS(TESSERA_SPLIT_SPELLINGS, )

#define TESSERA_BEGIN_AND_END(init, init_thread, finalize)                                                \
  void init(MPI_Fint* error) {                                                                            \
    static function found;                                                                                \
    MPI_Fint code = MPI_SUCCESS;                                                                          \
    ((void (*)(MPI_Fint*))once(&found, #init, __builtin_return_address(0)))(&code);                       \
    if (code == MPI_SUCCESS) start(__builtin_return_address(0));                                          \
    if (error) *error = code;                                                                             \
  }                                                                                                       \
  void init_thread(MPI_Fint* required, MPI_Fint* provided, MPI_Fint* error) {                             \
    static function found;                                                                                \
    MPI_Fint code = MPI_SUCCESS;                                                                          \
    ((void (*)(MPI_Fint*, MPI_Fint*, MPI_Fint*))once(&found, #init_thread, __builtin_return_address(0)))( \
        required, provided, &code);                                                                       \
    if (code == MPI_SUCCESS) start(__builtin_return_address(0));                                          \
    if (error) *error = code;                                                                             \
  }                                                                                                       \
  void finalize(MPI_Fint* error) {                                                                        \
    static function found;                                                                                \
    stop();                                                                                               \
    ((void (*)(MPI_Fint*))once(&found, #finalize, __builtin_return_address(0)))(error);                   \
  }
TESSERA_BEGIN_AND_END(mpi_init_, mpi_init_thread_, mpi_finalize_)
TESSERA_BEGIN_AND_END(mpi_init, mpi_init_thread, mpi_finalize)
TESSERA_BEGIN_AND_END(mpi_init__, mpi_init_thread__, mpi_finalize__)
TESSERA_BEGIN_AND_END(MPI_INIT, MPI_INIT_THREAD, MPI_FINALIZE)
TESSERA_BEGIN_AND_END(mpi_init_f08_, mpi_init_thread_f08_, mpi_finalize_f08_)
#endif
