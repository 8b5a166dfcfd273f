// One configuration that ranks write together.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/io/text/records.h"

namespace tessera::io::write {

/// What all atoms of a kind have in common.
struct Species {
  text::Name name{};
  double mass = 0;    // amu
  double charge = 0;  // e
};

/// Ranks send each other what comes before the values that a format does not hold.
struct Atom {
  std::int64_t id = 0;               // from 1, as it is written
  std::int64_t species = 0;          // index in Frame::species
  std::array<double, 3> position{};  // Å
  std::array<double, 3> velocity{};  // Å/ps, of formats that hold velocities
  std::array<double, 3> force{};     // amu Å/ps², of formats that hold forces
};

/// All but the atoms, the same on all ranks.
struct Frame {
  std::string title;
  int periodicity = 0;  // DL_POLY's imcon
  text::Moment moment;
  std::array<double, 9> cell{};  // (3,3) Å
  std::vector<Species> species;
};

}  // namespace tessera::io::write
