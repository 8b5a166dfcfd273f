# For which instruction sets the vector kernels are compiled; where there are several, a processor takes its best.
set(TESSERA_INSTRUCTION_SETS all CACHE STRING "all: on x86 AVX3 (AVX-512), AVX2 and EMU128, which is for any processor, \
on aarch64 NEON; native: the best of the processor that compiles, alone, in a quarter of the time; common: AVX2 or NEON \
alone, which most processors have; or one of them by name")

# Sets of Highway that kernels do not use. Registers of SVE have no size that the compiler knows, so that they can be
# neither members of classes nor elements of arrays, as kernels want; every processor with SVE has NEON.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(TESSERA_ARM ON)
  set(TESSERA_UNUSED_SETS "(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
else()
  set(TESSERA_ARM OFF)
  set(TESSERA_UNUSED_SETS "(HWY_SSSE3|HWY_SSE4|HWY_AVX3_DL)")
endif()

# tessera_native_instruction_set(out): the best one of this machine's processor among those that kernels know.
function(tessera_native_instruction_set out)
  if(TESSERA_ARM)
    set(${out} NEON PARENT_SCOPE)
    return()
  endif()
  set(source ${PROJECT_BINARY_DIR}/native.cpp)
  file(WRITE ${source} [[
#include <hwy/targets.h>
#include <cstdio>
int main() {
  const auto sets = hwy::SupportedTargets() & ~(HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL);
  std::puts(hwy::TargetName(sets & -sets));
}
]])
  try_run(rc compiled ${PROJECT_BINARY_DIR}/native ${source} LINK_LIBRARIES tessera::hwy RUN_OUTPUT_VARIABLE name
          COMPILE_OUTPUT_VARIABLE complaint)
  if(NOT compiled OR NOT rc EQUAL 0)
    message(FATAL_ERROR "TESSERA_INSTRUCTION_SETS=native: the processor can't be asked; name one of AVX3, AVX2, "
                        "EMU128\n${complaint}")
  endif()
  string(STRIP "${name}" name)
  if(name STREQUAL "Scalar" OR name STREQUAL "Unknown")
    set(name EMU128)
  endif()
  set(${out} ${name} PARENT_SCOPE)
endfunction()

# Highway switches its 128-bit emulation (EMU128) off for GCC < 12.3 because of a miscompiled 16-bit multiply (GCC bug
# 106322), which no kernel here uses; the alternative has one lane. Tests run every instruction set against the reference.
set(definitions HWY_BROKEN_EMU128=0)
if(TESSERA_INSTRUCTION_SETS STREQUAL "all")
  list(APPEND definitions "HWY_DISABLED_TARGETS=${TESSERA_UNUSED_SETS}")
else()
  set(name ${TESSERA_INSTRUCTION_SETS})
  if(name STREQUAL "native")
    tessera_native_instruction_set(name)
  elseif(name STREQUAL "common" AND TESSERA_ARM)
    set(name NEON)
  elseif(name STREQUAL "common")
    set(name AVX2)
  elseif(NOT name MATCHES "^[A-Z]+[A-Z0-9_]*$")
    message(FATAL_ERROR "TESSERA_INSTRUCTION_SETS=${name}: expected all, native, common, or a name like AVX3, "
                        "AVX2, EMU128, NEON")
  endif()
  message(STATUS "Instruction set: ${name} alone")
  list(APPEND definitions HWY_COMPILE_ONLY_STATIC HWY_BASELINE_TARGETS=HWY_${name})
endif()
# There is one set for all aarch64, so no function needs an attribute that names it. With attributes GCC would not inline
# Highway's constructors into those of classes that hold registers. This definition is how Highway is told.
if(TESSERA_ARM)
  list(APPEND definitions TOOLCHAIN_MISS_SYS_AUXV_H)
endif()
target_compile_definitions(tessera_base PUBLIC ${definitions})
