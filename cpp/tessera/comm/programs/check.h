// Collectives against the MPI library's own on random data.
#pragma once

#include <mpi.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tessera::comm::programs {

/// Runs every line of a file of cases (docs/reference/collectives.md) and says what came of them: number of cases,
/// failures, plans used, warnings. `map`: a map file for the cases that name no sample network; may be empty.
/// Collective; the result counts on rank 0. Throws InputError: a case that can't be read.
nlohmann::json check_cases(const std::string& path, const std::string& map, MPI_Comm comm);

/// Names of the entries that can do each operation with two ranks on each host of a switch, of reductions where the
/// operation commutes and where it does not.
nlohmann::json possible_entries(int n_ranks);

}  // namespace tessera::comm::programs
