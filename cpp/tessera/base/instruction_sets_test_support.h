// Tests of vector code go through every instruction set that this machine has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>
#include <vector>

namespace tessera::test {

inline std::vector<std::int64_t> instruction_sets() {
  std::vector<std::int64_t> sets;
  for (std::int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1)
    sets.push_back(left & -left);
  return sets;
}

/// What vector code runs with from now on; 0: the best.
inline void choose_instruction_set(std::int64_t set) {
  hwy::SetSupportedTargetsForTest(set);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

/// Calls check() once with each instruction set that this machine has.
template <class Check>
void for_instruction_sets(Check&& check) {
  for (const auto set : instruction_sets()) {
    SCOPED_TRACE(hwy::TargetName(set));
    choose_instruction_set(set);
    check();
  }
  choose_instruction_set(0);
}

}  // namespace tessera::test
