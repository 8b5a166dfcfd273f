#include "tessera/base/simd/instruction_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/base/simd/instruction_set.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

HWY_BEFORE_NAMESPACE();
namespace tessera {
namespace HWY_NAMESPACE {

std::int64_t ThisSet() { return HWY_TARGET; }

}  // namespace HWY_NAMESPACE
}  // namespace tessera
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tessera/base/error.h"

namespace tessera {

HWY_EXPORT(ThisSet);

namespace {

constexpr std::int64_t compiled = HWY_TARGETS;
constexpr bool is_one_alone = (compiled & (compiled - 1)) == 0;

// Every aarch64 has NEON. Highway counts instructions for AES to it, which some processors lack and no kernel uses.
constexpr bool is_everywhere = HWY_STATIC_TARGET >= HWY_EMU128 || (HWY_ARCH_ARM_A64 && HWY_STATIC_TARGET == HWY_NEON);

/// Lists the sets that kernels are compiled for, the best first: better sets have lower bits.
std::vector<std::int64_t> compiled_sets() {
  std::vector<std::int64_t> sets;
  for (std::int64_t left = compiled; left != 0; left &= left - 1) sets.push_back(left & -left);
  return sets;
}

}  // namespace

std::string instruction_set() { return hwy::TargetName(HWY_DYNAMIC_DISPATCH(ThisSet)()); }

void limit_instruction_set() {
  if (is_one_alone && !is_everywhere && (hwy::SupportedTargets() & HWY_STATIC_TARGET) == 0)
    throw InputError(
        fmt::format("Tessera is compiled for {} alone, which this processor does not have; build it here, or with "
                    "-DTESSERA_INSTRUCTION_SETS=all",
                    hwy::TargetName(HWY_STATIC_TARGET)));
  const char* wanted = std::getenv("TESSERA_SIMD");
  if (wanted == nullptr || *wanted == '\0') return;
  std::vector<std::string_view> names;
  for (const auto set : compiled_sets()) {
    names.emplace_back(hwy::TargetName(set));
    // After DisableTargets() the first question for the processor's sets would choose the best of all (Highway 1.0).
    if (names.back() == wanted) return hwy::SetSupportedTargetsForTest(hwy::SupportedTargets() & ~(set - 1));
  }
  throw InputError(
      fmt::format("TESSERA_SIMD is '{}', expected one of the instruction sets that Tessera is compiled for: {}", wanted,
                  fmt::join(names, ", ")));
}

}  // namespace tessera
#endif
