#include "tessera/comm/mpi/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/collectives/predict.h"
#include "tessera/comm/mpi/native.h"

namespace tessera::comm::mpi {
namespace {

using collectives::EntryChoice;
using collectives::PricedEntry;

/// A choice as bytes, for the one message that tells it to other ranks.
struct Chosen {
  bool is_ours = false, by_ranks = false;
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
  const auto& [segment, degree, depth, pattern, by_ranks] = choice.ours->parameters;  // a new one belongs in `Chosen`
  TESSERA_CHECK(pattern.size() < sizeof chosen.pattern);
  chosen.is_ours = true;
  chosen.segment = segment;
  chosen.degree = degree;
  chosen.depth = depth;
  chosen.seconds = choice.ours->seconds;
  copy_text(choice.ours->entry->name, chosen.entry);
  copy_text(pattern, chosen.pattern);
  chosen.by_ranks = by_ranks;
  return chosen;
}

/// A number that differs (almost always) where what was added to it does.
class Key {
 public:
  /// Begins with all of a problem, or of what a call asks for, but its blocks.
  explicit Key(const auto& problem) {
    add(problem.operation);
    add(problem.root);
    add(problem.element_bytes);
  }
  void add(auto value) { key_ = (key_ ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15U; }
  operator std::uint64_t() const { return key_; }

 private:
  std::uint64_t key_ = 0;
};

std::uint64_t key_of(const CollectiveProblem& problem) {
  Key key(problem);
  for (const auto block : problem.blocks) key.add(block);
  return key;
}

}  // namespace

Collectives::Collectives(MPI_Comm comm) : comm_(comm), kept_(std::make_unique<Kept>(settings_)) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &n_ranks_);
}

Collectives::Collectives(MPI_Comm comm, const Placement& placement, CollectiveSettings settings,
                         const GroupsAtOnce& at_once)
    : Collectives(comm) {
  settings_ = std::move(settings);
  if (settings_.only && settings_.only != "native") collectives::entry(*settings_.only);
  kept_ = std::make_unique<Kept>(settings_);
  asks_pool_ = settings_.pool != nullptr;
  is_measured_ = placement.is_measured();
  wires_ = placement.wires_of(comm, at_once);
  if (wires_) kept_->sharing = wires_->sharing();
}

Collectives::~Collectives() {
  if (settings_.pool && kept_->number != LeftPlans::none && !kept_->is_broken) settings_.pool->keep(std::move(kept_));
}

Collectives::Kept::~Kept() {
  int has_ended = 0;
  MPI_Finalized(&has_ended);
  if (has_ended) return;
  for (auto* comm : {&inside, &messages})
    if (*comm != MPI_COMM_NULL) MPI_Comm_free(comm);
}

int Collectives::finish(int code) {
  for (auto* storage : {&input_, &output_, &scratch_}) storage->trim();
  if (code != MPI_SUCCESS) MPI_Comm_call_errhandler(comm_, code);
  return code;
}

CollectiveProblem Collectives::problem_of(const Asked& asked) const {
  CollectiveProblem problem{asked.operation, n_ranks_, asked.root, {}, asked.element_bytes, asked.commutative};
  for (int i = 0; i < asked.blocks.n; ++i) problem.blocks.push_back(asked.blocks[i]);
  return problem;
}

const Collectives::Planned* Collectives::plan(const Asked& asked) {
  latest_ = &unplanned_;
  if (!may_plan() || !is_rank(asked.root)) return nullptr;
  const int n_given = asked.blocks.n_given();
  Key key(asked);
  bool is_empty = true;
  for (int i = 0; i < n_given; ++i) {
    const auto block = asked.blocks[i];
    if (block < 0) return nullptr;
    is_empty = is_empty && block == 0;
    key.add(block);
  }
  if (is_empty) return nullptr;
  if (std::exchange(asks_pool_, false))
    kept_.reset(static_cast<Kept*>(settings_.pool->take(comm_, std::move(kept_)).release()));
  const auto is_asked_for = [&](const Planned& known) {
    const auto& problem = known.problem;
    if (known.n_given != n_given || problem.operation != asked.operation || problem.root != asked.root ||
        problem.element_bytes != asked.element_bytes || problem.commutative != asked.commutative)
      return false;
    for (int i = 0; i < n_given; ++i)
      if (problem.blocks[static_cast<std::size_t>(i)] != asked.blocks[i]) return false;
    return true;
  };
  bool is_new = false;
  const auto make = [&] {
    is_new = true;
    auto made = make_plan(problem_of(asked));
    made.n_given = n_given;
    return made;
  };
  auto& planned = kept_->planned.find(key, is_asked_for, make);
  if (!is_new && !planned.choice.is_made) planned = make();
  latest_planned_ = &planned;
  latest_ = &planned.choice.decision;
  if (!planned.schedule) return nullptr;
  ++kept_->uses[planned.use].calls;
  return &planned;
}

/// Returns where the calls of a plan are counted.
std::size_t Collectives::find_use(const Planned& planned) {
  const auto& decision = planned.choice.decision;
  const std::string operation = name_of(planned.problem.operation);
  const auto bytes = collectives::bytes_of(planned.choice.shape);
  const auto known = std::find_if(kept_->uses.begin(), kept_->uses.end(), [&](const PlanUse& use) {
    return use.operation == operation && use.plan == decision.name && use.bytes == bytes;
  });
  if (known == kept_->uses.end()) {
    kept_->uses.push_back({operation, decision.name, bytes, 0, decision.seconds, decision.native_seconds});
    return kept_->uses.size() - 1;
  }
  return static_cast<std::size_t>(known - kept_->uses.begin());
}

Collectives::Planned Collectives::make_plan(CollectiveProblem problem) {
  Planned planned;
  planned.offsets = problem.offsets();
  planned.choice = choice_for(problem);
  auto& entry = planned.choice.entry;
  auto& decision = planned.choice.decision;
  const auto& parameters = planned.choice.parameters;
  try {
    if (entry && !collectives::can(*entry, problem, *wires_, parameters))
      throw std::length_error(fmt::format("{} can't do this {}", entry->name, name_of(problem.operation)));
    if (entry) {
      auto plan = collectives::plan_of(*entry, problem, *wires_, parameters);
      make_private();
      if (plan.is_hierarchical()) {
        planned.inside = make_inside(problem);
        plan = between_hosts(std::move(plan));
      }
      planned.schedule.emplace(plan, rank_);
      decision.name = plan.entry;
      decision.is_ours = true;
    }
  } catch (const std::length_error& error) {  // on all ranks, or on none
    entry = nullptr;
    decision = {"native", false, 0, 0, fmt::format("{}; the MPI library does it", error.what()), {}};
  }
  planned.problem = std::move(problem);
  if (planned.schedule) planned.use = find_use(planned);
  return planned;
}

const Collectives::Choice& Collectives::choice_for(const CollectiveProblem& problem) {
  // This is the largest count that the library's function would need.
  const auto largest = has_blocks_by_rank(problem.operation)
                           ? problem.offsets().back()
                           : *std::max_element(problem.blocks.begin(), problem.blocks.end());
  const bool must_be_ours = !native::fits(largest);
  auto shape = collectives::representative(problem);
  auto& choice = kept_->choices.find(
      key_of(shape), [&](const Choice& known) { return known.must_be_ours == must_be_ours && known.shape == shape; },
      [&] {
        Choice fresh;
        fresh.shape = shape;
        fresh.must_be_ours = must_be_ours;
        fresh.decision.reason = "called too seldom so far to be worth a choice";
        return fresh;
      });
  if (!choice.is_made && (must_be_ours || ++choice.n_asked > settings_.library_calls))
    choice = agree_on_choice(std::move(shape), must_be_ours);
  return choice;
}

/// Lets rank 0 choose for all ranks, as choosing takes a while, and times that are predicted on different processors
/// might differ in the last bit. It tells the others by a broadcast on the user's communicator, as all ranks are in the
/// same call.
Collectives::Choice Collectives::agree_on_choice(CollectiveProblem shape, bool must_be_ours) {
  ++n_choices_;
  Choice choice;
  choice.is_made = true;
  auto& decision = choice.decision;
  Chosen chosen;
  if (rank_ == 0) {
    try {
      const auto choose = [&] { return choose_here(shape, must_be_ours); };
      const auto best = settings_.remember ? settings_.remember(*wires_, shape, must_be_ours, choose) : choose();
      for (const auto& candidate : best.ranked)
        decision.candidates.push_back(collectives::text_of({candidate.entry->name, candidate.parameters}));
      chosen = bytes_of(best);
    } catch (const std::exception& error) {
      copy_text(error.what(), chosen.reason);
    }
  }
  choice.shape = std::move(shape);
  choice.must_be_ours = must_be_ours;
  if (MPI_Bcast(&chosen, sizeof chosen, MPI_BYTE, 0, comm_) != MPI_SUCCESS) return choice;
  decision.reason = chosen.reason;
  decision.native_seconds = chosen.native_seconds;
  if (!chosen.is_ours) return choice;
  choice.entry = &collectives::entry(chosen.entry);
  choice.parameters = {chosen.segment, chosen.degree, chosen.depth, chosen.pattern, chosen.by_ranks};
  decision.seconds = chosen.seconds;
  return choice;
}

EntryChoice Collectives::choose_here(const CollectiveProblem& shape, bool must_be_ours) const {
  EntryChoice choice;
  if (settings_.only && settings_.parameters) {
    const auto& entry = collectives::entry(*settings_.only);
    if (collectives::can(entry, shape, *wires_, *settings_.parameters)) {
      const auto plan = collectives::plan_of(entry, shape, *wires_, *settings_.parameters);
      const double seconds = collectives::predict(plan, shape, *wires_).seconds;
      return {PricedEntry{&entry, *settings_.parameters, seconds, plan.messages.size()},
              0,
              fmt::format("{} was asked for", entry.name),
              {}};
    }
    choice.reason = fmt::format("{} can't do this {}; the MPI library does it", entry.name, name_of(shape.operation));
  } else if (is_measured_ || settings_.only) {
    choice = collectives::choose(shape, *wires_, settings_.only, settings_.trials);
  } else {
    choice.reason = "nothing is known of the network";
  }
  if (!choice.ours && must_be_ours && settings_.only != "native") {
    if (const auto all = collectives::rank_candidates(shape, *wires_); !all.empty()) {
      choice.ours = all.front();
      choice.reason = "this MPI library can't count so far";
    }
  }
  return choice;
}

std::int64_t Collectives::latest_bytes() const {
  if (!latest_planned_ || latest_ != &latest_planned_->choice.decision) return 0;
  return collectives::bytes_of(latest_planned_->choice.shape);
}

Decision Collectives::price_latest() const {
  auto decision = *latest_;
  if (!latest_planned_ || latest_ != &latest_planned_->choice.decision) return decision;
  const auto& problem = latest_planned_->problem;
  const auto& choice = latest_planned_->choice;
  if (choice.entry)
    decision.seconds =
        collectives::priced_for(problem, *wires_, {choice.entry, choice.parameters, decision.seconds}).seconds;
  decision.native_seconds = collectives::native_seconds_for(problem, *wires_, decision.native_seconds);
  return decision;
}

/// Makes the communicator that carries the messages of plans, unless there is one. Throws std::length_error, on all
/// ranks, where MPI has no more. It is not a duplicate, as attributes that users attach to theirs must not be copied.
/// Collective.
void Collectives::make_private() {
  if (kept_->messages != MPI_COMM_NULL) return;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_group(comm_, &group);
  MPI_Comm_get_errhandler(comm_, &handler);
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);  // the user's would perhaps end the program
  const int code = MPI_Comm_create(comm_, group, &kept_->messages);
  MPI_Comm_set_errhandler(comm_, handler);
  MPI_Errhandler_free(&handler);
  MPI_Group_free(&group);
  if (code != MPI_SUCCESS) {
    kept_->messages = MPI_COMM_NULL;
    throw std::length_error("there is no communicator left for the messages of plans");
  }
  MPI_Comm_set_errhandler(kept_->messages, MPI_ERRORS_RETURN);
  kept_->executor.emplace(kept_->messages, settings_.limits);
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
  const int code = kept_->executor->execute(schedule, complete, element, reduction);
  if (code != MPI_SUCCESS) kept_->is_broken = true;
  return code;
}

int Collectives::barrier() {
  const auto* planned = plan({Operation::barrier, 0, 0, true, {1, 1}});
  if (!planned) return leave_to(MPI_Barrier);
  return finish(run(*planned, {}, no_element()));
}

}  // namespace tessera::comm::mpi
