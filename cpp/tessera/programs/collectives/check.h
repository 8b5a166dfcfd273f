// Compares collectives with the MPI library's own on random data.
#pragma once

#include <mpi.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tessera::programs {

/// Runs every line of a file of cases (docs/reference/collectives.md) and returns the number of cases, failures, plans
/// used and warnings. `map` is a map file for the cases that name no sample network; it may be empty. The result is
/// valid on rank 0. Throws InputError for a case that can't be read. Collective.
nlohmann::json check_cases(const std::string& path, const std::string& map, MPI_Comm comm);

/// Returns the names of the entries that can do each operation with two ranks on each host of a switch; for reductions,
/// where the operation commutes and where it does not.
nlohmann::json possible_entries(int n_ranks);

}  // namespace tessera::programs
