#include "tessera/comm/mpi/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>

#include "tessera/base/error.h"
#include "tessera/collectives/predict.h"
#include "tessera/comm/communicator.h"
#include "tessera/comm/mpi/hosts.h"
#include "tessera/comm/mpi/native.h"
#include "tessera/machine/orders.h"

namespace tessera::comm::mpi {
namespace {

using collectives::EntryChoice;
using collectives::PricedEntry;

/// Returns a number that differs (almost surely) where networks differ.
std::uint64_t fingerprint(const machine::Network& network) {
  std::string text;
  const auto add = [&](const machine::Link& link) { text += fmt::format("{} {};", link.latency, link.bandwidth); };
  for (const auto& host : network.hosts) {
    text += fmt::format("{} {};", host.name, host.slots);
    if (host.inside) add(*host.inside);
  }
  for (const auto& subnet : network.subnets) {
    text += fmt::format("{} {} {};", subnet.parent, static_cast<int>(subnet.medium), subnet.uplink.value_or(0));
    for (const int host : subnet.hosts) text += fmt::format("{},", host);
    add(subnet.link);
  }
  for (const auto& [hosts, work] : network.processors) {
    for (const int host : hosts) text += fmt::format("{},", host);
    add(work);
  }
  return std::hash<std::string>{}(text);
}

/// A choice as bytes, for the one message that tells it to other ranks.
struct Chosen {
  bool is_ours = false;
  char entry[64] = {};
  char pattern[64] = {};
  char reason[256] = {};
  std::int64_t segment = 0;
  int degree = 0, depth = 0;
  double seconds = 0, native_seconds = 0;
};

template <std::size_t size>
void copy_text(const std::string& text, char (&to)[size]) {
  std::memcpy(to, text.data(), std::min(text.size(), size - 1));
}

Chosen bytes_of(const EntryChoice& choice) {
  Chosen chosen;
  chosen.native_seconds = choice.native_seconds;
  copy_text(choice.reason, chosen.reason);
  if (!choice.ours) return chosen;
  const auto& [segment, degree, depth, pattern] = choice.ours->parameters;  // a new one belongs in `Chosen`
  TESSERA_CHECK(pattern.size() < sizeof chosen.pattern);
  chosen.is_ours = true;
  chosen.segment = segment;
  chosen.degree = degree;
  chosen.depth = depth;
  chosen.seconds = choice.ours->seconds;
  copy_text(choice.ours->entry->name, chosen.entry);
  copy_text(pattern, chosen.pattern);
  return chosen;
}

}  // namespace

Collectives::Collectives(MPI_Comm comm) : comm_(comm) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &n_ranks_);
}

Collectives::Collectives(MPI_Comm comm, const std::shared_ptr<const machine::Network>& network,
                         CollectiveSettings settings)
    : Collectives(comm) {
  settings_ = std::move(settings);
  if (settings_.only && settings_.only != "native") collectives::entry(*settings_.only);
  planned_.reserve(std::max<std::size_t>(1, settings_.kept_plans));
  int is_between_groups = 0;
  MPI_Comm_test_inter(comm, &is_between_groups);
  if (is_between_groups) return;
  // The communicator is not a duplicate, as attributes that users attach to theirs must not be copied.
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(comm, &group);
  MPI_Comm_create(comm, group, &private_);
  MPI_Group_free(&group);
  MPI_Comm_set_errhandler(private_, MPI_ERRORS_RETURN);
  executor_.emplace(private_, settings_.limits);
  const auto names = gather_names(settings_.host.empty() ? Communicator::host() : settings_.host, private_);
  const std::uint64_t own = network ? fingerprint(*network) : 0;
  std::uint64_t first = own;
  MPI_Bcast(&first, 1, MPI_UINT64_T, 0, private_);
  std::string text;
  if (own != first) {
    text = fmt::format("rank {} has another map of the machine than rank 0: give all ranks the same file", rank_);
  } else if (network) {
    text = find_network(*network, names);
  }
  warning_ = agreed_text(text, private_);
  if (!warning_.empty()) {
    warning_ += "; the MPI library's own collectives are used";
    wires_.reset();
  } else if (!network) {
    const auto nominal = machine::network_of(names);
    wires_.emplace(nominal, machine::find_hosts(names, nominal));
  } else {
    is_measured_ = true;
  }
}

std::string Collectives::find_network(const machine::Network& network, const std::vector<std::string>& names) {
  try {
    network.check("the map of the machine");
    wires_.emplace(network, machine::find_hosts(names, network));
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

Collectives::~Collectives() {
  int has_ended = 0;
  MPI_Finalized(&has_ended);
  if (has_ended) return;
  for (auto* comm : {&inside_, &private_})
    if (*comm != MPI_COMM_NULL) MPI_Comm_free(comm);
}

int Collectives::finish(int code) {
  for (auto* storage : {&input_, &output_, &scratch_}) storage->trim();
  if (code != MPI_SUCCESS) MPI_Comm_call_errhandler(comm_, code);
  return code;
}

const Collectives::Planned* Collectives::plan(CollectiveProblem problem) {
  ++n_calls_;
  auto place = std::find_if(planned_.begin(), planned_.end(), [&](const auto& p) { return p.problem == problem; });
  if (place == planned_.end()) {
    auto fresh = choose(std::move(problem));
    if (planned_.size() < planned_.capacity()) {
      place = planned_.insert(planned_.end(), std::move(fresh));
    } else {
      place = std::min_element(planned_.begin(), planned_.end(), [](auto& a, auto& b) { return a.used < b.used; });
      *place = std::move(fresh);
    }
  }
  place->used = n_calls_;
  latest_ = &place->decision;
  return place->schedule ? &*place : nullptr;
}

Collectives::Planned Collectives::choose(CollectiveProblem problem) {
  Planned planned;
  planned.offsets = problem.offsets();
  if (const auto candidate = agree_on_candidate(problem, planned.decision)) {
    auto plan = candidate->entry->plan(problem, *wires_, candidate->parameters);
    if (plan.is_hierarchical()) {
      planned.inside = make_inside(problem);
      plan = between_hosts(std::move(plan));
    }
    planned.schedule.emplace(plan, rank_);
    planned.decision.name = plan.entry;
    planned.decision.is_ours = true;
    planned.decision.seconds = candidate->seconds;
  }
  planned.problem = std::move(problem);
  return planned;
}

/// Lets rank 0 choose for all ranks, as choosing takes a while, and times that are predicted on different processors
/// might differ in the last bit.
std::optional<PricedEntry> Collectives::agree_on_candidate(const CollectiveProblem& problem, Decision& decision) {
  Chosen chosen;
  if (rank_ == 0) {
    try {
      const auto choice = choose_here(problem);
      for (const auto& candidate : choice.ranked)
        decision.candidates.push_back(collectives::text_of({candidate.entry->name, candidate.parameters}));
      chosen = bytes_of(choice);
    } catch (const std::exception& error) {
      copy_text(error.what(), chosen.reason);
    }
  }
  if (MPI_Bcast(&chosen, sizeof chosen, MPI_BYTE, 0, private_) != MPI_SUCCESS) return std::nullopt;
  decision.reason = chosen.reason;
  decision.native_seconds = chosen.native_seconds;
  if (!chosen.is_ours) return std::nullopt;
  return PricedEntry{
      &collectives::entry(chosen.entry), {chosen.segment, chosen.degree, chosen.depth, chosen.pattern}, chosen.seconds};
}

EntryChoice Collectives::choose_here(const CollectiveProblem& problem) const {
  EntryChoice choice;
  // This is the largest count that the library's function would need.
  const auto largest = has_blocks_by_rank(problem.operation)
                           ? problem.offsets().back()
                           : *std::max_element(problem.blocks.begin(), problem.blocks.end());
  const bool must_be_ours = !native::fits(largest);
  if (settings_.only && settings_.parameters) {
    const auto& entry = collectives::entry(*settings_.only);
    if (entry.can(problem, *wires_)) {
      const auto plan = entry.plan(problem, *wires_, *settings_.parameters);
      const double seconds = collectives::predict(plan, problem, *wires_).seconds;
      return {PricedEntry{&entry, *settings_.parameters, seconds, plan.messages.size()},
              0,
              fmt::format("{} was asked for", entry.name),
              {}};
    }
  }
  if (is_measured_ || settings_.only) {
    choice = collectives::choose(problem, *wires_, settings_.only, settings_.trials);
  } else {
    choice.reason = "nothing is known of the network";
  }
  if (!choice.ours && must_be_ours && settings_.only != "native") {
    if (const auto all = collectives::rank_candidates(problem, *wires_); !all.empty()) {
      choice.ours = all.front();
      choice.reason = "this MPI library can't count so far";
    }
  }
  return choice;
}

int Collectives::run(const Planned& planned, const BufferAddresses& vectors, const Element& element,
                     const Reduction& reduction) {
  int code = planned.inside ? collect(planned, vectors.output, element, reduction) : MPI_SUCCESS;
  if (code == MPI_SUCCESS) code = run(*planned.schedule, vectors, element, reduction);
  if (code == MPI_SUCCESS && planned.inside) code = distribute(planned, vectors.output, element);
  return code;
}

int Collectives::run(const Schedule& schedule, const BufferAddresses& vectors, const Element& element,
                     const Reduction& reduction) {
  auto complete = vectors;
  const auto& range = schedule.touched(Buffer::scratch);
  complete.scratch = scratch_.elements(range, element);
  return executor_->execute(schedule, complete, element, reduction);
}

int Collectives::barrier() {
  if (!may_plan()) return MPI_Barrier(comm_);
  const auto* planned = plan({Operation::barrier, n_ranks_, 0, {1}, 0, true});
  if (!planned) return MPI_Barrier(comm_);
  return finish(run(*planned, {}, no_element()));
}

}  // namespace tessera::comm::mpi
