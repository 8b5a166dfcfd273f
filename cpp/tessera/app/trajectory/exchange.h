// Makes frames: brings atoms from the ranks that own them to those that write them, and puts molecules together.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/app/trajectory/chain_parts.h"
#include "tessera/app/trajectory/frame.h"
#include "tessera/app/trajectory/shares.h"
#include "tessera/app/trajectory/whole.h"
#include "tessera/comm/communicator.h"
#include "tessera/md/engine.h"

namespace tessera::app {

class FrameExchange {
 public:
  /// Keeps references, which must outlive it. `writers`: the rank of each share; more than one of a single share make
  /// whole frames in turn.
  FrameExchange(const model::System& system, FrameShares shares, std::vector<int> writers, FrameContents contents,
                const comm::Communicator& comm);

  /// Returns the atoms of the present frame that this rank owns, where molecules are not put together.
  Frame owned(const md::Engine& engine, double time) const;
  /// Returns the rows of the present frame that this rank makes; the next call is the next writer's turn. Collective.
  Frame collect(const md::Engine& engine, double time);

  const FrameShares& shares() const { return shares_; }
  const FrameContents& contents() const { return contents_; }
  const std::vector<int>& writers() const { return writers_; }
  /// Returns the share of this rank; −1: none.
  int own_share() const { return own_; }

 private:
  std::vector<float> positions_of(const Box& box, const Vec3& origin, const std::vector<Fraction>& fractions) const;
  std::vector<float> rows_of(std::vector<float> values) const;

  FrameShares shares_;
  std::vector<int> writers_;
  FrameContents contents_;
  const comm::Communicator& comm_;
  int own_ = -1;
  std::size_t turn_ = 0;                   // of the writers of a single share
  std::optional<ChainParts> chains_;       // where molecules are put together
  std::vector<MoleculeRun> molecules_;     // of this rank's share
  std::map<std::size_t, BondTree> trees_;  // of each kind that occurs there
};

}  // namespace tessera::app
