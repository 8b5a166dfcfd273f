#include "tessera/drop_in/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/comm/job.h"
#include "tessera/comm/mpi/placement/hosts.h"
#include "tessera/machine/load/traffic.h"

namespace tessera::drop_in {
namespace {

using collectives::Operation;

constexpr std::string_view nothing_done = "; the MPI library's own collectives are used";

bool is_set(const char* name) {
  const char* text = std::getenv(name);
  return text && *text && std::string_view(text) != "0";
}

/// Tells whether ranks are all on one host, where no map is needed.
bool are_together(const machine::Wires& wires) {
  return static_cast<int>(wires.ranks_on(wires.host_of(0)).size()) == wires.n_ranks();
}

/// Checks the entry that is to carry out all operations, on four ranks of two hosts. Throws InputError where there is
/// none of that name, or where it can't plan anything with these parameters.
void check_entry(const collectives::NamedEntry& named) {
  if (named.name == "native") return;
  const auto& entry = collectives::entry(named.name);
  if (!named.parameters) return;
  const auto& asked = *named.parameters;
  const machine::Wires wires(machine::one_switch({{"a", 2, {}}, {"b", 2, {}}}, {1e-5, 1e9}), {0, 0, 1, 1});
  constexpr std::array some{Operation::broadcast, Operation::all_gather, Operation::all_reduce, Operation::scan,
                            Operation::all_to_all};
  std::optional<InputError> why;
  for (const auto operation : some) {
    std::vector<std::int64_t> blocks(collectives::has_blocks_by_rank(operation) ? 4 : 1, 1024);
    const collectives::CollectiveProblem problem{operation, 4, 0, std::move(blocks), 1, true};
    if (!collectives::can(entry, problem, wires, asked)) continue;
    try {
      (void)collectives::plan_of(entry, problem, wires, asked);
      // An all-to-all has no trees, so patterns of trees mean nothing to it.
      const auto own = entry.candidates(problem, wires);
      const auto is_own = [&](const auto& parameters) { return parameters.pattern == asked.pattern; };
      if (operation != Operation::all_to_all || !why || std::any_of(own.begin(), own.end(), is_own)) return;
    } catch (const InputError& error) {
      why = error;
    }
  }
  if (why) throw InputError(*why);
}

int copy_at_once(MPI_Comm, int, void*, void* from, void* to, int* is_kept) {
  *is_kept = 1;
  *static_cast<void**>(to) = new comm::mpi::GroupsAtOnce(*static_cast<comm::mpi::GroupsAtOnce*>(from));
  return MPI_SUCCESS;
}

int free_at_once(MPI_Comm, int, void* at_once, void*) {
  delete static_cast<comm::mpi::GroupsAtOnce*>(at_once);
  return MPI_SUCCESS;
}

}  // namespace

collectives::EntryChoice ChoiceMemory::find(const machine::Wires& wires, const collectives::CollectiveProblem& shape,
                                            bool must_be_ours,
                                            const std::function<collectives::EntryChoice()>& choose) {
  constexpr std::size_t most = 4096;
  std::vector<std::int64_t> key{static_cast<std::int64_t>(shape.operation), shape.root, shape.element_bytes,
                                shape.commutative, must_be_ours};
  for (int rank = 0; rank < wires.n_ranks(); ++rank) key.push_back(wires.host_of(rank));
  key.push_back(static_cast<std::int64_t>(wires.sharing()));
  key.insert(key.end(), shape.blocks.begin(), shape.blocks.end());
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = known_.find(key); at != known_.end()) return at->second;
  }
  const double begin = MPI_Wtime();
  auto choice = choose();
  const double taken = MPI_Wtime() - begin;
  const std::lock_guard lock(mutex_);
  seconds_ += taken;
  if (known_.size() == most) known_.clear();
  return known_.try_emplace(std::move(key), std::move(choice)).first->second;
}

std::unique_ptr<Job> Job::start() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto say = [&](const std::string& note) {
    if (rank == 0) comm::print_note("tessera-collectives", note);
    return std::unique_ptr<Job>();
  };
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return nullptr;  // spawned by another job, whose ranks have places of their own
  // Rank 0's environment counts, as all ranks have to plan alike.
  const auto variable = [&](const char* name) {
    const char* text = rank == 0 ? std::getenv(name) : nullptr;
    return comm::mpi::agreed_text(text ? text : "", MPI_COMM_WORLD);
  };
  const auto map = variable("TESSERA_MACHINE"), force = variable("TESSERA_FORCE");
  if (map.empty() && force.empty())
    return say(
        fmt::format("no map of the machine{}; name one in TESSERA_MACHINE (tessera machine measure)", nothing_done));
  comm::mpi::CollectiveSettings settings;
  settings.leaves_native = true;
  if (!force.empty()) {
    try {
      const auto named = collectives::named_entry(force);
      check_entry(named);
      settings.only = named.name;
      settings.parameters = named.parameters;
    } catch (const InputError& error) {
      return say(fmt::format("TESSERA_FORCE: {}{}", error.what(), nothing_done));
    }
  }
  std::shared_ptr<const machine::Network> network;
  if (!map.empty()) {
    auto reading = comm::mpi::read_map(map, MPI_COMM_WORLD);
    if (!reading.network) return say(reading.warning);
    network = std::move(reading.network);
    settings.trials = std::move(reading.trials);
  }
  double seconds_for_traffic = 0;
  try {
    seconds_for_traffic = machine::seconds_for_traffic(variable("TESSERA_TRAFFIC"));
  } catch (const InputError& error) {
    return say(fmt::format("{}{}", error.what(), nothing_done));
  }
  auto placement =
      std::make_unique<const comm::mpi::Placement>(MPI_COMM_WORLD, std::move(network), "", seconds_for_traffic);
  if (!placement->warning().empty()) return say(placement->warning());
  const bool has_report = is_set("TESSERA_REPORT");
  const auto wires = placement->wires_of(MPI_COMM_WORLD);
  if (!wires || (!settings.only && are_together(*wires)))
    return has_report ? say(fmt::format("all ranks are on one host{}", nothing_done)) : nullptr;
  return std::unique_ptr<Job>(new Job(std::move(placement), std::move(settings), has_report && rank == 0));
}

Job::Job(std::unique_ptr<const comm::mpi::Placement> placement, comm::mpi::CollectiveSettings settings, bool has_report)
    : placement_(std::move(placement)), settings_(std::move(settings)), has_report_(has_report) {
  settings_.remember = [this](const auto& wires, const auto& shape, bool must_be_ours, const auto& choose) {
    return choices_.find(wires, shape, must_be_ours, choose);
  };
  settings_.pool = &pool_;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_group, &key_, this);
  MPI_Comm_create_keyval(copy_at_once, free_at_once, &at_once_key_, nullptr);
}

Job::~Job() {
  // All ranks free their groups in the order in which they were made.
  while (!groups_.empty()) MPI_Comm_delete_attr(groups_.front()->comm, key_);
  MPI_Comm_free_keyval(&key_);
  MPI_Comm_free_keyval(&at_once_key_);
  if (!has_report_) return;
  if (tally_.is_empty())
    comm::print_note("tessera-collectives", "rank 0 took part in no collective operation between hosts");
  else
    fmt::print(stderr,
               "tessera-collectives: operations of rank 0 between hosts, with the predicted gain\n{}"
               "tessera-collectives: choosing took {:.6f} s\n",
               tally_.text(), choices_.seconds());
  if (n_topologies_ > 0)
    fmt::print(stderr, "tessera-collectives: {} communicators of grids and graphs follow the map\n",
               n_topologies_.load());
}

constinit thread_local Job::Latest Job::latest_;

Group* Job::find_group(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return nullptr;
  const auto n_freed = n_freed_.load(std::memory_order_acquire);
  void* group = nullptr;
  int is_known = 0;
  if (MPI_Comm_get_attr(comm, key_, &group, &is_known) != MPI_SUCCESS) return nullptr;
  if (!is_known) return keep_group(comm);
  latest_ = {comm, static_cast<Group*>(group), n_freed};
  return latest_.group;
}

std::unique_ptr<Group> Job::make_group(MPI_Comm comm) const {
  static const comm::mpi::GroupsAtOnce none;
  void* at_once = nullptr;
  int is_known = 0;
  MPI_Comm_get_attr(comm, at_once_key_, &at_once, &is_known);
  auto group = std::make_unique<Group>(comm, *placement_, settings_,
                                       is_known ? *static_cast<const comm::mpi::GroupsAtOnce*>(at_once) : none);
  const auto* wires = group->collectives.wires();
  if (!wires || wires->n_ranks() == 1 || (!settings_.only && are_together(*wires))) return nullptr;
  return group;
}

Group* Job::keep_group(MPI_Comm comm) {
  auto group = make_group(comm);
  auto* const kept = group.get();
  if (MPI_Comm_set_attr(comm, key_, kept) != MPI_SUCCESS || !kept) return nullptr;
  const std::lock_guard lock(mutex_);
  groups_.push_back(std::move(group));
  return kept;
}

void Job::note_split(MPI_Comm whole, MPI_Comm part) const {
  auto at_once = std::make_unique<comm::mpi::GroupsAtOnce>(placement_->groups_at_once(whole, part));
  if (part != MPI_COMM_NULL && !at_once->empty() && MPI_Comm_set_attr(part, at_once_key_, at_once.get()) == MPI_SUCCESS)
    (void)at_once.release();
}

int Job::free_group(MPI_Comm, int, void* group, void* job) {
  auto& self = *static_cast<Job*>(job);
  ++self.n_freed_;
  if (!group) return MPI_SUCCESS;
  std::list<std::unique_ptr<Group>> freed;  // after the lock, as MPI frees communicators with it
  const std::lock_guard lock(self.mutex_);
  const auto at =
      std::find_if(self.groups_.begin(), self.groups_.end(), [&](const auto& kept) { return kept.get() == group; });
  freed.splice(freed.begin(), self.groups_, at);
  self.tally_.add(freed.front()->tally);
  return MPI_SUCCESS;
}

}  // namespace tessera::drop_in
