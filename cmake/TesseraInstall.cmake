# What `cmake --install` puts where, besides libraries, programs and the Python package, which say so themselves: headers, a
# module file, and a CMake package, so that find_package(tessera) gives tessera::fft, tessera::comm_openmpi and the other
# libraries.
include(CMakePackageConfigHelpers)
install(DIRECTORY cpp/tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*test*" EXCLUDE PATTERN "fake_*" EXCLUDE PATTERN "*-inl.h" EXCLUDE
        PATTERN programs EXCLUDE PATTERN drop_in EXCLUDE PATTERN pair_schemes EXCLUDE PATTERN threaded EXCLUDE)

set(folder ${PROJECT_BINARY_DIR}/package)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
set(config [[
# Tessera's libraries as they were built, with the MPI libraries of the build: tessera::base, device, machine, collectives,
# comm, fft, io, model, md and app; tessera::comm_serial and one tessera::comm_<flavour> for each of TESSERA_MPI_FLAVOURS.
include(${CMAKE_CURRENT_LIST_DIR}/TesseraDependencies.cmake)
]])
string(APPEND config "set(TESSERA_MPI_FLAVOURS \"${TESSERA_MPI_FLAVOURS}\")\n")
foreach(flavour IN LISTS TESSERA_MPI_FLAVOURS)
  foreach(part IN ITEMS INCLUDE LINK)
    set(words "${TESSERA_MPI_${flavour}_${part}}")
    if(TESSERA_COPIED_MPICH AND flavour STREQUAL "mpich")
      # The copy in the installed folder, wherever that is.
      file(RELATIVE_PATH copied /${package} /${TESSERA_COPIED_MPICH})
      string(REPLACE "${own}" "\${CMAKE_CURRENT_LIST_DIR}/${copied}" words "${words}")
    endif()
    string(APPEND config "set(TESSERA_MPI_${flavour}_${part} \"${words}\")\n")
  endforeach()
  string(APPEND config "tessera_mpi_target(${flavour})\n")
endforeach()
string(APPEND config [[
include(${CMAKE_CURRENT_LIST_DIR}/tesseraTargets.cmake)
]])
file(WRITE ${folder}/tesseraConfig.cmake "${config}")
write_basic_package_version_file(${folder}/tesseraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${folder}/tesseraConfig.cmake ${folder}/tesseraConfigVersion.cmake cmake/TesseraDependencies.cmake
        DESTINATION ${package})
install(EXPORT tessera NAMESPACE tessera:: FILE tesseraTargets.cmake DESTINATION ${package})
configure_file(cmake/modulefile.in ${folder}/modulefile @ONLY)
install(FILES ${folder}/modulefile DESTINATION ${CMAKE_INSTALL_DATADIR}/modulefiles/tessera RENAME ${PROJECT_VERSION})
