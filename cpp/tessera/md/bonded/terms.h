// A rank's bonded terms as flat arrays: which slots (indices into the rank-local atom arrays) and which parameter row.
//
// The order of a list is the order of the template's terms. A dihedral with several cosines is several terms.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace tessera::md::bonded {

template <int Arity>
struct TermList {
  std::vector<std::array<std::int32_t, Arity>> slots;
  std::vector<std::int32_t> parameter;

  void add(const std::array<std::int32_t, Arity>& term_slots, std::int32_t row) {
    slots.push_back(term_slots);
    parameter.push_back(row);
  }
  void clear() {
    slots.clear();
    parameter.clear();
  }
  std::int64_t size() const { return static_cast<std::int64_t>(slots.size()); }
};

struct LocalTerms {
  TermList<2> bond;
  TermList<3> angle;
  TermList<2> urey_bradley;
  TermList<4> dihedral, dihedral_rb, improper_harmonic, improper_periodic;
  TermList<8> cmap;
  TermList<2> pair_14;

  void clear() {
    bond.clear();
    angle.clear();
    urey_bradley.clear();
    dihedral.clear();
    dihedral_rb.clear();
    improper_harmonic.clear();
    improper_periodic.clear();
    cmap.clear();
    pair_14.clear();
  }
  std::int64_t size() const {
    return bond.size() + angle.size() + urey_bradley.size() + dihedral.size() + dihedral_rb.size() +
           improper_harmonic.size() + improper_periodic.size() + cmap.size() + pair_14.size();
  }
};

}  // namespace tessera::md::bonded
