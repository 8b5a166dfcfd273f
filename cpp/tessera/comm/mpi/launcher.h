// Who started this process, by the environment that launchers give to what they start.
#pragma once

#include <optional>
#include <string>

namespace tessera::comm::mpi {

/// Processes that a launcher started side by side.
struct Launch {
  std::string launcher;  // for people
  int rank = 0, size = 1;
};

/// The launch in which this MPI library took no part: `n_found` is the size of its world. Absent where all is well, and
/// where a launcher says that it started one process.
std::optional<Launch> missed_launch(int n_found);

/// Before MPI starts: an MPICH that has no PMIx ends the process itself where Open MPI's mpirun started it.
/// `library_text`: of MPI_Get_library_version.
bool can_not_start(const std::string& library_text);

/// What is wrong and how to mend it. `library`: name and version of this MPI.
std::string text_of(const Launch& launch, const std::string& library);

}  // namespace tessera::comm::mpi
