// Tests of vector code go through every instruction set that this machine has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::test {

inline std::vector<std::int64_t> instruction_sets() {
  std::vector<std::int64_t> sets;
  for (std::int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1)
    sets.push_back(left & -left);
  return sets;
}

inline std::int64_t chosen_instruction_set = 0;

/// Sets the instruction set that vector code runs with from now on; 0: the best.
inline void choose_instruction_set(std::int64_t set) {
  chosen_instruction_set = set;
  hwy::SetSupportedTargetsForTest(set);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

/// Calls check() once with each instruction set that this machine has. If it returns what it has computed, that must be
/// the same with all of them.
template <class Check>
void for_instruction_sets(Check&& check) {
  using Result = std::invoke_result_t<Check>;
  if constexpr (std::is_void_v<Result>) {
    for (const auto set : instruction_sets()) {
      SCOPED_TRACE(hwy::TargetName(set));
      choose_instruction_set(set);
      check();
    }
  } else {
    std::optional<Result> first;
    for_instruction_sets([&] {
      auto found = check();
      if (first)
        EXPECT_TRUE(found == *first) << "other bits than with the best instruction set";
      else
        first = std::move(found);
    });
  }
  choose_instruction_set(0);
}

}  // namespace tessera::test
