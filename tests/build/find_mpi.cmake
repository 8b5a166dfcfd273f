# Prints the result of tessera_find_mpi(): cmake -D… -P find_mpi.cmake. CODE is the checkout, PROJECT_SOURCE_DIR the
# folder of .venv.
cmake_minimum_required(VERSION 3.25)
include(${CODE}/cmake/TesseraMpi.cmake)
tessera_find_mpi()
foreach(line IN LISTS TESSERA_MPI_REPORT)
  message(STATUS "${line}")
endforeach()
foreach(flavour IN LISTS TESSERA_MPI_FLAVOURS)
  message(STATUS "${flavour} wrapper ${TESSERA_MPI_${flavour}_WRAPPER}")
  message(STATUS "${flavour} include ${TESSERA_MPI_${flavour}_INCLUDE}")
  message(STATUS "${flavour} link ${TESSERA_MPI_${flavour}_LINK}")
endforeach()
