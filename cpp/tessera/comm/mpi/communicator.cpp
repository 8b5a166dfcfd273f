// The backend over MPI; compiled once for each MPI library found.
#include "tessera/comm/mpi/communicator.h"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/comm/mpi/launcher.h"
#include "tessera/comm/mpi/native.h"

namespace tessera::comm {

namespace {

static_assert(sizeof(MPI_Request) <= sizeof(Request::handle));

constexpr int bulk_tag = 30000;
constexpr std::size_t largest_message = std::size_t{1} << 30;  // counts are int in MPI 3

MPI_Request to_mpi(const Request& request) {
  MPI_Request handle;
  std::memcpy(&handle, request.handle, sizeof handle);
  return handle;
}

Request from_mpi(MPI_Request handle) {
  Request request;
  std::memcpy(request.handle, &handle, sizeof handle);
  request.active = true;
  return request;
}

std::string library_text() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  return {text, static_cast<std::size_t>(length)};
}

/// Where another MPI's launcher started several processes, each of which is alone by this library: the launcher's first
/// says so, the others end, as there is no other way to say it once.
void refuse_launch() {
  const auto missed = mpi::missed_launch(1);
  if (!missed) return;
  if (missed->rank == 0) throw InputError(mpi::text_of(*missed, Communicator::library_version()));
  Communicator::finalize();
  std::_Exit(0);
}

/// Starts the pieces of one long message; both sides cut it alike.
template <class Start, class Byte>
void in_pieces(std::span<Byte> data, Start&& start) {
  for (std::size_t offset = 0; offset < data.size(); offset += largest_message)
    start(data.data() + offset, static_cast<int>(std::min(largest_message, data.size() - offset)));
}

}  // namespace

Communicator::Communicator(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

Communicator Communicator::world() {
  int started = 0;
  MPI_Initialized(&started);
  if (!started) {
    if (mpi::can_not_start(library_text())) refuse_launch();
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  }
  auto implementation = std::make_unique<Implementation>();
  implementation->comm = MPI_COMM_WORLD;
  MPI_Comm_rank(MPI_COMM_WORLD, &implementation->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &implementation->size);
  if (implementation->size == 1) refuse_launch();
  return Communicator(std::move(implementation));
}

Communicator Communicator::duplicate_of(int fortran_handle) {
  auto implementation = std::make_unique<Implementation>();
  MPI_Comm_dup(MPI_Comm_f2c(static_cast<MPI_Fint>(fortran_handle)), &implementation->comm);
  implementation->is_own = true;
  MPI_Comm_rank(implementation->comm, &implementation->rank);
  MPI_Comm_size(implementation->comm, &implementation->size);
  return Communicator(std::move(implementation));
}

void Communicator::finalize() {
  int started = 0, ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  if (started && !ended) MPI_Finalize();
}

void Communicator::abort(int status) {
  int started = 0;
  MPI_Initialized(&started);
  if (started) MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

std::string Communicator::library_version() {
  std::string version = library_text();
  version = version.substr(0, version.find_first_of(",\n"));
  std::replace(version.begin(), version.end(), '\t', ' ');
  while (!version.empty() && version.back() == ' ') version.pop_back();
  return version;
}

std::string Communicator::host() {
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  MPI_Get_processor_name(name, &length);
  return {name, static_cast<std::size_t>(length)};
}

int Communicator::rank() const { return implementation_->rank; }
int Communicator::size() const { return implementation_->size; }
void Communicator::barrier() const { MPI_Barrier(implementation_->comm); }

void Communicator::broadcast(std::span<std::byte> data, int root) const {
  in_pieces(data, [&](std::byte* piece, int count) { MPI_Bcast(piece, count, MPI_BYTE, root, implementation_->comm); });
}

namespace {

template <class Value>
void reduce_in_place(std::span<Value> values, MPI_Datatype type, MPI_Op operation, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), type, operation, comm);
}

}  // namespace

void Communicator::all_reduce_sum(std::span<std::int64_t> values) const {
  // Unsigned: the sum wraps around, which is defined and does not depend on the order.
  reduce_in_place(values, MPI_UINT64_T, MPI_SUM, implementation_->comm);
}
void Communicator::all_reduce_max(std::span<std::int64_t> values) const {
  reduce_in_place(values, MPI_INT64_T, MPI_MAX, implementation_->comm);
}
void Communicator::all_reduce_min(std::span<std::int64_t> values) const {
  reduce_in_place(values, MPI_INT64_T, MPI_MIN, implementation_->comm);
}
void Communicator::all_reduce_max(std::span<double> values) const {
  reduce_in_place(values, MPI_DOUBLE, MPI_MAX, implementation_->comm);
}
void Communicator::all_reduce_sum_for_report(std::span<double> values) const {
  reduce_in_place(values, MPI_DOUBLE, MPI_SUM, implementation_->comm);
}
Request Communicator::start_all_reduce_max(std::span<std::int64_t> values) const {
  MPI_Request handle;
  MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_INT64_T, MPI_MAX,
                 implementation_->comm, &handle);
  return from_mpi(handle);
}

Request Communicator::start_send(std::span<const std::byte> data, int destination, int tag) const {
  TESSERA_CHECK(data.size() <= largest_message);
  MPI_Request handle;
  MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_BYTE, destination, tag, implementation_->comm, &handle);
  return from_mpi(handle);
}

Request Communicator::start_receive(std::span<std::byte> data, int source, int tag) const {
  TESSERA_CHECK(data.size() <= largest_message);
  MPI_Request handle;
  MPI_Irecv(data.data(), static_cast<int>(data.size()), MPI_BYTE, source, tag, implementation_->comm, &handle);
  return from_mpi(handle);
}

void Communicator::wait_all(std::span<Request> requests) {
  std::vector<MPI_Request> handles;
  handles.reserve(requests.size());
  for (auto& request : requests)
    if (std::exchange(request.active, false)) handles.push_back(to_mpi(request));
  MPI_Waitall(static_cast<int>(handles.size()), handles.data(), MPI_STATUSES_IGNORE);
}

void Communicator::push(std::span<const Request> requests) {
  // Asking after one that is not done makes the library look after all of them.
  int done = 1;
  for (std::size_t i = 0; i < requests.size() && done != 0; ++i)
    MPI_Request_get_status(to_mpi(requests[i]), &done, MPI_STATUS_IGNORE);
}

std::vector<std::vector<std::byte>> Communicator::gather(std::span<const std::byte> data, int root) const {
  const MPI_Comm comm = implementation_->comm;
  const int rank = implementation_->rank, size = implementation_->size;
  const std::uint64_t mine = data.size();
  std::vector<std::uint64_t> counts(rank == root ? static_cast<std::size_t>(size) : 0);
  MPI_Gather(&mine, 1, MPI_UINT64_T, counts.data(), 1, MPI_UINT64_T, root, comm);
  std::vector<std::vector<std::byte>> gathered(counts.size());
  std::vector<MPI_Request> handles;
  const auto receive = [&](int source, std::byte* piece, int count) {
    MPI_Irecv(piece, count, MPI_BYTE, source, bulk_tag, comm, &handles.emplace_back());
  };
  if (rank == root) {
    for (int source = 0; source < size; ++source) {
      auto& block = gathered[static_cast<std::size_t>(source)];
      if (source == rank) {
        block.assign(data.begin(), data.end());
        continue;
      }
      block.resize(counts[static_cast<std::size_t>(source)]);
      in_pieces(std::span(block), [&](std::byte* piece, int count) { receive(source, piece, count); });
    }
  } else {
    in_pieces(data, [&](const std::byte* piece, int count) {
      MPI_Isend(piece, count, MPI_BYTE, root, bulk_tag, comm, &handles.emplace_back());
    });
  }
  MPI_Waitall(static_cast<int>(handles.size()), handles.data(), MPI_STATUSES_IGNORE);
  return gathered;
}

std::vector<std::vector<std::byte>> Communicator::all_gather(std::span<const std::byte> data) const {
  const std::vector<std::vector<std::byte>> outgoing(static_cast<std::size_t>(size()), {data.begin(), data.end()});
  return all_to_all(outgoing);
}

std::vector<std::vector<std::byte>> Communicator::all_to_all(
    const std::vector<std::vector<std::byte>>& outgoing) const {
  const MPI_Comm comm = implementation_->comm;
  const int rank = implementation_->rank, size = implementation_->size;
  TESSERA_CHECK(static_cast<int>(outgoing.size()) == size);
  const auto n = static_cast<std::size_t>(size);
  std::vector<std::uint64_t> send_counts(n), receive_counts(n);
  for (std::size_t r = 0; r < n; ++r) send_counts[r] = outgoing[r].size();
  MPI_Alltoall(send_counts.data(), 1, MPI_UINT64_T, receive_counts.data(), 1, MPI_UINT64_T, comm);
  std::vector<std::vector<std::byte>> incoming(n);
  std::vector<MPI_Request> handles;
  for (int step = 0; step < size; ++step) {
    const int source = (rank - step + size) % size, destination = (rank + step) % size;
    auto& block = incoming[static_cast<std::size_t>(source)];
    const auto& own = outgoing[static_cast<std::size_t>(destination)];
    if (step == 0) {
      block = own;
      continue;
    }
    block.resize(receive_counts[static_cast<std::size_t>(source)]);
    in_pieces(std::span(block), [&](std::byte* piece, int count) {
      MPI_Irecv(piece, count, MPI_BYTE, source, bulk_tag, comm, &handles.emplace_back());
    });
    in_pieces(std::span(own), [&](const std::byte* piece, int count) {
      MPI_Isend(piece, count, MPI_BYTE, destination, bulk_tag, comm, &handles.emplace_back());
    });
  }
  MPI_Waitall(static_cast<int>(handles.size()), handles.data(), MPI_STATUSES_IGNORE);
  return incoming;
}

void Communicator::all_to_all(const std::byte* outgoing, std::span<const std::int64_t> send_sizes,
                              std::span<const std::int64_t> send_offsets, std::byte* incoming,
                              std::span<const std::int64_t> receive_sizes,
                              std::span<const std::int64_t> receive_offsets) const {
  const int code =
      mpi::native::all_to_allv(outgoing, send_sizes.data(), send_offsets.data(), MPI_BYTE, incoming,
                               receive_sizes.data(), receive_offsets.data(), MPI_BYTE, implementation_->comm);
  TESSERA_CHECK(code == MPI_SUCCESS);
}

}  // namespace tessera::comm
