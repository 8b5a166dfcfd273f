#include "tessera/comm/mpi/launcher.h"

#include <fmt/format.h>

#include <cstdlib>

namespace tessera::comm::mpi {
namespace {

struct Variables {
  const char *launcher, *size, *rank;
};

constexpr Variables of_open_mpi{"mpirun of Open MPI", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"};
constexpr Variables of_pmi{"mpirun of MPICH (or another launcher with PMI)", "PMI_SIZE", "PMI_RANK"};
constexpr Variables of_slurm{"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"};

std::optional<int> number(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::optional(std::atoi(text)) : std::nullopt;
}

}  // namespace

std::optional<Launch> missed_launch(int n_found) {
  if (n_found > 1) return std::nullopt;
  std::optional<Launch> missed;
  for (const auto& variables : {of_open_mpi, of_pmi, of_slurm}) {
    const auto size = number(variables.size);
    if (!size) continue;
    if (*size <= 1) return std::nullopt;  // of several, one inside another, this process belongs to the smallest
    if (!missed) missed = Launch{variables.launcher, number(variables.rank).value_or(0), *size};
  }
  return missed;
}

bool can_not_start(const std::string& library_text) {
  return library_text.starts_with("MPICH") && library_text.find("pmix") == std::string::npos &&
         number(of_open_mpi.size).value_or(1) > 1 && !number(of_pmi.rank);
}

std::string text_of(const Launch& launch, const std::string& library) {
  return fmt::format(
      "{} started {} processes, but this program was built for {}, whose ranks can't find each other there; start it "
      "with the mpirun of that MPI, or start the program that was built for the other",
      launch.launcher, launch.size, library);
}

}  // namespace tessera::comm::mpi
