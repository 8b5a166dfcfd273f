#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <numeric>
#include <thread>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/collectives/choose.h"
#include "tessera/comm/threaded/execute.h"
#include "tessera/comm/threaded/job.h"
#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/machine/orders.h"
#include "tessera/machine/survey/machine_file.h"

namespace tessera::comm {

namespace {

thread_local std::shared_ptr<Job> current_job;  // of the rank that this thread is
thread_local int current_rank = 0;

/// A receive that is under way; sends are done when they are started.
struct Receive {
  Job* job;
  int source, rank, tag;
  std::span<std::byte> data;
};

/// Returns the plan for the network that the ranks follow; none where they follow none or where the choice is the
/// backend's own operation.
std::optional<collectives::MessagePlan> plan_for(const Communicator::Implementation& self,
                                                 collectives::Operation operation, std::vector<std::int64_t> blocks,
                                                 int root, std::int64_t element_bytes) {
  const bool is_empty = std::all_of(blocks.begin(), blocks.end(), [](auto size) { return size == 0; });
  if (!self.wires || is_empty) return {};
  const collectives::CollectiveProblem problem{operation,         self.job->size(), root,
                                               std::move(blocks), element_bytes,    true};
  const auto chosen =
      collectives::choose(collectives::representative(problem), *self.wires, self.entry, self.trials).ours;
  if (!chosen || !collectives::can(*chosen->entry, problem, *self.wires, chosen->parameters)) return {};
  return collectives::plan_of(*chosen->entry, problem, *self.wires, chosen->parameters);
}

/// Combines the values of all ranks; where plans leave `blocks` of the result on one rank each, the others' are not
/// defined.
template <class Value, class CombineTwo>
void reduce(const Communicator& comm, const Communicator::Implementation& self, std::span<Value> values,
            CombineTwo&& combine, collectives::Operation operation, std::vector<std::int64_t> blocks) {
  if (const auto plan = plan_for(self, operation, std::move(blocks), 0, sizeof(Value))) {
    const auto combine_bytes = [&](const std::byte* elements, std::byte* target, std::int64_t n) {
      const auto* from = reinterpret_cast<const Value*>(elements);
      auto* to = reinterpret_cast<Value*>(target);
      for (std::int64_t i = 0; i < n; ++i) to[i] = combine(to[i], from[i]);
    };
    execute(*plan, comm, sizeof(Value), nullptr, std::as_writable_bytes(values).data(), combine_bytes);
    return;
  }
  const std::vector<Value> own(values.begin(), values.end());
  const auto all = self.job->exchange(self.rank, std::as_bytes(std::span(own)));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto other = values_of<Value>(all[rank]);
    TESSERA_CHECK(other.size() == values.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = rank == 0 ? other[i] : combine(values[i], other[i]);
  }
}

template <class Value, class CombineTwo>
void reduce(const Communicator& comm, const Communicator::Implementation& self, std::span<Value> values,
            CombineTwo&& combine) {
  reduce(comm, self, values, combine, collectives::Operation::all_reduce, {std::ssize(values)});
}

/// Adds without a sign, so that the sum wraps around.
std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

void copy_in_order(const std::vector<std::vector<std::byte>>& blocks, std::span<std::byte> all) {
  auto at = all.begin();
  for (const auto& block : blocks) at = std::copy(block.begin(), block.end(), at);
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

/// Returns the ranks of this thread's job. A thread that run_ranks did not start is the only rank of its job.
Communicator Communicator::world() {
  if (!current_job) return alone();
  return Communicator(std::make_unique<Implementation>(current_job, current_rank));
}
Communicator Communicator::duplicate_of(int) { return world(); }
Communicator Communicator::duplicate_at(const void*) { return world(); }
Communicator Communicator::alone() {
  return Communicator(std::make_unique<Implementation>(std::make_shared<Job>(std::vector<std::string>{host()}), 0));
}
bool Communicator::is_congruent(const void*) const { return true; }
void Communicator::finalize() {}
void Communicator::abort(int status) { std::_Exit(status); }
std::string Communicator::library_version() { return "threads"; }
bool Communicator::all_threads_may_communicate() { return true; }
std::string Communicator::host() {
  return current_job ? current_job->hosts[static_cast<std::size_t>(current_rank)] : "host";
}

int Communicator::rank() const { return implementation_->rank; }
int Communicator::size() const { return implementation_->job->size(); }

std::string Communicator::follow(const std::shared_ptr<const machine::Network>& network, Following how) {
  if (how.entry && *how.entry != "native") (void)collectives::entry(*how.entry);
  auto& [job, rank, wires, entry, trials] = *implementation_;
  wires.reset();
  if (!network) return {};
  try {
    wires = std::make_shared<const machine::Wires>(*network, machine::find_hosts(job->hosts, *network));
  } catch (const InputError& error) {
    return error.what();
  }
  entry = std::move(how.entry);
  trials = std::move(how.trials);
  return {};
}

std::string Communicator::follow_map(const std::string& machine_file, double) {
  if (machine_file.empty() || size() == 1) return follow(nullptr);
  auto file = machine::read_machine_file(machine_file);
  const auto network = std::make_shared<const machine::Network>(machine::network_of(file, machine_file));
  return follow(network, {.trials = machine::trials_of(std::move(file), library_version())});
}

/// Returns nothing, as calls are not counted here.
std::vector<PlanUse> Communicator::plans_used() const { return {}; }

void Communicator::barrier() const {
  if (const auto plan = plan_for(*implementation_, collectives::Operation::barrier, {1}, 0, 0))
    execute(*plan, *this, 0, nullptr, nullptr);
  else
    implementation_->job->barrier();
}

void Communicator::broadcast(std::span<std::byte> data, int root) const {
  const auto length = static_cast<std::int64_t>(data.size());
  if (const auto plan = plan_for(*implementation_, collectives::Operation::broadcast, {length}, root, 1)) {
    execute(*plan, *this, 1, nullptr, data.data());
    return;
  }
  const auto all = implementation_->job->exchange(rank(), data);
  const auto& given = all[static_cast<std::size_t>(root)];
  TESSERA_CHECK(given.size() == data.size());
  if (rank() != root && !data.empty()) std::memcpy(data.data(), given.data(), given.size());
}

void Communicator::all_reduce_sum(std::span<std::int64_t> values) const {
  reduce(*this, *implementation_, values, wrapping_sum);
}
void Communicator::all_reduce_max(std::span<std::int64_t> values) const {
  reduce(*this, *implementation_, values, [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
}
void Communicator::all_reduce_min(std::span<std::int64_t> values) const {
  reduce(*this, *implementation_, values, [](std::int64_t a, std::int64_t b) { return std::min(a, b); });
}
void Communicator::all_reduce_max(std::span<double> values) const {
  reduce(*this, *implementation_, values, [](double a, double b) { return std::max(a, b); });
}
void Communicator::all_reduce_sum_for_report(std::span<double> values) const {
  reduce(*this, *implementation_, values, [](double a, double b) { return a + b; });
}
void Communicator::all_reduce_rounded_sum(std::span<double> values) const {
  reduce(*this, *implementation_, values, [](double a, double b) { return a + b; });
  broadcast(std::as_writable_bytes(values), 0);
}
/// Does the whole reduction at once, so that waiting for it does nothing.
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

/// Does nothing, as messages arrive when they are sent.
void Communicator::progress(std::span<const Request>) {}

void Communicator::gather(std::span<const std::byte> block, std::span<std::byte> all, int root) const {
  const auto n = static_cast<std::size_t>(size()), own = static_cast<std::size_t>(rank()) * block.size();
  const std::vector<std::int64_t> sizes(n, static_cast<std::int64_t>(block.size()));
  const auto plan = plan_for(*implementation_, collectives::Operation::gather, sizes, root, 1);
  if (!plan) {
    const auto shown = implementation_->job->exchange(rank(), block);
    if (rank() == root) copy_in_order(shown, all);
    return;
  }
  std::vector<std::byte> output(n * block.size());
  std::copy(block.begin(), block.end(), output.begin() + static_cast<std::ptrdiff_t>(own));
  execute(*plan, *this, 1, nullptr, output.data());
  if (rank() == root) std::copy(output.begin(), output.end(), all.begin());
}

void Communicator::all_gather(std::span<const std::byte> block, std::span<const std::int64_t> sizes,
                              std::span<std::byte> all) const {
  const auto plan = plan_for(*implementation_, collectives::Operation::all_gather, {sizes.begin(), sizes.end()}, 0, 1);
  if (!plan) {
    copy_in_order(implementation_->job->exchange(rank(), block), all);
    return;
  }
  std::copy(block.begin(), block.end(), all.begin() + std::accumulate(sizes.begin(), sizes.begin() + rank(), 0L));
  execute(*plan, *this, 1, nullptr, all.data());
}

void Communicator::reduce_scatter_sum(std::span<const std::int64_t> values, std::span<const std::int64_t> sizes,
                                      std::span<std::int64_t> own) const {
  std::vector<std::int64_t> sum(values.begin(), values.end());
  reduce(*this, *implementation_, std::span(sum), wrapping_sum, collectives::Operation::reduce_scatter,
         {sizes.begin(), sizes.end()});
  std::copy_n(sum.begin() + std::accumulate(sizes.begin(), sizes.begin() + rank(), 0L), own.size(), own.begin());
}

void Communicator::all_to_all(std::span<const std::byte> outgoing, std::span<std::byte> incoming) const {
  const auto block = static_cast<std::int64_t>(outgoing.size()) / size();
  if (const auto plan = plan_for(*implementation_, collectives::Operation::all_to_all, {block}, 0, 1)) {
    const auto own = outgoing.begin() + rank() * block;
    std::copy(own, own + block, incoming.begin() + rank() * block);
    execute(*plan, *this, 1, outgoing.data(), incoming.data());
    return;
  }
  const std::vector<std::int64_t> sizes(static_cast<std::size_t>(size()), block);
  std::vector<std::int64_t> offsets;
  for (int peer = 0; peer < size(); ++peer) offsets.push_back(peer * block);
  all_to_all(outgoing.data(), sizes, offsets, incoming.data(), sizes, offsets);
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
