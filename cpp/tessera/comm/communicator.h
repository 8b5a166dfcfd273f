// The ranks that run together, and what they can say to each other. No MPI type appears here: the engine is compiled
// once and linked with one backend of this class for each MPI library (folders mpi/ and serial/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tessera::comm {

/// A message or reduction under way. Finish every one with Communicator::wait_all.
struct Request {
  alignas(8) std::byte handle[16] = {};  // an MPI_Request of either library
  bool active = false;
};

class Communicator {
 public:
  struct Implementation;

  /// All ranks of this job. Starts MPI on the first call (master thread only: MPI_THREAD_FUNNELED). Where the launcher
  /// of another MPI started several processes, its first throws InputError and the others end.
  static Communicator world();
  /// The ranks of another program's communicator, by its Fortran handle (as mpi4py's py2f); MPI is running. Collective.
  static Communicator duplicate_of(int fortran_handle);
  /// Ends MPI; call once, last.
  static void finalize();
  /// Ends the whole job at once with this exit status.
  [[noreturn]] static void abort(int status);
  /// "Open MPI v4.1.4", "MPICH 5.0.2", "serial".
  static std::string library_version();
  /// Name of the host that this rank runs on, as MPI gives it.
  static std::string host();

  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  ~Communicator();

  int rank() const;
  int size() const;
  bool is_root() const { return rank() == 0; }

  void barrier() const;
  void broadcast(std::span<std::byte> data, int root) const;

  void all_reduce_sum(std::span<std::int64_t> values) const;  // wraps around: order-independent
  void all_reduce_max(std::span<std::int64_t> values) const;
  void all_reduce_min(std::span<std::int64_t> values) const;
  void all_reduce_max(std::span<double> values) const;
  void all_reduce_sum_for_report(std::span<double> values) const;  // not bitwise reproducible: timings only
  /// The greatest stand in `values` when it is finished. Ranks start it, and all of the above, in the same order.
  Request start_all_reduce_max(std::span<std::int64_t> values) const;

  Request start_send(std::span<const std::byte> data, int destination, int tag) const;
  Request start_receive(std::span<std::byte> data, int source, int tag) const;
  static void wait_all(std::span<Request> requests);
  /// Lets messages get on that the library moves within its calls only; does not wait for them.
  static void push(std::span<const Request> requests);

  /// Bytes of every rank, in rank order, on `root` (empty elsewhere). Counts may differ and exceed 2³¹ in total.
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> data, int root) const;
  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> data) const;
  /// outgoing[r] goes to rank r; returns what came, by source rank.
  std::vector<std::vector<std::byte>> all_to_all(const std::vector<std::vector<std::byte>>& outgoing) const;

  /// The MPI library's own: sizes[r] bytes at offsets[r] of `outgoing` go to rank r, and into places of `incoming`.
  void all_to_all(const std::byte* outgoing, std::span<const std::int64_t> send_sizes,
                  std::span<const std::int64_t> send_offsets, std::byte* incoming,
                  std::span<const std::int64_t> receive_sizes, std::span<const std::int64_t> receive_offsets) const;

 private:
  friend class SharedMemory;
  friend class PlannedMoves;
  explicit Communicator(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

/// A contiguous array of trivially copyable values as bytes.
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

/// The values that a byte block received from another rank holds.
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

/// A string or vector of trivially copyable values of `root`, on all ranks, whatever they held. Collective.
template <class Container>
void broadcast_resized(const Communicator& comm, Container& values, int root = 0) {
  auto n = static_cast<std::int64_t>(values.size());
  comm.broadcast(std::as_writable_bytes(std::span(&n, 1)), root);
  values.resize(static_cast<std::size_t>(n));
  comm.broadcast(writable_bytes_of(values), root);
}

/// Agrees on a verdict: if `message` is not empty on any rank, every rank throws an InputError (or RunError) with the
/// text of the lowest such rank. Collective.
void agree_on_input(const Communicator& comm, const std::string& message);
void agree_on_run(const Communicator& comm, const std::string& message);

}  // namespace tessera::comm
