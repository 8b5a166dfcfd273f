// Finds the launcher that started this process, by the environment that launchers give to their processes.
#pragma once

#include <optional>
#include <string>

namespace tessera::comm::mpi {

/// The processes of a job that a launcher started.
struct Launch {
  std::string launcher;  // for people
  int rank = 0, size = 1;
};

/// Returns the launch in which this MPI library took no part; `n_found` is the size of its world. There is none where
/// all is well, and where a launcher says that it started one process.
std::optional<Launch> missed_launch(int n_found);

/// Tells, before MPI starts, whether MPI would end the process itself, as an MPICH that has no PMIx does where Open
/// MPI's mpirun started it. `library_text` is that of MPI_Get_library_version.
bool can_not_start(const std::string& library_text);

/// Says what is wrong and how to mend it. `library` is the name and version of this MPI.
std::string text_of(const Launch& launch, const std::string& library);

}  // namespace tessera::comm::mpi
