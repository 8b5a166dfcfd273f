#include "tessera/comm/mpi/placement/hosts.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "tessera/comm/communicator.h"
#include "tessera/machine/network_json.h"
#include "tessera/machine/survey/machine_file.h"

namespace tessera::comm::mpi {

std::vector<std::string> gather_names(const std::string& name, MPI_Comm comm) {
  int n = 0, longest = static_cast<int>(name.size());
  MPI_Comm_size(comm, &n);
  MPI_Allreduce(MPI_IN_PLACE, &longest, 1, MPI_INT, MPI_MAX, comm);
  const auto width = static_cast<std::size_t>(longest) + 1;
  std::string own = name, all(width * static_cast<std::size_t>(n), '\0');
  own.resize(width, '\0');
  MPI_Allgather(own.data(), longest + 1, MPI_CHAR, all.data(), longest + 1, MPI_CHAR, comm);
  std::vector<std::string> names;
  for (std::size_t at = 0; at < all.size(); at += width) names.emplace_back(all.c_str() + at);
  return names;
}

std::string agreed_text(const std::string& text, MPI_Comm comm) {
  int rank = 0, n = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &n);
  int speaker = text.empty() ? n : rank;
  MPI_Allreduce(MPI_IN_PLACE, &speaker, 1, MPI_INT, MPI_MIN, comm);
  if (speaker == n) return {};
  auto length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, speaker, comm);
  std::string agreed = text;
  agreed.resize(static_cast<std::size_t>(length));
  MPI_Bcast(agreed.data(), length, MPI_CHAR, speaker, comm);
  return agreed;
}

MapReading read_map(const std::string& path, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  MapReading reading;
  std::string network, fault;
  if (rank == 0) {
    try {
      auto file = machine::read_machine_file(path);
      network = machine::to_json(machine::network_of(file, path)).dump();
      reading.trials = machine::trials_of(std::move(file), Communicator::library_version());
    } catch (const std::exception& error) {
      fault = error.what();
    }
  }
  reading.warning = agreed_text(fault, comm);
  if (!reading.warning.empty()) {
    reading.warning += "; the MPI library's own collectives are used";
  } else {
    const auto json = nlohmann::json::parse(agreed_text(network, comm));
    reading.network = std::make_shared<const machine::Network>(machine::network_from_json(json, path));
  }
  return reading;
}

}  // namespace tessera::comm::mpi
