# Unit tests under sanitizers beside those of the build, as CI runs them: some libraries are compiled once more with the
# address and undefined-behaviour sanitizers, or the thread sanitizer; other libraries, and the tests themselves, are the
# objects of the build. The presets asan and tsan instrument everything.
set(TESSERA_ASAN "" CACHE STRING "libraries that <library>_test_asan instrument; CI names those that changed")

# Without UBSan's checks of each pointer, which cost a quarter of the compiler's time and, in vector kernels, minutes a
# file: the address sanitizer reports null pointers and accesses outside of objects.
set(TESSERA_asan_COMPILE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
                         -fno-sanitize=null,alignment,object-size,vptr)
set(TESSERA_asan_LINK -fsanitize=address,undefined)
set(TESSERA_tsan_COMPILE -fsanitize=thread -fno-omit-frame-pointer)
set(TESSERA_tsan_LINK -fsanitize=thread)

# tessera_below(name out): the library and those that it uses.
function(tessera_below name out)
  set(found ${name})
  get_target_property(links tessera_${name} INTERFACE_LINK_LIBRARIES)
  foreach(link IN LISTS links)
    if(link MATCHES "^tessera_([a-z]+)$")
      tessera_below(${CMAKE_MATCH_1} more)
      list(APPEND found ${more})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES found)
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# tessera_instrumented_library(kind target like): the sources of the target `like` again, for one instruction set.
function(tessera_instrumented_library kind target like)
  get_target_property(sources ${like} SOURCES)
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${sources})
  set_target_properties(${target} PROPERTIES TESSERA_INSTRUMENTED ON)
  tessera_unite(${target})
  target_link_libraries(${target} PRIVATE ${like})
  target_compile_options(${target} PRIVATE -O1 -g1 -UNDEBUG ${TESSERA_${kind}_COMPILE})
  if(NOT TESSERA_ARM)
    target_compile_definitions(${target} PRIVATE HWY_COMPILE_ONLY_STATIC HWY_BASELINE_TARGETS=HWY_AVX2)
  endif()
endfunction()

# tessera_sanitized_tests(kind library…): the targets <library>_test_<kind>, in which these libraries are instrumented.
# `kind` is asan or tsan.
function(tessera_sanitized_tests kind)
  if(NOT ARGN)
    return()
  endif()
  foreach(name IN LISTS ARGN)
    tessera_instrumented_library(${kind} tessera_${name}_${kind} tessera_${name})
  endforeach()
  if("comm" IN_LIST ARGN)
    tessera_instrumented_library(${kind} tessera_comm_threaded_${kind} tessera_comm_threaded)
  endif()
  foreach(name IN LISTS ARGN)
    if(NOT TARGET ${name}_test)
      continue()
    endif()
    # Instrumented objects come first, so that theirs is the one copy of each inline function that is kept.
    tessera_below(${name} below)
    set(objects "")
    foreach(library IN LISTS below)
      if(TARGET tessera_${library}_${kind})
        list(APPEND objects $<TARGET_OBJECTS:tessera_${library}_${kind}>)
      endif()
    endforeach()
    get_target_property(links ${name}_test LINK_LIBRARIES)
    if(TARGET tessera_comm_threaded_${kind} AND "tessera_comm_threaded" IN_LIST links)
      list(REMOVE_ITEM links tessera_comm_threaded)
      list(APPEND objects $<TARGET_OBJECTS:tessera_comm_threaded_${kind}>)
    endif()
    set(test ${name}_test_${kind})
    add_executable(${test} EXCLUDE_FROM_ALL ${objects} $<TARGET_OBJECTS:${name}_test>)
    set_target_properties(${test} PROPERTIES LINKER_LANGUAGE CXX RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${kind})
    target_link_libraries(${test} PRIVATE ${links} Threads::Threads)
    target_link_options(${test} PRIVATE ${TESSERA_${kind}_LINK})
    gtest_discover_tests(${test} TEST_PREFIX ${kind}.${name}. DISCOVERY_MODE PRE_TEST)
  endforeach()
endfunction()

