// Chains that are put together by several writers, each of which has some consecutive units of one.
//
// An atom's image is a whole number of box vectors, which adds up exactly along bonds, so that places do not depend on
// where shares begin.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/app/trajectory/shares.h"
#include "tessera/app/trajectory/whole.h"
#include "tessera/comm/communicator.h"
#include "tessera/model/system.h"

namespace tessera::app {

class ChainParts {
 public:
  /// Finds the parts of chains in a share. `own`: the share of this rank; −1: none.
  ChainParts(const model::System& system, const FrameShares& shares, int own);

  /// The number of box vectors to be added to the position in the box of each atom of the share's chains, by part and
  /// atom. `fractions`: of all atoms of the share. Collective.
  using Images = std::vector<std::vector<std::array<std::int32_t, 3>>>;
  Images images(const FrameShares& shares, std::span<const Fraction> fractions, const comm::Communicator& comm) const;

 private:
  struct Part {
    std::size_t first;  // index of the first atom in the share
    BondTree tree;
  };

  int own_;
  std::vector<Part> parts_;
  // The bonds over the share's begin and end, where these cut a chain: the own atoms' indices in the share.
  std::int64_t before_ = -1, behind_ = -1;
  bool is_one_part_ = false;  // of a chain that began in an earlier share
};

}  // namespace tessera::app
