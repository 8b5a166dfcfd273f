// Lists a rank's bonded terms as flat arrays of slots (indices into the rank-local atom arrays) and parameter rows.
//
// A list is in the order of the template's terms. A dihedral with several cosines is several terms.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tessera/model/bonded_kinds.h"

namespace tessera::md::bonded {

template <int Arity>
struct TermList {
  std::vector<std::array<std::int32_t, Arity>> slots;
  std::vector<std::int32_t> parameter;

  void add(const std::array<std::int32_t, Arity>& term_slots, std::int32_t row) {
    slots.push_back(term_slots);
    parameter.push_back(row);
  }
  std::int64_t size() const { return static_cast<std::int64_t>(slots.size()); }
};

template <class Kind>
using TermListOf = TermList<Kind::arity>;
using LocalTerms = model::ByKind<TermListOf>;

}  // namespace tessera::md::bonded
