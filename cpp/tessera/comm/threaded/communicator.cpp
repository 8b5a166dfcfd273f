#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/comm/threaded/job.h"
#include "tessera/comm/threaded/run_ranks.h"

namespace tessera::comm {

namespace {

thread_local std::shared_ptr<Job> current_job;  // of the rank that this thread is
thread_local int current_rank = 0;

/// A receive under way; sends are done when they are started.
struct Receive {
  Job* job;
  int source, rank, tag;
  std::span<std::byte> data;
};

template <class Value, class Combine>
void reduce(const Communicator::Implementation& self, std::span<Value> values, Combine&& combine) {
  const std::vector<Value> own(values.begin(), values.end());
  const auto all = self.job->exchange(self.rank, std::as_bytes(std::span(own)));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto other = values_of<Value>(all[rank]);
    TESSERA_CHECK(other.size() == values.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = rank == 0 ? other[i] : combine(values[i], other[i]);
  }
}

}  // namespace

void Job::barrier() {
  std::unique_lock lock(mutex);
  const auto mine = n_barriers;
  if (++n_waiting == size()) {
    n_waiting = 0;
    ++n_barriers;
    changed.notify_all();
  } else {
    changed.wait(lock, [&] { return n_barriers != mine; });
  }
}

std::vector<std::vector<std::byte>> Job::exchange(int rank, std::span<const std::byte> data) {
  shown[static_cast<std::size_t>(rank)] = data;
  barrier();
  std::vector<std::vector<std::byte>> all;
  for (const auto& one : shown) all.emplace_back(one.begin(), one.end());
  barrier();
  return all;
}

void run_ranks(const std::vector<std::string>& hosts, const std::function<void(const Communicator&)>& work) {
  const auto job = std::make_shared<Job>(hosts);
  std::vector<std::exception_ptr> errors(hosts.size());
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < job->size(); ++rank)
    ranks.emplace_back([&, rank] {
      current_job = job;
      current_rank = rank;
      try {
        work(Communicator::world());
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
      current_job.reset();
    });
  for (auto& rank : ranks) rank.join();
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

void run_ranks(int n, const std::function<void(const Communicator&)>& work) {
  run_ranks(std::vector<std::string>(static_cast<std::size_t>(n), "host"), work);
}

Communicator::Communicator(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

/// A thread that is no rank of run_ranks is alone.
Communicator Communicator::world() {
  if (!current_job)
    return Communicator(std::make_unique<Implementation>(std::make_shared<Job>(std::vector<std::string>{"host"}), 0));
  return Communicator(std::make_unique<Implementation>(current_job, current_rank));
}
Communicator Communicator::duplicate_of(int) { return world(); }
void Communicator::finalize() {}
void Communicator::abort(int status) { std::_Exit(status); }
std::string Communicator::library_version() { return "threads"; }
std::string Communicator::host() {
  return current_job ? current_job->hosts[static_cast<std::size_t>(current_rank)] : "host";
}

int Communicator::rank() const { return implementation_->rank; }
int Communicator::size() const { return implementation_->job->size(); }
void Communicator::barrier() const { implementation_->job->barrier(); }

void Communicator::broadcast(std::span<std::byte> data, int root) const {
  const auto all = implementation_->job->exchange(rank(), data);
  const auto& given = all[static_cast<std::size_t>(root)];
  TESSERA_CHECK(given.size() == data.size());
  if (rank() != root && !data.empty()) std::memcpy(data.data(), given.data(), given.size());
}

void Communicator::all_reduce_sum(std::span<std::int64_t> values) const {
  reduce(*implementation_, values, [](std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  });
}
void Communicator::all_reduce_max(std::span<std::int64_t> values) const {
  reduce(*implementation_, values, [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
}
void Communicator::all_reduce_min(std::span<std::int64_t> values) const {
  reduce(*implementation_, values, [](std::int64_t a, std::int64_t b) { return std::min(a, b); });
}
void Communicator::all_reduce_max(std::span<double> values) const {
  reduce(*implementation_, values, [](double a, double b) { return std::max(a, b); });
}
void Communicator::all_reduce_sum_for_report(std::span<double> values) const {
  reduce(*implementation_, values, [](double a, double b) { return a + b; });
}
/// Done when it is started.
Request Communicator::start_all_reduce_max(std::span<std::int64_t> values) const {
  all_reduce_max(values);
  return {};
}

Request Communicator::start_send(std::span<const std::byte> data, int destination, int tag) const {
  auto& job = *implementation_->job;
  const std::lock_guard lock(job.mutex);
  job.mail[{rank(), destination, tag}].emplace_back(data.begin(), data.end());
  job.changed.notify_all();
  return {};
}

Request Communicator::start_receive(std::span<std::byte> data, int source, int tag) const {
  auto* receive = new Receive{implementation_->job.get(), source, rank(), tag, data};
  Request request;
  std::memcpy(request.handle, &receive, sizeof receive);
  request.active = true;
  return request;
}

void Communicator::wait_all(std::span<Request> requests) {
  for (auto& request : requests) {
    if (!std::exchange(request.active, false)) continue;
    Receive* handle = nullptr;
    std::memcpy(&handle, request.handle, sizeof handle);
    const std::unique_ptr<Receive> receive(handle);
    auto& job = *receive->job;
    std::unique_lock lock(job.mutex);
    auto& mail = job.mail[{receive->source, receive->rank, receive->tag}];
    job.changed.wait(lock, [&] { return !mail.empty(); });
    TESSERA_CHECK(mail.front().size() == receive->data.size());
    if (!receive->data.empty()) std::memcpy(receive->data.data(), mail.front().data(), receive->data.size());
    mail.pop_front();
  }
}

/// What is sent is there at once.
void Communicator::push(std::span<const Request>) {}

std::vector<std::vector<std::byte>> Communicator::gather(std::span<const std::byte> data, int root) const {
  auto all = implementation_->job->exchange(rank(), data);
  if (rank() != root) all.clear();
  return all;
}
std::vector<std::vector<std::byte>> Communicator::all_gather(std::span<const std::byte> data) const {
  return implementation_->job->exchange(rank(), data);
}
std::vector<std::vector<std::byte>> Communicator::all_to_all(
    const std::vector<std::vector<std::byte>>& outgoing) const {
  std::vector<std::vector<std::byte>> incoming(outgoing.size());
  const std::span<const std::vector<std::byte>> all(outgoing);
  const auto shown = implementation_->job->exchange(rank(), std::as_bytes(std::span(&all, 1)));
  for (std::size_t source = 0; source < shown.size(); ++source)
    incoming[source] =
        values_of<std::span<const std::vector<std::byte>>>(shown[source])[0][static_cast<std::size_t>(rank())];
  barrier();
  return incoming;
}

void Communicator::all_to_all(const std::byte* outgoing, std::span<const std::int64_t> send_sizes,
                              std::span<const std::int64_t> send_offsets, std::byte* incoming,
                              std::span<const std::int64_t> receive_sizes,
                              std::span<const std::int64_t> receive_offsets) const {
  constexpr int tag = -1;  // of no message of users
  std::vector<Request> requests;
  for (int peer = 0; peer < size(); ++peer) {
    const auto p = static_cast<std::size_t>(peer);
    start_send({outgoing + send_offsets[p], static_cast<std::size_t>(send_sizes[p])}, peer, tag);
    requests.push_back(
        start_receive({incoming + receive_offsets[p], static_cast<std::size_t>(receive_sizes[p])}, peer, tag));
  }
  wait_all(requests);
}

}  // namespace tessera::comm
