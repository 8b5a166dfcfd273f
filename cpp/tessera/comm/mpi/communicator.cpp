// The backend over MPI is compiled once for each MPI library that is found.
#include "tessera/comm/mpi/communicator.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/comm/job.h"
#include "tessera/comm/mpi/launcher.h"
#include "tessera/comm/mpi/placement/hosts.h"
#include "tessera/comm/pieces.h"

namespace tessera::comm {

namespace {

static_assert(sizeof(MPI_Request) <= sizeof(Request::handle));

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

/// Ends the job because of an error in MPI, of which the usual cause is that another rank has died. The launcher is given
/// time to learn of the death and end the job itself: it knows by which signal, and its exit status says so.
void end_after_error(MPI_Comm* comm, int* code, ...) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0, rank = 0, size = 1;
  MPI_Error_string(*code, text, &length);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(*comm, &size);
  if (size > 1) std::this_thread::sleep_for(std::chrono::seconds(5));
  fmt::print(stderr, "tessera: error: rank {}: a message failed, as another rank or the network is gone: {}\n", rank,
             printable({text, static_cast<std::size_t>(length)}));
  std::fflush(stderr);
  Communicator::abort(70);
}

/// Refuses a launch by another MPI's launcher, which started several processes, each of which is alone by this library:
/// the launcher's first process says so and the others end, as there is no other means to say it once.
void refuse_launch() {
  const auto missed = mpi::missed_launch(1);
  if (!missed) return;
  if (missed->rank == 0) throw InputError(mpi::text_of(*missed, Communicator::library_version()));
  Communicator::finalize();
  std::_Exit(0);
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
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(end_after_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  }
  auto implementation = std::make_unique<Implementation>(MPI_COMM_WORLD, false);
  if (implementation->size == 1) refuse_launch();
  return Communicator(std::move(implementation));
}

Communicator Communicator::duplicate_of(int fortran_handle) {
  MPI_Comm duplicate = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_Comm_f2c(static_cast<MPI_Fint>(fortran_handle)), &duplicate);
  return Communicator(std::make_unique<Implementation>(duplicate, true));
}

Communicator Communicator::duplicate_at(const void* address) {
  MPI_Comm duplicate = MPI_COMM_NULL;
  MPI_Comm_dup(*static_cast<const MPI_Comm*>(address), &duplicate);
  return Communicator(std::make_unique<Implementation>(duplicate, true));
}

Communicator Communicator::alone() { return Communicator(std::make_unique<Implementation>(MPI_COMM_SELF, false)); }

bool Communicator::is_congruent(const void* address) const {
  int relation = MPI_UNEQUAL;
  MPI_Comm_compare(implementation_->comm, *static_cast<const MPI_Comm*>(address), &relation);
  return relation == MPI_IDENT || relation == MPI_CONGRUENT;
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

bool Communicator::all_threads_may_communicate() {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  return provided == MPI_THREAD_MULTIPLE;
}

std::string Communicator::host() {
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  MPI_Get_processor_name(name, &length);
  return {name, static_cast<std::size_t>(length)};
}

int Communicator::rank() const { return implementation_->rank; }
int Communicator::size() const { return implementation_->size; }

std::string Communicator::follow(const std::shared_ptr<const machine::Network>& network, Following how) {
  auto& collectives = implementation_->collectives;
  if (!network) {
    collectives = std::make_unique<mpi::Collectives>(implementation_->comm);
    return {};
  }
  mpi::CollectiveSettings settings;
  settings.only = std::move(how.entry);
  settings.trials = std::move(how.trials);
  settings.library_calls = how.library_calls;
  const mpi::Placement placement(implementation_->comm, network, {}, how.seconds_for_traffic);
  collectives = std::make_unique<mpi::Collectives>(implementation_->comm, placement, std::move(settings));
  return placement.warning();
}

std::string Communicator::follow_map(const std::string& machine_file, double seconds_for_traffic) {
  if (machine_file.empty() || size() == 1) return follow(nullptr);
  if (size() > collectives::most_ranks_to_choose_for) {
    follow(nullptr);
    return fmt::format("{}: plans are chosen for at most {} ranks; the MPI library's own collectives are used",
                       machine_file, collectives::most_ranks_to_choose_for);
  }
  auto [network, trials, warning] = mpi::read_map(machine_file, implementation_->comm);
  const auto unused = follow(
      network, {.trials = std::move(trials), .library_calls = seldom, .seconds_for_traffic = seconds_for_traffic});
  return warning.empty() ? unused : warning;
}

std::vector<PlanUse> Communicator::plans_used() const { return implementation_->collectives->uses(); }

namespace {

void check(int code) { TESSERA_CHECK(code == MPI_SUCCESS); }

std::int64_t size_of(std::span<const std::byte> data) { return static_cast<std::int64_t>(data.size()); }

template <class Value>
void reduce_in_place(std::span<Value> values, MPI_Datatype type, MPI_Op operation, mpi::Collectives& collectives) {
  const auto count = static_cast<std::int64_t>(values.size());
  check(collectives.all_reduce(MPI_IN_PLACE, values.data(), count, type, operation));
}

}  // namespace

void Communicator::barrier() const { check(implementation_->collectives->barrier()); }

void Communicator::broadcast(std::span<std::byte> data, int root) const {
  in_pieces(data, [&](auto piece) {
    check(implementation_->collectives->broadcast(piece.data(), size_of(piece), MPI_BYTE, root));
  });
}

void Communicator::all_reduce_sum(std::span<std::int64_t> values) const {
  // Unsigned: the sum wraps around, which is defined and does not depend on the order.
  reduce_in_place(values, MPI_UINT64_T, MPI_SUM, *implementation_->collectives);
}
void Communicator::all_reduce_max(std::span<std::int64_t> values) const {
  reduce_in_place(values, MPI_INT64_T, MPI_MAX, *implementation_->collectives);
}
void Communicator::all_reduce_min(std::span<std::int64_t> values) const {
  reduce_in_place(values, MPI_INT64_T, MPI_MIN, *implementation_->collectives);
}
void Communicator::all_reduce_max(std::span<double> values) const {
  reduce_in_place(values, MPI_DOUBLE, MPI_MAX, *implementation_->collectives);
}
void Communicator::all_reduce_sum_for_report(std::span<double> values) const {
  reduce_in_place(values, MPI_DOUBLE, MPI_SUM, *implementation_->collectives);
}
void Communicator::all_reduce_rounded_sum(std::span<double> values) const {
  auto& collectives = *implementation_->collectives;
  const auto count = static_cast<std::int64_t>(values.size());
  const bool has_result = is_root();
  check(collectives.reduce(has_result ? MPI_IN_PLACE : values.data(), has_result ? values.data() : nullptr, count,
                           MPI_DOUBLE, MPI_SUM, 0));
  check(collectives.broadcast(values.data(), count, MPI_DOUBLE, 0));
}
Request Communicator::start_all_reduce_max(std::span<std::int64_t> values) const {
  MPI_Request handle;
  check(implementation_->collectives->start_all_reduce(values.data(), static_cast<std::int64_t>(values.size()),
                                                       MPI_INT64_T, MPI_MAX, &handle));
  return from_mpi(handle);
}

void Communicator::gather(std::span<const std::byte> block, std::span<std::byte> all, int root) const {
  const auto size = size_of(block);
  check(implementation_->collectives->gather(block.data(), size, MPI_BYTE, all.data(), size, MPI_BYTE, root));
}

void Communicator::all_gather(std::span<const std::byte> block, std::span<const std::int64_t> sizes,
                              std::span<std::byte> all) const {
  std::vector<std::int64_t> offsets;
  std::int64_t total = 0;
  for (const auto size : sizes) {
    offsets.push_back(total);
    total += size;
  }
  check(implementation_->collectives->all_gatherv(block.data(), size_of(block), MPI_BYTE, all.data(), sizes.data(),
                                                  offsets.data(), MPI_BYTE));
}

void Communicator::reduce_scatter_sum(std::span<const std::int64_t> values, std::span<const std::int64_t> sizes,
                                      std::span<std::int64_t> own) const {
  check(implementation_->collectives->reduce_scatter(values.data(), own.data(), sizes.data(), MPI_UINT64_T, MPI_SUM));
}

void Communicator::all_to_all(std::span<const std::byte> outgoing, std::span<std::byte> incoming) const {
  const auto block = size_of(outgoing) / implementation_->size;
  check(implementation_->collectives->all_to_all(outgoing.data(), block, MPI_BYTE, incoming.data(), block, MPI_BYTE));
}

void Communicator::all_to_all(const std::byte* outgoing, std::span<const std::int64_t> send_sizes,
                              std::span<const std::int64_t> send_offsets, std::byte* incoming,
                              std::span<const std::int64_t> receive_sizes,
                              std::span<const std::int64_t> receive_offsets) const {
  check(implementation_->collectives->all_to_allv(outgoing, send_sizes.data(), send_offsets.data(), MPI_BYTE, incoming,
                                                  receive_sizes.data(), receive_offsets.data(), MPI_BYTE));
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

void Communicator::progress(std::span<const Request> requests) {
  // Asking for the status of a request that is not done makes the library progress all of them.
  int done = 1;
  for (std::size_t i = 0; i < requests.size() && done != 0; ++i)
    MPI_Request_get_status(to_mpi(requests[i]), &done, MPI_STATUS_IGNORE);
}

}  // namespace tessera::comm
