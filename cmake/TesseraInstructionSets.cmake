# For which instruction sets the vector kernels are compiled; where there are several, a processor takes its best.
set(TESSERA_INSTRUCTION_SETS all CACHE STRING "all: on x86 AVX3 (AVX-512), AVX2 and EMU128, which is for any processor, \
on aarch64 NEON; host: those of them that the processor that compiles has; native: its best alone, in a quarter of the \
time; common: AVX2 or NEON alone, which most processors have; or a list of names")

# Sets of Highway that kernels do not use. Registers of SVE have no size that the compiler knows, so that they can be
# neither members of classes nor elements of arrays, as kernels want; every processor with SVE has NEON.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(TESSERA_ARM ON)
  set(TESSERA_UNUSED_SETS "HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128")
else()
  set(TESSERA_ARM OFF)
  set(TESSERA_UNUSED_SETS "HWY_SSSE3|HWY_SSE4|HWY_AVX3_DL")
endif()

set(TESSERA_KNOWN_SETS AVX3 AVX2 EMU128)
if(TESSERA_ARM)
  set(TESSERA_KNOWN_SETS NEON)
endif()

# tessera_host_instruction_sets(out): those that kernels know and this machine's processor has, the best one first.
function(tessera_host_instruction_sets out)
  if(TESSERA_ARM)
    set(${out} NEON PARENT_SCOPE)
    return()
  endif()
  set(source ${PROJECT_BINARY_DIR}/host_sets.cpp)
  file(WRITE ${source} [[
#include <hwy/targets.h>
#include <cstdio>
int main() {
  const auto sets = hwy::SupportedTargets();
  std::printf("%s%sEMU128", sets & HWY_AVX3 ? "AVX3;" : "", sets & HWY_AVX2 ? "AVX2;" : "");
}
]])
  try_run(rc compiled ${PROJECT_BINARY_DIR}/host_sets ${source} LINK_LIBRARIES tessera::hwy RUN_OUTPUT_VARIABLE names
          COMPILE_OUTPUT_VARIABLE complaint)
  if(NOT compiled OR NOT rc EQUAL 0)
    message(FATAL_ERROR "TESSERA_INSTRUCTION_SETS=${TESSERA_INSTRUCTION_SETS}: the processor can't be asked; name some of "
                        "${TESSERA_KNOWN_SETS}\n${complaint}")
  endif()
  set(${out} ${names} PARENT_SCOPE)
endfunction()

# Highway switches its 128-bit emulation (EMU128) off for GCC < 12.3 because of a miscompiled 16-bit multiply (GCC bug
# 106322), which no kernel here uses; the alternative has one lane. Tests run every instruction set against the reference.
set(definitions HWY_BROKEN_EMU128=0)
set(names ${TESSERA_INSTRUCTION_SETS})
if(names STREQUAL "all")
  set(names ${TESSERA_KNOWN_SETS})
elseif(names MATCHES "^(host|native)$")
  tessera_host_instruction_sets(names)
  if(TESSERA_INSTRUCTION_SETS STREQUAL "native")
    list(GET names 0 names)
  endif()
elseif(names STREQUAL "common")
  set(names AVX2)
  if(TESSERA_ARM)
    set(names NEON)
  endif()
endif()
list(REMOVE_DUPLICATES names)
list(LENGTH names n)
if(n GREATER 1 AND NOT TESSERA_ARM AND NOT EMU128 IN_LIST names)
  list(APPEND names EMU128)  # what a program for several starts with
endif()
set(left_out ${TESSERA_UNUSED_SETS})
set(unknown ${names})
foreach(known IN LISTS TESSERA_KNOWN_SETS)
  if(NOT known IN_LIST names)
    string(APPEND left_out "|HWY_${known}")
  endif()
  list(REMOVE_ITEM unknown ${known})
endforeach()
if(unknown OR n EQUAL 0)
  message(FATAL_ERROR "TESSERA_INSTRUCTION_SETS=${TESSERA_INSTRUCTION_SETS}: expected all, host, native, common, or a list "
                      "of names among ${TESSERA_KNOWN_SETS}")
endif()
if(n GREATER 1 OR TESSERA_ARM)
  list(APPEND definitions "HWY_DISABLED_TARGETS=(${left_out})")
else()
  list(APPEND definitions HWY_COMPILE_ONLY_STATIC HWY_BASELINE_TARGETS=HWY_${names})
endif()
list(JOIN names ", " names)
message(STATUS "Instruction sets: ${names}")
# There is one set for all aarch64, so no function needs an attribute that names it. With attributes GCC would not inline
# Highway's constructors into those of classes that hold registers. This definition is how Highway is told.
if(TESSERA_ARM)
  list(APPEND definitions TOOLCHAIN_MISS_SYS_AUXV_H)
endif()
target_compile_definitions(tessera_base PUBLIC ${definitions})
