// Carries out one redistribution of a plan. A rank writes what it sends into its own memory, from which ranks on the
// same host read it; each rank of another host gets one message. Other entries of exchange.h may replace this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/comm/communicator.h"
#include "tessera/fft/blocks.h"
#include "tessera/fft/copies.h"
#include "tessera/fft/exchange.h"
#include "tessera/fft/plan.h"

namespace tessera::fft {

/// Numbers the memories that contain a transform's blocks (Block::memory). Those from first_peer on hold what each rank
/// of this host sends.
enum TransformMemory : int { user_input, user_output, plane, local, outgoing, incoming, first_peer };

/// Counts the bytes allocated so far in each memory of a transform.
struct MemoryPlan {
  std::int64_t fields = 1;  // per batch
  std::int64_t local = 0, outgoing = 0, incoming = 0;

  /// Allocates a block for this box; `used` is the member above for that memory.
  Block take(const IndexBox& box, TransformMemory memory, std::int64_t& used, std::int64_t value_size) const;
};

class Reshape {
 public:
  /// Uses user_input to send from if `from_user`, and user_output to receive into if `to_user`.
  Reshape(const Index3& grid, const Redistribution& redistribution, int rank, std::int64_t value_size, bool from_user,
          bool to_user, MemoryPlan& memory);

  /// Finds where other ranks leave what they send to this one. Collective; must be called once, before all functions
  /// below.
  void connect(Exchanges& exchanges, int tag, MemoryPlan& memory);

  /// Counts the memory that connect() will allocate if ranks exchange in pairs. `shares_with(peer)` tells whether this
  /// rank reads what the peer sends in the peer's memory.
  void count_incoming(const std::function<bool(int)>& shares_with, MemoryPlan& memory) const;

  /// Returns the exchange in use: "pairwise", "alltoall", "direct" or "gathered".
  const std::string& name() const { return name_; }

  /// Tells whether ranks of a host wait for each other, because they read from each other's memory.
  bool meets() const { return is_moving_ && name_ == "pairwise"; }
  /// Tells whether any rank sends something to another.
  bool is_moving() const { return is_moving_; }
  /// Returns where the previous sweep writes values; sources() is where the next sweep reads them.
  const std::vector<Block>& targets() const { return targets_; }
  const std::vector<Block>& sources() const { return sources_; }

  /// Moves the values; must be called between the previous and the next sweep. Collective.
  void execute(std::byte* const* memories, Exchanges& exchanges, ThreadPool& threads);

 private:
  /// Describes what goes to or comes from one rank, as bytes of `outgoing`, of `incoming`, or of the sender's memory if
  /// it is visible.
  struct Part {
    int peer;
    std::int64_t begin = 0, end = 0;
    std::vector<MovedBox> pieces;
  };
  static std::vector<Part> parts_of(const std::vector<MovedBox>& pieces, int rank);
  std::optional<collectives::MessagePlan> agree_on_plan(const Exchanges& exchanges, const MemoryPlan& memory) const;
  void start_messages(std::byte* const* memories, const comm::Communicator& comm, ThreadPool& threads);
  void list_shares(int ranks);
  void fetch(std::byte* const* memories, ThreadPool& threads) const;

  std::int64_t value_size_, fields_;
  bool is_moving_, to_user_;
  Block user_output_;
  std::vector<Block> targets_, sources_;
  std::vector<Part> sends_, receives_;  // without values that stay on the rank
  std::vector<Part> seen_;              // parts read from their sender's memory, which are fetched first
  Copies pack_, unpack_;
  int tag_ = 0;
  std::string name_ = "pairwise";
  int planned_ = -1;  // index of a plan in Exchanges::moves
  std::vector<comm::Request> requests_;
  std::vector<std::int64_t> sent_, from_, received_, to_;  // by rank, for an all-to-all: bytes and their offsets
};

}  // namespace tessera::fft
