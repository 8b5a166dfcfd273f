// Carries out one redistribution of a plan. A rank writes what it sends into its own memory, from which ranks on the
// same host read it; ranks of other hosts get one message from each rank; or another entry of exchange.h does it.
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

/// The memories in which blocks of a transform are (Block::memory). From first_peer on: what each rank of this host
/// sends.
enum Memory : int { user_input, user_output, plane, local, outgoing, incoming, first_peer };

/// The bytes allocated so far in each memory of a transform.
struct MemoryPlan {
  std::int64_t fields = 1;  // of a batch
  std::int64_t local = 0, outgoing = 0, incoming = 0;

  /// Allocates a block for this box; `used` is the count above of that memory.
  Block take(const IndexBox& box, Memory memory, std::int64_t& used, std::int64_t value_size) const;
};

class Reshape {
 public:
  /// `from_user`: it sends from user_input; `to_user`: it receives into user_output.
  Reshape(const Index3& grid, const Redistribution& redistribution, int rank, std::int64_t value_size, bool from_user,
          bool to_user, MemoryPlan& memory);

  /// Learns where other ranks leave what they send to this one. Collective; is called once, before all that follows.
  void connect(Exchanges& exchanges, int tag, MemoryPlan& memory);

  /// Counts the memory that connect() will allocate where ranks exchange in pairs. `shares_with(peer)`: whether this
  /// rank reads what the peer sends in the peer's memory.
  void count_incoming(const std::function<bool(int)>& shares_with, MemoryPlan& memory) const;

  /// The exchange that is used: "pairwise", "alltoall", "direct" or "gathered".
  const std::string& name() const { return name_; }

  /// Whether ranks of a host wait for each other, because they read from each other's memory.
  bool meets() const { return is_moving_ && name_ == "pairwise"; }
  /// Whether any rank sends something to another.
  bool is_moving() const { return is_moving_; }
  /// Where the sweep before writes values, and where the sweep after reads them.
  const std::vector<Block>& targets() const { return targets_; }
  const std::vector<Block>& sources() const { return sources_; }

  /// Is called between the sweep before and the sweep after. Collective.
  void execute(std::byte* const* memories, Exchanges& exchanges, ThreadPool& threads);

 private:
  /// What goes to or comes from one rank: bytes of `outgoing` or `incoming`, or of the sender's where that is seen.
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

  int rank_;
  std::int64_t value_size_, fields_;
  bool is_moving_, to_user_;
  Block user_output_;
  std::vector<Block> targets_, sources_;
  std::vector<Part> sends_, receives_;  // without what stays
  std::vector<Part> seen_;              // what is read where its sender has it, and fetched first
  Copies pack_, unpack_;
  int tag_ = 0;
  std::string name_ = "pairwise";
  int planned_ = -1;  // number of a plan among Exchanges::moves
  std::vector<comm::Request> requests_;
  std::vector<std::int64_t> sent_, from_, received_, to_;  // by rank, for an all-to-all: bytes and where they begin
};

}  // namespace tessera::fft
