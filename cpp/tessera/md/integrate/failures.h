// How a run in motion fails. All ranks throw the same.
#pragma once

#include "tessera/base/error.h"

namespace tessera::md::integrate {

/// The atoms have become such that no step is possible any more.
class BlowUp : public RunError {
 public:
  using RunError::RunError;
};

/// The box has.
class BoxFailure : public BlowUp {
 public:
  using BlowUp::BlowUp;
};

}  // namespace tessera::md::integrate
