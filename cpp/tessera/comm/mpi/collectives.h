// Collective operations with MPI's arguments, counts of 64 bits and MPI's error codes. Each is carried out by the plan
// that is predicted to be the fastest on the measured network, or by the MPI library's own function where no gain is
// predicted, where nothing is known of the network, or where arguments are invalid (so that the library may say so).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/collectives/choose.h"
#include "tessera/comm/communicator.h"
#include "tessera/comm/mpi/datatype.h"
#include "tessera/comm/mpi/execute.h"
#include "tessera/comm/mpi/placement/placement.h"
#include "tessera/comm/mpi/recent.h"
#include "tessera/machine/wires.h"

namespace tessera::comm::mpi {

using collectives::CollectiveProblem;
using collectives::Operation;

/// The plans that a communicator leaves when it is freed, with the communicators that carry their messages.
struct LeftPlans {
  LeftPlans() = default;
  virtual ~LeftPlans() = default;
  LeftPlans(const LeftPlans&) = delete;
  LeftPlans& operator=(const LeftPlans&) = delete;

  static constexpr std::int64_t none = -1;
  std::vector<int> ranks;      // in the world
  std::uint64_t sharing = 0;   // of wires with other groups (machine::Wires::sharing)
  std::int64_t number = none;  // the same on all ranks, and on rank 0 that of no others; none where there is no pool
};

/// Where communicators leave their plans for others of the same ranks.
class PlanPool {
 public:
  virtual ~PlanPool() = default;
  /// Returns what an earlier communicator of the same ranks in the same order, and beside the same groups, has left on
  /// all of them, else `fresh`. Collective over `comm`.
  virtual std::unique_ptr<LeftPlans> take(MPI_Comm comm, std::unique_ptr<LeftPlans> fresh) = 0;
  /// Keeps what a communicator leaves whose calls on this rank are over.
  virtual void keep(std::unique_ptr<LeftPlans> left) = 0;
};

struct CollectiveSettings {
  std::optional<std::string> only;                    // an entry of the registry, or "native"; absent: the fastest
  std::optional<collectives::Parameters> parameters;  // of that entry; absent: the best
  std::vector<machine::Trial> trials;                 // of this MPI library, on rank 0
  int library_calls = 0;                              // of a class of sizes, before a choice is made for it
  std::size_t kept_plans = 64, kept_choices = 256;
  Limits limits;
  /// Returns a choice that another communicator made for such a problem on ranks of the same hosts, or else that of
  /// `choose`; asked on rank 0 alone. Absent: each communicator chooses for itself.
  std::function<collectives::EntryChoice(const machine::Wires& wires, const CollectiveProblem& shape, bool must_be_ours,
                                         const std::function<collectives::EntryChoice()>& choose)>
      remember;
  bool leaves_native = false;  // what the library is to carry out is left to the caller
  PlanPool* pool = nullptr;    // where plans come from and go to; null: they end with the communicator
};

/// What an operation returns, instead of MPI's code, where it did nothing and its caller has to call the library
/// (`CollectiveSettings::leaves_native`; not of scatterv, gatherv, all_to_allv).
inline constexpr int left_to_caller = -1;

/// Says how an operation is carried out.
struct Decision {
  std::string name = "native";  // of the plan
  bool is_ours = false;
  double seconds = 0;         // predicted for the size that stands for its class; 0 where nothing was
  double native_seconds = 0;  // predicted for the MPI library's own at that size
  std::string reason;
  std::vector<std::string>
      candidates;  // entries with their parameters, fastest first; on rank 0, where it had to choose
};

/// The collective operations of one communicator. All ranks make the same calls in the same order, as MPI demands, and
/// from one thread at a time. Arguments that MPI ignores on a rank are ignored.
///
/// Rank 0 chooses once for each class of problems (collectives::representative) and tells the others; all ranks derive
/// the plans of the class from that choice without a message. Nothing is made or sent before the first plan is needed;
/// then the ranks make a communicator for the messages of plans. With a pool they first ask whether all of them have the
/// plans of an earlier communicator there.
class Collectives {
 public:
  /// Leaves all operations to the MPI library. `comm` outlives this object.
  explicit Collectives(MPI_Comm comm);
  /// Plans for the network of a placement that includes these ranks. Settings are the same on all ranks. Without a
  /// network, or with one that these ranks are not on, the MPI library carries out all operations, unless an entry is
  /// asked for. The other groups are thought to do the same at the same time. Throws InputError for an unknown entry.
  /// `comm` outlives this object. Not collective.
  Collectives(MPI_Comm comm, const Placement& placement, CollectiveSettings settings = {},
              const GroupsAtOnce& at_once = {});
  /// Frees what it holds. Collective, unless MPI has ended.
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  int rank() const { return rank_; }
  /// Returns the wires of these ranks, which are on hosts of one switch where there is no network; null where they were
  /// not placed.
  const machine::Wires* wires() const { return wires_ ? &*wires_ : nullptr; }
  /// Says how the latest call was carried out.
  const Decision& latest() const { return *latest_; }
  /// Returns which plans have carried out calls.
  const std::vector<PlanUse>& uses() const { return kept_->uses; }
  /// Returns the size that stands for the class of the latest call (collectives::bytes_of); 0 where nothing was planned.
  std::int64_t latest_bytes() const;
  /// Returns how often rank 0 has chosen so far.
  std::int64_t n_choices() const { return n_choices_; }
  /// Returns the latest decision with the times that are predicted for the very size of the latest call, for programs
  /// that compare them with measurements. It prices plans, which takes a while.
  Decision price_latest() const;

  int barrier();
  int broadcast(void* buffer, std::int64_t count, MPI_Datatype type, int root);
  int scatter(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, std::int64_t n_receive,
              MPI_Datatype receive_type, int root);
  int scatterv(const void* send, const Integers& counts, const Integers& displacements, MPI_Datatype send_type,
               void* receive, std::int64_t n_receive, MPI_Datatype receive_type, int root);
  int gather(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, std::int64_t n_receive,
             MPI_Datatype receive_type, int root);
  int gatherv(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, const Integers& counts,
              const Integers& displacements, MPI_Datatype receive_type, int root);
  int all_gather(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, std::int64_t n_receive,
                 MPI_Datatype receive_type);
  int all_gatherv(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, const Integers& counts,
                  const Integers& displacements, MPI_Datatype receive_type);
  int all_to_all(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive, std::int64_t n_receive,
                 MPI_Datatype receive_type);
  int all_to_allv(const void* send, const Integers& send_counts, const Integers& send_displacements,
                  MPI_Datatype send_type, void* receive, const Integers& receive_counts,
                  const Integers& receive_displacements, MPI_Datatype receive_type);
  int reduce(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op op, int root);
  int all_reduce(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op op);
  /// Starts a reduction from `values` to `values` by the library, as plans progress only inside calls.
  int start_all_reduce(void* values, std::int64_t count, MPI_Datatype type, MPI_Op op, MPI_Request* request);
  int reduce_scatter(const void* send, void* receive, const Integers& counts, MPI_Datatype type, MPI_Op op);
  int reduce_scatter_block(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op op);
  int scan(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op op);
  int exscan(const void* send, void* receive, std::int64_t count, MPI_Datatype type, MPI_Op op);

 private:
  /// The blocks of a call: all alike, or of a count for each rank.
  struct Blocks {
    int n = 1;
    std::int64_t each = 0;  // elements
    Integers counts = {};   // in its stead, in units
    std::int64_t unit = 1;  // elements

    int n_given() const { return counts ? n : 1; }  // the others are the same
    std::int64_t operator[](int i) const { return counts ? unit * counts[i] : each; }
  };
  /// What a call asks for. It becomes a problem, whose blocks take memory, only where no plan of it is known.
  struct Asked {
    Operation operation = Operation::barrier;
    int root = 0;
    std::int64_t element_bytes = 1;
    bool commutative = true;
    Blocks blocks;
  };
  /// This rank's part in what the library does inside its host before and after the messages of a plan.
  struct Inside {
    int leader = 0;  // rank in Kept::inside
    bool is_leader = false;
    std::size_t first = 0;  // lowest rank of the host
  };
  /// What carries out all problems of a class.
  struct Choice {
    CollectiveProblem shape;                    // that stands for them
    bool must_be_ours = false;                  // as the library can't count so far
    bool is_made = false;                       // else it is the library's for the time being
    int n_asked = 0;                            // before it was made
    const collectives::Entry* entry = nullptr;  // null: the MPI library's own
    collectives::Parameters parameters;
    Decision decision;
  };
  struct Planned {
    CollectiveProblem problem;
    std::vector<std::int64_t> offsets;
    Choice choice;
    std::optional<Schedule> schedule;  // absent: the MPI library's own
    std::optional<Inside> inside;      // of hierarchical plans, unless the rank is alone on its host
    std::size_t use = 0;               // in Kept::uses
    int n_given = 1;                   // blocks of the calls that asked for it

    bool writes_output() const {
      return !schedule->written(Buffer::output).is_empty() || (inside && inside->is_leader);
    }
  };
  /// What other communicators of the same ranks may take over when this one is freed.
  struct Kept : LeftPlans {
    explicit Kept(const CollectiveSettings& settings) : choices(settings.kept_choices), planned(settings.kept_plans) {}
    /// Frees the communicators, unless MPI has ended.
    ~Kept() override;

    MPI_Comm messages = MPI_COMM_NULL;  // carries those of plans; made when first needed
    MPI_Comm inside = MPI_COMM_NULL;    // the ranks of this host; made when first needed
    std::optional<Executor> executor;   // on `messages`
    Recent<Choice> choices;
    Recent<Planned> planned;
    std::vector<PlanUse> uses;
    bool is_broken = false;  // after an error messages may be under way
  };
  /// A message of an operation whose counts only the two ranks know.
  struct Direct {
    bool is_send = false;
    int peer = 0;
    Data data;
  };
  struct BlocksByRank;

  bool may_plan() const { return wires_.has_value() && n_ranks_ > 1; }
  bool is_rank(int rank) const { return rank >= 0 && rank < n_ranks_; }
  bool is_direct() const { return may_plan() && settings_.only && settings_.only != "native"; }

  /// Returns what to execute; null for the MPI library's own function.
  const Planned* plan(const Asked& asked);
  CollectiveProblem problem_of(const Asked& asked) const;
  Planned make_plan(CollectiveProblem problem);
  const Choice& choice_for(const CollectiveProblem& problem);
  std::size_t find_use(const Planned& planned);
  Choice agree_on_choice(CollectiveProblem shape, bool must_be_ours);
  collectives::EntryChoice choose_here(const CollectiveProblem& shape, bool must_be_ours) const;
  void make_private();
  /// Carries out an operation by this function of the MPI library, or leaves that to the caller where it wants so.
  template <class Function, class... Arguments>
  int leave_to(Function library, const Arguments&... arguments) const {
    return settings_.leaves_native ? left_to_caller : library(arguments..., comm_);
  }
  int run(const Planned& planned, const BufferAddresses& vectors, const Element& element,
          const Reduction& reduction = {});
  int run(const Schedule& schedule, const BufferAddresses& vectors, const Element& element,
          const Reduction& reduction = {});
  std::optional<Inside> make_inside(const CollectiveProblem& problem);
  int collect(const Planned& planned, std::byte* output, const Element& element, const Reduction& reduction);
  int distribute(const Planned& planned, std::byte* output, const Element& element);
  /// Ends a call: frees very large storage, and passes an error to the error handler of the user's communicator.
  int finish(int code);

  std::int64_t bytes_of_data(std::int64_t count, MPI_Datatype type);
  const Planned* plan_move(Operation operation, const Blocks& bytes, int root = 0) {
    return plan({operation, root, 1, true, bytes});
  }
  int all_gather_blocks(const Planned& planned, const Data& own, const BlocksByRank& blocks);
  int send_directly(std::span<const Direct> messages);
  int copy_block(const Data& from, const Data& to);

  const Planned* plan_reduction(Operation operation, const Blocks& counts, MPI_Datatype type, MPI_Op op, int root = 0);
  int reduce_vector(const Planned& planned, const void* send, void* receive, std::int64_t count, MPI_Datatype type,
                    MPI_Op op, bool has_result);
  int reduce_blocks(const Planned& planned, const void* send, void* receive, MPI_Datatype type, MPI_Op op);

  MPI_Comm comm_;  // the user's
  int rank_ = 0, n_ranks_ = 1;
  LatestType types_;
  CollectiveSettings settings_;
  bool is_measured_ = false;
  std::optional<machine::Wires> wires_;
  std::unique_ptr<Kept> kept_;
  bool asks_pool_ = false;  // before the first plan
  std::int64_t n_choices_ = 0;
  const Planned* latest_planned_ = nullptr;        // that `latest_` belongs to
  std::vector<std::pair<int, int>> direct_order_;  // sender, receiver: those of this rank in all_to_allv
  const Decision unplanned_{
      "native", false, 0, 0, "nothing to plan: one rank, no data, or counts that others don't know", {}};
  const Decision direct_{"direct", true, 0, 0, "messages straight to their ranks: counts are known to pairs alone", {}};
  const Decision* latest_ = &unplanned_;
  Storage input_, output_, scratch_;
};

}  // namespace tessera::comm::mpi
