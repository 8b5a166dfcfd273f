// The ranks of a job and their messages to each other. No MPI type appears here: the engine is compiled once and linked
// with one backend of this class for each MPI library (folders mpi/ and serial/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tessera/machine/survey/trial.h"

namespace tessera::machine {
struct Network;
}

namespace tessera::comm {

/// A message or reduction that is under way. Every one must be finished with Communicator::wait_all.
struct Request {
  alignas(8) std::byte handle[16] = {};  // an MPI_Request of either library
  bool active = false;
};

/// How collective operations follow a network.
struct Following {
  std::optional<std::string> entry = {};  // of the registry, for all that it can do; absent: the fastest by prediction
  std::vector<machine::Trial> trials = {};  // of this MPI library: rank 0's correct the predictions
  int library_calls = 0;           // so many calls of a class of sizes are the library's before a choice is made for it
  double seconds_for_traffic = 0;  // that measuring what others send may take; 0: it is what the network says
};

/// Calls of collective operations that a plan has carried out.
struct PlanUse {
  std::string operation, plan;
  std::int64_t bytes = 0;  // that stand for the class of sizes
  std::int64_t calls = 0;
  double seconds = 0, native_seconds = 0;  // predicted for a call: the plan's and the MPI library's own; 0: not known
};

class SharedFile;
struct Hint;

class Communicator {
 public:
  struct Implementation;

  /// Returns the communicator of all ranks of this job. Starts MPI on the first call (master thread only:
  /// MPI_THREAD_FUNNELED). Where the launcher of another MPI started several processes, its first process throws
  /// InputError and the others end.
  static Communicator world();
  /// Returns a duplicate of another program's communicator, given by its Fortran handle (mpi4py's py2f). MPI must be
  /// running. Collective.
  static Communicator duplicate_of(int fortran_handle);
  /// Returns a duplicate of a communicator that another program keeps at this address (an MPI_Comm*). Collective.
  static Communicator duplicate_at(const void* address);
  /// Returns a communicator of this rank only. MPI must be running.
  static Communicator alone();
  /// Ends MPI. It is called once, as the last function.
  static void finalize();
  /// Ends the whole job at once with this exit status.
  [[noreturn]] static void abort(int status);
  /// Returns the name and version of the library: "Open MPI v4.1.4", "MPICH 5.0.2", "serial".
  static std::string library_version();
  /// Tells whether every thread may send and receive at any time (MPI_THREAD_MULTIPLE), as where mpi4py starts MPI.
  static bool all_threads_may_communicate();
  /// Returns the name of the host that this rank runs on, as MPI gives it.
  static std::string host();

  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  ~Communicator();

  int rank() const;
  int size() const;
  bool is_root() const { return rank() == 0; }
  /// Tells whether the communicator at an address (an MPI_Comm*) has the same ranks in the same order.
  bool is_congruent(const void* address) const;

  /// Makes collective operations follow a network: each is carried out by the plan that is predicted to be the fastest,
  /// or by the MPI library where no gain is predicted. Without a network, as in the beginning, all are carried out by
  /// the library. Arguments are the same on all ranks. Returns why the network can't be used (one line, the same on all
  /// ranks); empty where it is used. Throws InputError for an unknown entry. Collective.
  std::string follow(const std::shared_ptr<const machine::Network>& network, Following how = {});
  /// Makes them follow the network of a machine file, which rank 0 reads, with its trials of this MPI library. What is
  /// called a few times alone, as while a program begins, is left to the library. Returns what `follow` does, or why the
  /// file is of no use. Without a file (an empty path) all are the library's. The traffic of others is measured for so
  /// many seconds first; 0: it is that of the file. Collective.
  std::string follow_map(const std::string& machine_file, double seconds_for_traffic = 0);
  /// Returns which plans have carried out operations since `follow`: the same on all ranks.
  std::vector<PlanUse> plans_used() const;

  void barrier() const;
  void broadcast(std::span<std::byte> data, int root) const;

  void all_reduce_sum(std::span<std::int64_t> values) const;  // wraps around: order-independent
  void all_reduce_max(std::span<std::int64_t> values) const;
  void all_reduce_min(std::span<std::int64_t> values) const;
  void all_reduce_max(std::span<double> values) const;
  void all_reduce_sum_for_report(std::span<double> values) const;  // not bitwise reproducible: timings only
  /// Sums doubles, each addition rounded, in an order that depends on how many ranks there are and on the network; the
  /// result is that of rank 0, the same bits on all ranks.
  void all_reduce_rounded_sum(std::span<double> values) const;
  /// Starts a reduction; `values` holds the greatest values when it is finished. Ranks start it and all operations
  /// above in the same order. It is always the MPI library's, as a plan progresses only while its rank is inside a
  /// call.
  Request start_all_reduce_max(std::span<std::int64_t> values) const;

  Request start_send(std::span<const std::byte> data, int destination, int tag) const;
  Request start_receive(std::span<std::byte> data, int source, int tag) const;
  static void wait_all(std::span<Request> requests);
  /// Lets the MPI library progress messages that it moves only inside its calls. It does not wait for them.
  static void progress(std::span<const Request> requests);

  /// Gathers blocks of one size in rank order into `all`, which is used on `root` alone.
  void gather(std::span<const std::byte> block, std::span<std::byte> all, int root) const;
  /// Gathers blocks, whose sizes all ranks know, in rank order into `all` on every rank.
  void all_gather(std::span<const std::byte> block, std::span<const std::int64_t> sizes,
                  std::span<std::byte> all) const;
  /// Sums vectors of blocks, one for each rank, whose sizes (numbers of values) all ranks know: `own` holds this rank's
  /// block of the sum, which wraps around.
  void reduce_scatter_sum(std::span<const std::int64_t> values, std::span<const std::int64_t> sizes,
                          std::span<std::int64_t> own) const;
  /// Exchanges blocks of one size: block r of `outgoing` goes to rank r, block r of `incoming` comes from it.
  void all_to_all(std::span<const std::byte> outgoing, std::span<std::byte> incoming) const;

  /// Returns the bytes of every rank in rank order on `root`, and nothing on other ranks. Sizes may differ and exceed
  /// 2³¹ in total.
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> data, int root) const;
  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> data) const;
  /// Sends outgoing[r] to rank r, and returns what was received by source rank.
  std::vector<std::vector<std::byte>> all_to_all(const std::vector<std::vector<std::byte>>& outgoing) const;

  /// Exchanges by the MPI library's own function: send_sizes[r] bytes at send_offsets[r] of `outgoing` go to rank r,
  /// and receive_sizes[r] bytes come from it to receive_offsets[r] of `incoming`.
  void all_to_all(const std::byte* outgoing, std::span<const std::int64_t> send_sizes,
                  std::span<const std::int64_t> send_offsets, std::byte* incoming,
                  std::span<const std::int64_t> receive_sizes, std::span<const std::int64_t> receive_offsets) const;

 private:
  /// A choice takes some ten milliseconds: so many calls of a class of sizes come before one is made.
  static constexpr int seldom = 10;

  friend class SharedMemory;
  friend class PlannedMoves;
  friend std::unique_ptr<SharedFile> open_shared_file(const Communicator& comm, const std::string& path,
                                                      const std::vector<Hint>& hints);
  explicit Communicator(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

/// Views a contiguous array of trivially copyable values as bytes.
template <class Container>
std::span<const std::byte> bytes_of(const Container& values) {
  static_assert(std::is_trivially_copyable_v<std::remove_cvref_t<decltype(*std::data(values))>>);
  return std::as_bytes(std::span(std::data(values), std::size(values)));
}

template <class Container>
std::span<std::byte> writable_bytes_of(Container& values) {
  static_assert(std::is_trivially_copyable_v<std::remove_cvref_t<decltype(*std::data(values))>>);
  return std::as_writable_bytes(std::span(std::data(values), std::size(values)));
}

/// Views a block of bytes that was received from another rank as values.
template <class Value>
std::span<const Value> values_of(const std::vector<std::byte>& bytes) {
  static_assert(std::is_trivially_copyable_v<Value>);
  return {reinterpret_cast<const Value*>(bytes.data()), bytes.size() / sizeof(Value)};
}

inline std::int64_t all_reduce_sum(const Communicator& comm, std::int64_t value) {
  comm.all_reduce_sum(std::span(&value, 1));
  return value;
}
inline std::int64_t all_reduce_max(const Communicator& comm, std::int64_t value) {
  comm.all_reduce_max(std::span(&value, 1));
  return value;
}

/// Sends a string or vector of trivially copyable values from `root` to all ranks, whatever they held. Collective.
template <class Container>
void broadcast_resized(const Communicator& comm, Container& values, int root = 0) {
  auto n = static_cast<std::int64_t>(values.size());
  comm.broadcast(std::as_writable_bytes(std::span(&n, 1)), root);
  values.resize(static_cast<std::size_t>(n));
  comm.broadcast(writable_bytes_of(values), root);
}

/// Agrees on the outcome of a check: if `message` is not empty on any rank, every rank throws an InputError (or
/// RunError) with the text of the lowest such rank. Collective.
void agree_on_input(const Communicator& comm, const std::string& message);
void agree_on_run(const Communicator& comm, const std::string& message);

}  // namespace tessera::comm
