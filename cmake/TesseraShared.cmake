# What an installed Python package shares: libtessera.so, the libraries and kernels that know nothing of communication, and
# for each MPI libtessera-<flavour>.so, all else with that backend of comm. Programs and modules are thin and use them.
# None of them names an MPI library: a program is a module that a starter loads when it has found the machine's MPI
# (cpp/tessera/programs/wheel), and Python looks for it in tessera/mpi_library.py (docs/design/launch.md#the-wheel).
set(TESSERA_MPI_FOLDERS_OF_BUILD ON CACHE BOOL "installed programs look for MPI also where it was when they were built")

# tessera_flavour(target flavour links…): links a program or a module with libraries of Tessera and the backend of one MPI.
function(tessera_flavour target flavour)
  if(NOT SKBUILD)
    target_link_libraries(${target} PRIVATE ${ARGN} tessera_comm_${flavour})
    return()
  endif()
  tessera_shared_library(${flavour})
  # Shared libraries stand first, so that nothing is taken from the others.
  target_link_libraries(${target} PRIVATE tessera_shared_${flavour} tessera_shared ${ARGN})
  target_link_options(${target} PRIVATE LINKER:--as-needed)
  if(NOT flavour STREQUAL "serial")
    target_include_directories(${target} SYSTEM PRIVATE ${TESSERA_MPI_${flavour}_INCLUDE})
    target_compile_definitions(${target} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  endif()
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/lib/tessera;$ORIGIN/../lib/tessera")
endfunction()

set(TESSERA_WITHOUT_COMM tessera_base tessera_device tessera_machine tessera_collectives tessera_model tessera_fiber)
set(TESSERA_WITH_COMM tessera_comm tessera_fft tessera_grid tessera_io tessera_md tessera_app)
# Objects of the latter that are kernels, which make most of a library for several instruction sets.
set(TESSERA_KERNELS "/(fft/lines|grid/(kernel|phases|stencil|levels/rows)|md/bonded/(angle|bond|cmap|dihedral|pair_14)|md/pair/(clusters/(loops|cluster_kernel)|ewald_fit|functions))")

# tessera_shared_library(flavour): libtessera.so and libtessera-<flavour>.so, made when they are first asked for.
function(tessera_shared_library flavour)
  set(target tessera_shared_${flavour})
  if(TARGET ${target})
    return()
  endif()
  list(TRANSFORM TESSERA_WITHOUT_COMM REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  list(TRANSFORM TESSERA_WITH_COMM REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE others)
  if(NOT TARGET tessera_shared)
    add_library(tessera_shared SHARED ${objects} "$<FILTER:${others},INCLUDE,${TESSERA_KERNELS}>")
    target_link_libraries(tessera_shared PRIVATE ${TESSERA_WITHOUT_COMM})
    target_link_options(tessera_shared PRIVATE LINKER:-z,defs)
    set_target_properties(tessera_shared PROPERTIES OUTPUT_NAME tessera)
  endif()
  add_library(${target} SHARED "$<FILTER:${others},EXCLUDE,${TESSERA_KERNELS}>" $<TARGET_OBJECTS:tessera_comm_${flavour}>)
  # The shared library stands first, so that nothing is taken from the others. MPI is not named: its symbols are those of
  # the library that is loaded before this one.
  target_link_libraries(${target} PRIVATE tessera_shared ${TESSERA_WITH_COMM} ${TESSERA_WITHOUT_COMM})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME tessera-${flavour})
  foreach(library IN ITEMS tessera_shared ${target})
    # Calls inside stay inside, as they do in a program.
    target_link_options(${library} PRIVATE LINKER:-Bsymbolic-functions LINKER:--as-needed LINKER:--gc-sections LINKER:-O1)
    set_target_properties(${library} PROPERTIES LINKER_LANGUAGE CXX INSTALL_RPATH "$ORIGIN"
                                                LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/tessera)
  endforeach()
  install(TARGETS tessera_shared ${target} LIBRARY DESTINATION ${TESSERA_INSTALL_DROP_IN})
endfunction()

# tessera_program(name flavour sources…): the program <name>, or in a package that shares a library and knows no MPI
# library the module <name>.so and its starter <name>.
function(tessera_program name flavour)
  if(NOT SKBUILD OR flavour STREQUAL "serial")
    add_executable(${name} ${ARGN})
    tessera_executable(${name})
    return()
  endif()
  add_library(${name} MODULE ${ARGN})
  set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  install(TARGETS ${name} LIBRARY DESTINATION ${TESSERA_INSTALL_PROGRAMS})
  set(names [["libmpi.so.40"]])
  if(flavour STREQUAL "mpich")
    set(names [["libmpi.so.12", "libmpich.so.12"]])
  endif()
  set(folders "")
  if(TESSERA_MPI_FOLDERS_OF_BUILD)
    foreach(word IN LISTS TESSERA_MPI_${flavour}_LINK)
      if(word MATCHES "^-L(.+)")
        string(APPEND folders ", \"${CMAKE_MATCH_1}\"")
      endif()
    endforeach()
  endif()
  add_executable(start-${name} ${PROJECT_SOURCE_DIR}/cpp/tessera/programs/wheel/start.c)
  set_target_properties(start-${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  target_compile_definitions(start-${name} PRIVATE "TESSERA_MPI_NAMES=${names}" "TESSERA_MPI_FOLDERS=\"../../../..\"${folders}")
  target_link_libraries(start-${name} PRIVATE ${CMAKE_DL_LIBS})
  install(TARGETS start-${name} RUNTIME DESTINATION ${TESSERA_INSTALL_PROGRAMS})
  add_dependencies(${name} start-${name})
endfunction()
