// A Python module of one part on one MPI: the build gives its name, and which function of module.h fills it.
#include "module.h"

NB_MODULE(TESSERA_MODULE, module) { TESSERA_REGISTER(module); }
