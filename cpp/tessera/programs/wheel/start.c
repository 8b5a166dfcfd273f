// Starts a program of an installed package on the MPI library of this machine. The package is built for the binary
// interface of an MPI and holds none: this program looks for the library, loads it so that its symbols are seen by all,
// loads the module <own path>.so, which holds the program, and calls its main. TESSERA_LIBMPI names a library to take.
// No MPI function is called here.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Names under which the loader finds it, and folders in which it is looked for after that: absolute ones, or from the
// folder of this program, such as the lib of a Python environment.
static const char* const names[] = {TESSERA_MPI_NAMES};
static const char* const folders[] = {TESSERA_MPI_FOLDERS};
enum { n_names = sizeof names / sizeof *names, n_folders = sizeof folders / sizeof *folders, failure = 2 };

static void* load(const char* path) { return dlopen(path, RTLD_NOW | RTLD_GLOBAL); }

// Returns whether the MPI library could be loaded: that of TESSERA_LIBMPI, or the first that is found.
static int load_mpi(const char* program, const char* own_folder) {
  const char* chosen = getenv("TESSERA_LIBMPI");
  if (chosen != NULL && *chosen != '\0') {
    const char* end = strrchr(chosen, '/');
    if (strncmp(end == NULL ? chosen : end + 1, "libmpi_abi", strlen("libmpi_abi")) == 0) {
      fprintf(stderr, "tessera: error: TESSERA_LIBMPI names a libmpi_abi, but %s is built for the interface of %s\n", program,
              names[0]);
      return 0;
    }
    if (load(chosen) != NULL) return 1;
    fprintf(stderr, "tessera: error: TESSERA_LIBMPI: %s\n", dlerror());
    return 0;
  }
  for (int k = 0; k < n_names; ++k)
    if (load(names[k]) != NULL) return 1;
  for (int f = 0; f < n_folders; ++f)
    for (int k = 0; k < n_names; ++k) {
      char path[PATH_MAX * 2];
      snprintf(path, sizeof path, "%s%s%s/%s", *folders[f] == '/' ? "" : own_folder, *folders[f] == '/' ? "" : "/", folders[f],
               names[k]);
      if (load(path) != NULL) return 1;
    }
  fprintf(stderr, "tessera: error: %s needs the MPI library %s%s%s, which is not found; install it, load its module, or name its "
          "file in TESSERA_LIBMPI\n", program, names[0], n_names > 1 ? " or " : "", n_names > 1 ? names[1] : "");
  return 0;
}

int main(int argc, char** argv) {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof ".so");
  if (length <= 0) {
    perror("tessera: error: /proc/self/exe");
    return failure;
  }
  path[length] = '\0';
  char folder[PATH_MAX];
  memcpy(folder, path, sizeof folder);
  char* end = strrchr(folder, '/');
  *end = '\0';
  if (!load_mpi(end + 1, folder)) return failure;
  strcat(path, ".so");
  void* module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  int (*program)(int, char**) = NULL;
  if (module != NULL) *(void**)&program = dlsym(module, "main");
  if (program == NULL) {
    fprintf(stderr, "tessera: error: %s\n", dlerror());
    return failure;
  }
  return program(argc, argv);
}
