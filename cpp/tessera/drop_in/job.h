// What a process keeps while it carries out the collective operations of a program: where the ranks of its job are, and
// for each communicator the plans and what they took.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tessera/comm/mpi/collectives.h"
#include "tessera/comm/mpi/placement/placement.h"
#include "tessera/drop_in/pool.h"
#include "tessera/drop_in/tally.h"

namespace tessera::drop_in {

/// What was chosen for problems on any communicator of this process, as programs make and free groups of the same ranks
/// by the hundred. It may be asked by several threads at once.
class ChoiceMemory {
 public:
  collectives::EntryChoice find(const machine::Wires& wires, const collectives::CollectiveProblem& shape,
                                bool must_be_ours, const std::function<collectives::EntryChoice()>& choose);
  /// Returns how long it took to choose what was not known, s.
  double seconds() const { return seconds_; }

 private:
  std::mutex mutex_;
  std::map<std::vector<std::int64_t>, collectives::EntryChoice> known_;
  double seconds_ = 0;
};

/// A communicator of the program whose operations may be planned.
struct Group {
  Group(MPI_Comm of_program, const comm::mpi::Placement& placement, const comm::mpi::CollectiveSettings& settings,
        const comm::mpi::GroupsAtOnce& at_once)
      : comm(of_program), collectives(of_program, placement, settings, at_once) {}

  MPI_Comm comm;
  comm::mpi::Collectives collectives;
  Tally tally;
};

/// The job of this process. Its functions may be called by several threads at once; none holds a lock while messages
/// travel.
class Job {
 public:
  /// Reads the environment (TESSERA_MACHINE, TESSERA_FORCE, TESSERA_REPORT) and the map. Returns null where nothing is
  /// to be done. Collective over the world, from inside MPI_Init.
  static std::unique_ptr<Job> start();
  /// Frees what is kept for communicators, and prints the report where one was asked for. MPI has not ended.
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Returns what is kept for a communicator; null where all of it is left to the MPI library.
  Group* group_of(MPI_Comm comm) {
    return comm == latest_.comm && n_freed_.load(std::memory_order_acquire) == latest_.n_freed ? latest_.group
                                                                                               : find_group(comm);
  }
  /// Keeps with a part of a communicator what the other parts are, as they will communicate at the same time. Collective
  /// over the whole, from inside the call that divided it.
  void note_split(MPI_Comm whole, MPI_Comm part) const;
  bool has_report() const { return has_report_; }
  /// Counts a communicator, for the report, whose ranks were numbered along the map.
  void count_topology() { ++n_topologies_; }

 private:
  Job(std::unique_ptr<const comm::mpi::Placement> placement, comm::mpi::CollectiveSettings settings, bool has_report);
  std::unique_ptr<Group> make_group(MPI_Comm comm) const;
  Group* find_group(MPI_Comm comm);
  Group* keep_group(MPI_Comm comm);
  /// Frees what is kept for a communicator; MPI calls this when it frees that.
  static int free_group(MPI_Comm comm, int key, void* group, void* job);

  /// What a thread asked for last. It is right as long as no communicator was freed, as handles are used again.
  struct Latest {
    MPI_Comm comm{};
    Group* group = nullptr;
    std::uint64_t n_freed = 0;
  };
  static constinit thread_local Latest latest_;

  std::unique_ptr<const comm::mpi::Placement> placement_;
  ChoiceMemory choices_;
  Pool pool_;
  comm::mpi::CollectiveSettings settings_;
  bool has_report_;
  std::atomic<int> n_topologies_ = 0;
  std::atomic<std::uint64_t> n_freed_ = 1;  // communicators, so far
  int key_ = MPI_KEYVAL_INVALID;            // of the attribute of communicators that points to their group
  int at_once_key_ = MPI_KEYVAL_INVALID;    // of that which points to the groups at the same time
  std::mutex mutex_;                        // of the following
  std::list<std::unique_ptr<Group>> groups_;
  Tally tally_;  // of communicators that were freed
};

}  // namespace tessera::drop_in
