// One rank without MPI: unit tests, sanitizer builds, the Python module, machines that have no MPI.
#include "tessera/comm/communicator.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tessera/base/error.h"

namespace tessera::comm {

struct Communicator::Implementation {};

Communicator::Communicator(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

Communicator Communicator::world() { return Communicator(std::make_unique<Implementation>()); }
Communicator Communicator::duplicate_of(int) { return world(); }
void Communicator::finalize() {}
void Communicator::abort(int status) { std::_Exit(status); }
std::string Communicator::library_version() { return "serial"; }
std::string Communicator::host() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

int Communicator::rank() const { return 0; }
int Communicator::size() const { return 1; }
void Communicator::barrier() const {}
void Communicator::broadcast(std::span<std::byte>, int) const {}
void Communicator::all_reduce_sum(std::span<std::int64_t>) const {}
void Communicator::all_reduce_max(std::span<std::int64_t>) const {}
void Communicator::all_reduce_min(std::span<std::int64_t>) const {}
void Communicator::all_reduce_max(std::span<double>) const {}
void Communicator::all_reduce_sum_for_report(std::span<double>) const {}
Request Communicator::start_all_reduce_max(std::span<std::int64_t>) const { return {}; }

// A rank never sends to itself: callers copy their own part.
Request Communicator::start_send(std::span<const std::byte>, int, int) const {
  fail_check("no peer", __FILE__, __LINE__);
}
Request Communicator::start_receive(std::span<std::byte>, int, int) const { fail_check("no peer", __FILE__, __LINE__); }
void Communicator::wait_all(std::span<Request>) {}
void Communicator::push(std::span<const Request>) {}

std::vector<std::vector<std::byte>> Communicator::gather(std::span<const std::byte> data, int) const {
  return {{data.begin(), data.end()}};
}
std::vector<std::vector<std::byte>> Communicator::all_gather(std::span<const std::byte> data) const {
  return {{data.begin(), data.end()}};
}
std::vector<std::vector<std::byte>> Communicator::all_to_all(
    const std::vector<std::vector<std::byte>>& outgoing) const {
  return outgoing;
}

void Communicator::all_to_all(const std::byte* outgoing, std::span<const std::int64_t> send_sizes,
                              std::span<const std::int64_t> send_offsets, std::byte* incoming,
                              std::span<const std::int64_t>, std::span<const std::int64_t> receive_offsets) const {
  std::memcpy(incoming + receive_offsets[0], outgoing + send_offsets[0], static_cast<std::size_t>(send_sizes[0]));
}

}  // namespace tessera::comm
