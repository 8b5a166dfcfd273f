# tessera-io, and programs of their own for methods by libraries that are built for Debian's Open MPI: two builds of HDF5
# can't be in one program, and libraries can't be mixed with another MPI than theirs.
set(methods libraries/none.cpp)
set(netcdf "")
if(TARGET PkgConfig::NETCDF AND NOT SKBUILD)
  set(netcdf PkgConfig::NETCDF)
  set(methods libraries/sncw.cpp)
endif()
tessera_mpi_program(tessera-io io ONCE SERIAL SOURCES ${methods} LINK tessera_io ${netcdf})
if(SKBUILD)  # a package for any machine has no library for one MPI
  return()
endif()

set(wrapper "")
if("openmpi" IN_LIST TESSERA_MPI_FLAVOURS)
  file(REAL_PATH "${TESSERA_MPI_openmpi_WRAPPER}" wrapper)
endif()
if(wrapper MATCHES "^/usr/bin/" AND TARGET PkgConfig::PNETCDF)
  tessera_mpi_program(tessera-io-pnetcdf io ONCE FLAVOUR openmpi SOURCES libraries/pnetcdf.cpp LINK PkgConfig::PNETCDF tessera_io)
endif()
if(wrapper MATCHES "^/usr/bin/" AND TARGET PkgConfig::PHDF5)
  tessera_mpi_program(tessera-io-phdf5 io ONCE FLAVOUR openmpi SOURCES libraries/phdf5.cpp LINK PkgConfig::PHDF5 tessera_io)
  # Headers and library of this HDF5 stand before those of the other one, of which nothing is used.
  set_source_files_properties(cpp/tessera/programs/io/libraries/phdf5.cpp PROPERTIES INCLUDE_DIRECTORIES "${PHDF5_INCLUDE_DIRS}")
  target_link_options(tessera-io-phdf5-openmpi PRIVATE LINKER:--as-needed)
endif()
