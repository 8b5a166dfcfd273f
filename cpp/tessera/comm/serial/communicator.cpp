// One rank without MPI, for unit tests, sanitizer builds, the Python module and machines that have no MPI.
#include "tessera/comm/communicator.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tessera/base/error.h"
#include "tessera/collectives/registry.h"

namespace tessera::comm {

struct Communicator::Implementation {};

Communicator::Communicator(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

Communicator Communicator::world() { return Communicator(std::make_unique<Implementation>()); }
Communicator Communicator::duplicate_of(int) { return world(); }
Communicator Communicator::duplicate_at(const void*) { return world(); }
Communicator Communicator::alone() { return world(); }
bool Communicator::is_congruent(const void*) const { return true; }
void Communicator::finalize() {}
void Communicator::abort(int status) { std::_Exit(status); }
std::string Communicator::library_version() { return "serial"; }
bool Communicator::all_threads_may_communicate() { return true; }
std::string Communicator::host() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

int Communicator::rank() const { return 0; }
int Communicator::size() const { return 1; }

/// Checks only the entry's name, as there is nothing to plan for one rank.
std::string Communicator::follow(const std::shared_ptr<const machine::Network>&, Following how) {
  if (how.entry) (void)collectives::entry(*how.entry);
  return {};
}
std::string Communicator::follow_map(const std::string&, double) { return {}; }
std::vector<PlanUse> Communicator::plans_used() const { return {}; }

void Communicator::barrier() const {}
void Communicator::broadcast(std::span<std::byte>, int) const {}
void Communicator::all_reduce_sum(std::span<std::int64_t>) const {}
void Communicator::all_reduce_max(std::span<std::int64_t>) const {}
void Communicator::all_reduce_min(std::span<std::int64_t>) const {}
void Communicator::all_reduce_max(std::span<double>) const {}
void Communicator::all_reduce_sum_for_report(std::span<double>) const {}
void Communicator::all_reduce_rounded_sum(std::span<double>) const {}
Request Communicator::start_all_reduce_max(std::span<std::int64_t>) const { return {}; }

// Fails, as a rank never sends to itself: callers copy their own part.
Request Communicator::start_send(std::span<const std::byte>, int, int) const {
  fail_check("no peer", __FILE__, __LINE__);
}
Request Communicator::start_receive(std::span<std::byte>, int, int) const { fail_check("no peer", __FILE__, __LINE__); }
void Communicator::wait_all(std::span<Request>) {}
void Communicator::progress(std::span<const Request>) {}

namespace {

void copy(std::span<const std::byte> from, std::span<std::byte> to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

}  // namespace

void Communicator::gather(std::span<const std::byte> block, std::span<std::byte> all, int) const { copy(block, all); }
void Communicator::all_gather(std::span<const std::byte> block, std::span<const std::int64_t>,
                              std::span<std::byte> all) const {
  copy(block, all);
}
void Communicator::reduce_scatter_sum(std::span<const std::int64_t> values, std::span<const std::int64_t>,
                                      std::span<std::int64_t> own) const {
  copy(std::as_bytes(values), std::as_writable_bytes(own));
}
void Communicator::all_to_all(std::span<const std::byte> outgoing, std::span<std::byte> incoming) const {
  copy(outgoing, incoming);
}
void Communicator::all_to_all(const std::byte* outgoing, std::span<const std::int64_t> send_sizes,
                              std::span<const std::int64_t> send_offsets, std::byte* incoming,
                              std::span<const std::int64_t>, std::span<const std::int64_t> receive_offsets) const {
  std::memcpy(incoming + receive_offsets[0], outgoing + send_offsets[0], static_cast<std::size_t>(send_sizes[0]));
}

}  // namespace tessera::comm
