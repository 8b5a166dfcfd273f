// Brings the halo of a batch of fields to a rank: from ranks of its host through shared memory, from others in one
// message each. Two batches can be under way.
#pragma once

#include <array>
#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tessera/base/phase_timer.h"
#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/comm/shared_memory.h"
#include "tessera/grid/halo.h"
#include "tessera/grid/kernel.h"
#include "tessera/grid/layout.h"

namespace tessera::grid {

enum class GridPhase { packing, waiting, computing };
inline constexpr std::size_t n_grid_phases = 3;
using GridTimers = PhaseTimers<GridPhase, n_grid_phases>;

struct ExchangeOptions {
  bool by_direction = false;       // one direction after the other, instead of all at once
  bool uses_shared_memory = true;  // on a host
  std::int64_t components = 1;     // reals of a point
  std::int64_t most_fields = 1;    // of a batch
  /// Along these directions this rank's own images are copied as faces of other ranks are: for trials (choice/rates.h).
  std::array<bool, 3> copies_images{};
  int tag = 0;  // of messages; exchanges that are under way at once have different ones
  std::array<std::complex<double>, 3> phases{1, 1, 1};
};

/// References must outlive it. Memory: the surfaces of two batches, as sent and as received.
template <class Real>
class HaloExchange {
 public:
  static constexpr int n_slots = 2;

  /// Makes the messages of a halo. Collective.
  HaloExchange(const GridLayout& layout, const HaloShape& shape, const ExchangeOptions& options,
               const comm::Communicator& comm);

  const IndexBox& box() const { return box_; }
  std::int64_t values_of_field() const { return box_.size() * options_.components; }
  /// Returns the values of a field that this rank copies for itself.
  std::int64_t values_of_images() const { return image_values_; }
  /// Tells whether this rank sends or receives messages, instead of reading faces in shared memory.
  bool sends_messages() const;

  /// Sets the phases of the next batches.
  void set_phases(const std::array<std::complex<double>, 3>& phases);

  /// Sends the surfaces of fields, which lie one after the other. All ranks start, finish and release the same batches
  /// in the same order.
  void start(int slot, const Real* from, std::int64_t fields, ThreadPool& threads, GridTimers& timers);
  /// Waits for the halo of the batch. By directions: sends and waits for each in turn.
  void finish(int slot, ThreadPool& threads, GridTimers& timers);
  /// Lets messages of a batch progress.
  void progress(int slot) const;
  /// Finds where the rows of one field of a finished batch are; the vector of `rows` is used again.
  void place_rows(int slot, std::int64_t field, FieldRows<Real>& rows) const;
  /// Ends the use of a finished batch.
  void release(int slot);

 private:
  /// A rank's pieces in one message, and its place.
  struct Peer {
    HaloPeer plan;
    std::int64_t send_values = 0, receive_values = 0;        // of one field
    std::array<std::int64_t, n_slots> sent_at{}, seen_at{};  // in this rank's and in its shared memory, bytes
    bool is_on_host = false;
  };
  /// Counters that the ranks of a host read: how often each slot was filled, and emptied.
  struct Counters {
    alignas(64) std::array<std::array<std::atomic<std::int64_t>, 3>, n_slots> filled;
    alignas(64) std::array<std::atomic<std::int64_t>, n_slots> emptied;
  };
  struct Buffers {
    std::vector<Real> outgoing, incoming;  // of one peer
  };
  struct Slot {
    const Real* from = nullptr;
    std::int64_t fields = 0, uses = 0;
    std::vector<Buffers> buffers;  // by peer, of all stages
    std::vector<Real> images;      // periodic images of this rank's own points that are turned, or along z
    std::vector<Real> ends;
    std::vector<comm::Request> requests;
  };
  /// Where a row lies: in the field (own), in zeros, or in what source − n_fixed sent.
  struct RowPlace {
    int source;
    std::int64_t offset;
  };
  enum Source { zeros, own, images, n_fixed };

  struct EndPiece {
    int source;
    std::int64_t offset;  // in the values of one field
    IndexBox target;
  };

  Real* outgoing_of(Slot& slot, int index, std::size_t peer) const;
  const Real* incoming_of(const Slot& slot, int index, std::size_t peer) const;
  const Counters& counters_of(int rank) const;
  void place_pieces(int source, const std::vector<HaloPiece>& pieces);
  void pack(const std::vector<HaloPiece>& pieces, const Real* field, Real* to) const;
  void post(int slot, std::size_t stage, ThreadPool& threads, GridTimers& timers);
  void wait(int slot, std::size_t stage);
  void fill_ends(int slot, ThreadPool& threads);
  const Real* base_of(const Slot& slot, int index, int source, std::int64_t field) const;

  const GridLayout& layout_;
  HaloShape shape_;
  ExchangeOptions options_;
  const comm::Communicator& comm_;
  IndexBox box_;
  std::vector<Peer> peers_;                  // stage by stage
  std::vector<std::size_t> first_of_stage_;  // in peers_; one more than stages
  std::vector<HaloPiece> images_;            // local pieces that are copied
  std::int64_t image_values_ = 0;            // of one field
  std::vector<RowPlace> places_;             // as FieldRows::rows
  std::vector<EndPiece> end_pieces_;
  std::vector<Real> zeros_;      // a plane
  bool ends_are_given_ = false;  // z is divided over ranks
  std::optional<comm::SharedMemory> shared_;
  std::array<Slot, n_slots> slots_;
};

extern template class HaloExchange<float>;
extern template class HaloExchange<double>;

}  // namespace tessera::grid
