// A frame of a trajectory on its way to a file.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/box.h"

namespace tessera::app {

/// The rows that one rank makes; a rank that makes none has the first three members alone.
struct Frame {
  std::int64_t step = 0;
  double time = 0;  // ps
  Box box;
  std::vector<float> positions;   // (rows,3) Å
  std::vector<float> velocities;  // (rows,3) Å/ps; empty where frames hold none
  std::vector<float> forces;      // (rows,3) kcal/mol/Å; empty where frames hold none
  /// Of a frame as ranks own it, each row's atom: its number among those of the frame, from 0, and its id.
  struct Owned {
    std::int64_t number, id;
  };
  std::vector<Owned> owned;
};

}  // namespace tessera::app
