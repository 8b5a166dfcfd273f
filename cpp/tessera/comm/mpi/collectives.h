// Collective operations with MPI's arguments, counts of 64 bits and MPI's error codes. Each is carried out by the plan
// that is predicted to be the fastest on the measured network, or by the MPI library's own function where no gain is
// predicted, where nothing is known of the network, or where arguments are invalid (so that the library may say so).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/collectives/choose.h"
#include "tessera/comm/mpi/datatype.h"
#include "tessera/comm/mpi/execute.h"
#include "tessera/machine/wires.h"

namespace tessera::comm::mpi {

using collectives::CollectiveProblem;
using collectives::Operation;

struct CollectiveSettings {
  std::optional<std::string> only;                    // an entry of the registry, or "native"; absent: the fastest
  std::optional<collectives::Parameters> parameters;  // of that entry; absent: the best
  std::vector<machine::Trial> trials;                 // of this MPI library, on rank 0
  std::string host;                                   // name of this rank's host; empty: what MPI says
  std::size_t kept_plans = 64;
  Limits limits;
};

/// Says how an operation is carried out.
struct Decision {
  std::string name = "native";  // of the plan
  bool is_ours = false;
  double seconds = 0;         // predicted; 0 where nothing was
  double native_seconds = 0;  // predicted for the MPI library's own
  std::string reason;
  std::vector<std::string>
      candidates;  // entries with their parameters, fastest first; on rank 0, where it had to choose
};

/// The collective operations of one communicator. All ranks make the same calls in the same order, as MPI demands, and
/// from one thread at a time. Arguments that MPI ignores on a rank are ignored.
class Collectives {
 public:
  /// Leaves all operations to the MPI library. `comm` outlives this object.
  explicit Collectives(MPI_Comm comm);
  /// Plans for a network, which is the same on all ranks, as are the settings (but for `host`). Without a network, or
  /// with one that these ranks are not on, the MPI library carries out all operations, unless an entry is asked for.
  /// Throws InputError for an unknown entry. `comm` outlives this object. Collective.
  Collectives(MPI_Comm comm, const std::shared_ptr<const machine::Network>& network, CollectiveSettings settings = {});
  /// Frees what it holds. Collective, unless MPI has ended.
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  /// Says why the network is not used, in one line that is the same on all ranks. It is empty where the network is
  /// used, or where there is none.
  const std::string& warning() const { return warning_; }
  /// Returns the wires of these ranks, which are on hosts of one switch where there is no network; null where `warning`
  /// says why there are none.
  const machine::Wires* wires() const { return wires_ ? &*wires_ : nullptr; }
  /// Says how the latest call was carried out.
  const Decision& latest() const { return *latest_; }

  int barrier();
  int broadcast(void* buffer, std::int64_t count, MPI_Datatype type, int root);
  int scatter(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, std::int64_t n_receive,
              MPI_Datatype receive_type, int root);
  int scatterv(const void* send, const std::int64_t* counts, const std::int64_t* displacements, MPI_Datatype send_type,
               void* receive, std::int64_t n_receive, MPI_Datatype receive_type, int root);
  int gather(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, std::int64_t n_receive,
             MPI_Datatype receive_type, int root);
  int gatherv(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, const std::int64_t* counts,
              const std::int64_t* displacements, MPI_Datatype receive_type, int root);
  int all_gather(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, std::int64_t n_receive,
                 MPI_Datatype receive_type);
  int all_gatherv(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive,
                  const std::int64_t* counts, const std::int64_t* displacements, MPI_Datatype receive_type);
  int all_to_all(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, std::int64_t n_receive,
                 MPI_Datatype receive_type);
  int all_to_allv(const void* send, const std::int64_t* send_counts, const std::int64_t* send_displacements,
                  MPI_Datatype send_type, void* receive, const std::int64_t* receive_counts,
                  const std::int64_t* receive_displacements, MPI_Datatype receive_type);
  int reduce(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op op, int root);
  int all_reduce(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op op);
  /// Starts a reduction from `values` to `values` by the library, as plans progress only inside calls.
  int start_all_reduce(void* values, std::int64_t count, MPI_Datatype type, MPI_Op op, MPI_Request* request);
  int reduce_scatter(const void* send, void* receive, const std::int64_t* counts, MPI_Datatype type, MPI_Op op);
  int reduce_scatter_block(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op op);
  int scan(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op op);
  int exscan(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op op);

 private:
  /// This rank's part in what the library does inside its host before and after the messages of a plan.
  struct Inside {
    int leader = 0;  // rank in inside_
    bool is_leader = false;
    std::size_t first = 0;  // lowest rank of the host
  };
  struct Planned {
    CollectiveProblem problem;
    std::vector<std::int64_t> offsets;
    Decision decision;
    std::optional<Schedule> schedule;  // absent: the MPI library's own
    std::optional<Inside> inside;      // of hierarchical plans, unless the rank is alone on its host
    std::uint64_t used = 0;            // when

    bool writes_output() const {
      return !schedule->written(Buffer::output).is_empty() || (inside && inside->is_leader);
    }
  };
  /// A message of an operation whose counts only the two ranks know.
  struct Direct {
    bool is_send = false;
    int peer = 0;
    Data data;
  };
  struct BlocksByRank;

  std::string find_network(const machine::Network& network, const std::vector<std::string>& names);
  bool may_plan() const { return wires_.has_value() && n_ranks_ > 1; }
  bool is_rank(int rank) const { return rank >= 0 && rank < n_ranks_; }
  bool is_direct() const { return may_plan() && settings_.only && settings_.only != "native"; }

  /// Returns what to execute; null for the MPI library's own function.
  const Planned* plan(CollectiveProblem problem);
  Planned choose(CollectiveProblem problem);
  std::optional<collectives::PricedEntry> agree_on_candidate(const CollectiveProblem& problem, Decision& decision);
  collectives::EntryChoice choose_here(const CollectiveProblem& problem) const;
  int run(const Planned& planned, const BufferAddresses& vectors, const Element& element,
          const Reduction& reduction = {});
  int run(const Schedule& schedule, const BufferAddresses& vectors, const Element& element,
          const Reduction& reduction = {});
  std::optional<Inside> make_inside(const CollectiveProblem& problem);
  int collect(const Planned& planned, std::byte* output, const Element& element, const Reduction& reduction);
  int distribute(const Planned& planned, std::byte* output, const Element& element);
  /// Ends a call: frees very large storage, and passes an error to the error handler of the user's communicator.
  int finish(int code);

  const Planned* plan_move(Operation operation, std::vector<std::int64_t> bytes, int root = 0);
  int all_gather_blocks(const Planned& planned, const Data& own, const BlocksByRank& blocks);
  int send_directly(std::span<const Direct> messages);
  int copy_block(const Data& from, const Data& to);

  const Planned* plan_reduction(Operation operation, std::vector<std::int64_t> counts, MPI_Datatype type, MPI_Op op,
                                int root = 0);
  int reduce_vector(const Planned& planned, const void* send, void* receive, std::int64_t count, MPI_Datatype type,
                    MPI_Op op, bool has_result);
  int reduce_blocks(const Planned& planned, const void* send, void* receive, MPI_Datatype type, MPI_Op op);

  MPI_Comm comm_;                     // the user's
  MPI_Comm private_ = MPI_COMM_NULL;  // carries the messages of plans
  MPI_Comm inside_ = MPI_COMM_NULL;   // the ranks of this host; made when first needed
  int rank_ = 0, n_ranks_ = 1;
  CollectiveSettings settings_;
  bool is_measured_ = false;
  std::string warning_;
  std::optional<machine::Wires> wires_;
  std::optional<Executor> executor_;
  std::vector<Planned> planned_;  // of fixed capacity
  std::uint64_t n_calls_ = 0;
  std::vector<std::pair<int, int>> direct_order_;  // sender, receiver: those of this rank in all_to_allv
  const Decision unplanned_{
      "native", false, 0, 0, "nothing to plan: one rank, no data, or counts that others don't know", {}};
  const Decision direct_{"direct", true, 0, 0, "messages straight to their ranks: counts are known to pairs alone", {}};
  const Decision* latest_ = &unplanned_;
  Storage input_, output_, scratch_;
};

}  // namespace tessera::comm::mpi
