# tessera_library(name LINK targets…): the library of cpp/tessera/<name>, all its sources except tests, `main` files and
# the backends of comm.
function(tessera_library name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  set(root ${PROJECT_SOURCE_DIR}/cpp/tessera/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${root}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$|/main\\.cpp$|/comm/(mpi|serial|threaded)/")
  set(target tessera_${name})
  if(sources)
    add_library(${target} STATIC ${sources})
    set(kind PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(kind INTERFACE)
  endif()
  target_include_directories(${target} ${kind} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/cpp>
                                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} ${kind} cxx_std_20)
  target_compile_options(${target} ${kind} $<INSTALL_INTERFACE:-ffp-contract=off>)
  target_link_libraries(${target} ${kind} ${arg_LINK})
  target_compile_definitions(${target} ${kind} TESSERA_VERSION="${PROJECT_VERSION}")
  tessera_precompile(${target})
  tessera_export(${target} ${name})
endfunction()

# tessera_precompile(target): reads what nearly every source reads once for all of them. Of those that know JSON, all share
# what tessera_machine has read; base and model are small.
option(TESSERA_PRECOMPILED_HEADERS "read the standard library, fmt and JSON once instead of in each source" OFF)
function(tessera_precompile target)
  if(NOT TESSERA_PRECOMPILED_HEADERS OR target MATCHES "^tessera_(base|model)$")
    return()
  elseif(target STREQUAL "tessera_machine")
    target_precompile_headers(tessera_machine PRIVATE
      <algorithm> <array> <atomic> <chrono> <cmath> <complex> <cstdint> <cstring> <filesystem> <fstream> <functional> <limits>
      <map> <memory> <mutex> <numeric> <optional> <random> <set> <span> <string> <string_view> <thread> <tuple>
      <unordered_map> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp>)
  else()
    target_precompile_headers(${target} REUSE_FROM tessera_machine)
  endif()
endfunction()

# tessera_export(target name): installed, and tessera::<name> to those who use it.
function(tessera_export target name)
  add_library(tessera::${name} ALIAS ${target})
  if(NOT SKBUILD)
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
    install(TARGETS ${target} EXPORT tessera ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
            OBJECTS DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera)
  endif()
endfunction()

# tessera_comm_backend(flavour): the objects tessera_comm_<flavour> (the libraries that call them are linked after them) and
# the executable tessera-md-<flavour>.
function(tessera_comm_backend flavour)
  set(folder mpi)
  if(flavour STREQUAL "serial")
    set(folder serial)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cpp/tessera/comm/${folder}/*.cpp)
  add_library(tessera_comm_${flavour} OBJECT ${sources})
  target_link_libraries(tessera_comm_${flavour} PUBLIC tessera_comm)
  if(NOT flavour STREQUAL "serial")
    target_link_libraries(tessera_comm_${flavour} PUBLIC tessera::mpi_${flavour})
  endif()
  tessera_precompile(tessera_comm_${flavour})
  tessera_export(tessera_comm_${flavour} comm_${flavour})
  if(NOT TARGET tessera_main)
    add_library(tessera_main OBJECT ${PROJECT_SOURCE_DIR}/cpp/tessera/app/main.cpp)
    target_link_libraries(tessera_main PUBLIC tessera_app)
    tessera_precompile(tessera_main)
    add_custom_target(engines)
  endif()
  add_executable(tessera-md-${flavour})
  target_link_libraries(tessera-md-${flavour} PRIVATE tessera_main tessera_app tessera_comm_${flavour})
  tessera_executable(tessera-md-${flavour})
  add_dependencies(engines tessera-md-${flavour})
endfunction()

# Programs are built into bin and installed; an MPI outside the system's folders is found again where it was.
function(tessera_executable name)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin
                                           INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS ${name} RUNTIME DESTINATION ${TESSERA_INSTALL_PROGRAMS})
endfunction()

# tessera_mpi_program(name folder [SERIAL] [LINK targets…]): cpp/tessera/programs/<folder> as the executables
# <name>-<flavour>, one for each MPI, and with SERIAL one without.
function(tessera_mpi_program name folder)
  cmake_parse_arguments(arg "SERIAL" "" "LINK" ${ARGN})
  set(flavours ${TESSERA_MPI_FLAVOURS})
  if(arg_SERIAL)
    list(APPEND flavours serial)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cpp/tessera/programs/${folder}/*.cpp)
  foreach(flavour IN LISTS flavours)
    add_executable(${name}-${flavour} ${sources})
    target_link_libraries(${name}-${flavour} PRIVATE ${arg_LINK} tessera_comm_${flavour} CLI11::CLI11)
    tessera_executable(${name}-${flavour})
  endforeach()
endfunction()

# One test program a library, from the *_test.cpp beside its sources; no MPI needed.
function(tessera_unit_tests)
  include(GoogleTest)
  add_custom_target(unit_tests)
  # Ranks as threads, for tests of what needs several.
  file(GLOB threaded CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cpp/tessera/comm/threaded/*.cpp)
  add_library(tessera_comm_threaded OBJECT ${threaded})
  target_link_libraries(tessera_comm_threaded PUBLIC tessera_comm)
  foreach(name base machine collectives comm fft grid io model md app)
    file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cpp/tessera/${name}/*_test.cpp)
    if(tests)
      add_executable(${name}_test ${tests})
      set(backend tessera_comm_serial)
      if(name MATCHES "^(comm|fft|grid|io|md|app)$")
        set(backend tessera_comm_threaded)
      endif()
      target_link_libraries(${name}_test PRIVATE tessera_${name} ${backend} GTest::gtest_main)
      set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test)
      add_dependencies(unit_tests ${name}_test)
      gtest_discover_tests(${name}_test TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60)
    endif()
  endforeach()
endfunction()
